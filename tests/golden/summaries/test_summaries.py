"""What the embedded summarizer writes of three recorded sessions, strategy by strategy, as files to be read.

Everything that a tool says in `../sessions` is the output of a command that ran; the size is what the agent
preset grants a summary. After a change on purpose, write the summaries anew with
`UPDATE_GOLDENS=1 pytest tests/golden` and read the difference.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import compact
from compact.core.citations import cited_positions
from compact.formats import decode_all, recognize
from compact.model.message import Message, arguments_text
from compact.model.summary import Summary

HERE = Path(__file__).parent
SESSIONS = {path.stem: path for path in sorted((HERE.parent / "sessions").glob("*.json"))}
STRATEGIES = ("brief", "code_delta", "continuation", "decision_log", "rolling", "site_building", "task_state")
MAX_TOKENS = 2_000
CASES = [(session, strategy) for session in SESSIONS for strategy in STRATEGIES]
# The words that the summarizer says itself, beside headings.
OWN_WORDS = frozenset(
    "goal goals then rules rule done open key values files paths edited read failed wrote lines code names "
    "named ids dates figures errors links user said assistant returned changed ran exit last step did not "
    "succeed approved refused asked and more edits result yet failing test call took out tried edit "
    "yes times its output shows failure".split()
)


@cache
def messages_of(session: str) -> list[Message]:
    found: list[Any] = json.loads(SESSIONS[session].read_text(encoding="utf-8"))["messages"]
    return decode_all(found, recognize(found))


@cache
def summary_of(session: str, strategy: str) -> Summary:
    return compact.summarize(messages_of(session), MAX_TOKENS, strategy, counter="chars4")


def text_of(message: Message) -> str:
    """All that a message says, escapes of JSON undone."""
    called = (f"{call.name} {_unescaped(arguments_text(call.arguments))}" for call in message.calls)
    return " ".join([message.text, *called, *(result.text for result in message.results)])


def _call_before(messages: list[Message], at: int) -> int:
    return next(index for index in range(at, -1, -1) if messages[index].calls)


def _unescaped(arguments: str) -> str:
    return " ".join(str(value).replace("\\n", " ") for value in json.loads(arguments).values())


def claims_of(session: str, strategy: str) -> list[str]:
    """The lines that claim something; of the brief, its sentences."""
    text = summary_of(session, strategy).text
    lines = re.split(r"(?<=\.) (?=[A-Z])", text) if strategy == "brief" else text.splitlines()
    return [line for line in lines if line and not line.startswith("## ")]


@pytest.mark.spec("S4.5")
@pytest.mark.parametrize(("session", "strategy"), CASES)
def test_summary(session: str, strategy: str) -> None:
    summary = summary_of(session, strategy)
    assert summary.tokens <= MAX_TOKENS
    path = HERE / session / f"{strategy}.md"
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(summary.text + "\n", encoding="utf-8")
    assert path.exists(), "no such summary yet; write it with UPDATE_GOLDENS=1 and read it"
    assert summary.text + "\n" == path.read_text(encoding="utf-8"), "it differs; see the head of this file"


def test_no_golden_is_left_over() -> None:
    assert {(path.parent.name, path.stem) for path in HERE.glob("*/*.md")} == set(CASES)


@pytest.mark.parametrize(("session", "strategy"), CASES)
def test_every_line_cites_and_is_supported_by_what_it_cites(session: str, strategy: str) -> None:
    messages = messages_of(session)
    for claim in claims_of(session, strategy):
        cited = sorted(cited_positions(claim))
        assert cited, f"cites nothing: {claim}"
        # A range cites all between its ends, a list its members; a call and its result stand together.
        many = re.search(r"\[m\d+-m\d+\]", claim) is not None
        where = range(cited[0], cited[-1] + 1) if many else cited
        before = [_call_before(messages, at) for at in where if messages[at].results]
        after = [at + 1 for at in where if messages[at].calls]
        source = " ".join(text_of(messages[at]) for at in sorted({*before, *where, *after}))
        assert _unsupported(claim, source) == set(), claim


def test_the_check_finds_what_no_message_says() -> None:
    said = text_of(messages_of("move")[2])
    assert _unsupported("- [m2] User: the Old Dairy, 1,850 a month", said) == set()
    assert _unsupported("- [m2] User: the Old Brewery, 1,850 a month", said) == {"brewery"}
    assert _unsupported("- [m2] User: the Old Dairy, 1,840 a month", said) == {"840"}


def _unsupported(claim: str, source: str) -> set[str]:
    """Words and numbers that neither the source says nor we ourselves."""
    said = set(_words(source))
    bare = re.sub(r"\[m\d[^\]]*\]|\(\+\d+ lines\)|wrote \d+ lines|and \d+ more edits|\w+…", " ", claim)
    return {word for word in _words(bare) if word not in said and word not in OWN_WORDS}


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{3,}|\d+", text.lower())
