"""What the embedded summarizer writes of three sessions, strategy by strategy, as files to be read.

After a change on purpose, write them anew with `UPDATE_GOLDENS=1 pytest tests/golden` and read the
difference.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import compact
from compact.core.citations import cited_positions
from compact.model.summary import Summary

HERE = Path(__file__).parent
SESSIONS = {path.stem: path for path in sorted((HERE / "sessions").glob("*.json"))}
STRATEGIES = ("brief", "code_delta", "continuation", "decision_log", "rolling", "site_building", "task_state")
MAX_TOKENS = 300
CASES = [(session, strategy) for session in SESSIONS for strategy in STRATEGIES]
# The words that the summarizer says itself, beside headings.
OWN_WORDS = frozenset(
    "goal goals then rules rule done open key values files edited read failed wrote lines code names named "
    "ids dates figures errors links user said assistant returned changed ran exit last step did not succeed "
    "approved refused asked and more edits result yet failing test call".split()
)


def messages_of(session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(SESSIONS[session].read_text(encoding="utf-8"))["messages"]
    return found


def summary_of(session: str, strategy: str) -> Summary:
    return compact.summarize(messages_of(session), MAX_TOKENS, strategy, counter="chars4")


def text_of(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls") or ()
    arguments = (json.loads(call["function"]["arguments"]) for call in calls)
    spoken = [message.get("content") or "", *(call["function"]["name"] for call in calls)]
    return " ".join([*spoken, *(str(value) for found in arguments for value in found.values())])


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
def test_every_line_is_supported_by_what_it_cites(session: str, strategy: str) -> None:
    messages = messages_of(session)
    for line in summary_of(session, strategy).text.splitlines():
        if line.startswith("## "):
            continue
        cited = sorted(cited_positions(line))
        # A range cites all between its ends; the name of a tool stands in the call before its result.
        first = max(0, cited[0] - 1) if cited else 0
        last = cited[-1] + 1 if cited else len(messages)
        source = " ".join(map(text_of, messages[first:last]))
        assert _unsupported(line, source) == set(), line


def _unsupported(claim: str, source: str) -> set[str]:
    """Words that neither the source says nor we ourselves."""
    said = set(_words(source))
    words = _words(re.sub(r"\[m\d[^\]]*\]", " ", claim))
    return {word for word in words if word not in said and word not in OWN_WORDS and not word.isdigit()}


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{3,}", text.lower())
