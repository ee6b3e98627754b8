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
from compact.formats import decode_all, recognize
from compact.model.message import Message
from compact.model.summary import Summary
from golden.citing import Session, problems

HERE = Path(__file__).parent
SESSIONS = {path.stem: path for path in sorted((HERE.parent / "sessions").glob("*.json"))}
STRATEGIES = ("brief", "code_delta", "continuation", "decision_log", "rolling", "site_building", "task_state")
MAX_TOKENS = 2_000
CASES = [(session, strategy) for session in SESSIONS for strategy in STRATEGIES]


@cache
def messages_of(session: str) -> list[Message]:
    found: list[Any] = json.loads(SESSIONS[session].read_text(encoding="utf-8"))["messages"]
    return decode_all(found, recognize(found))


@cache
def summary_of(session: str, strategy: str) -> Summary:
    return compact.summarize(messages_of(session), MAX_TOKENS, strategy, counter="chars4")


def claims_of(session: str, strategy: str) -> list[str]:
    """The lines that claim something; of the brief, its sentences."""
    text = summary_of(session, strategy).text
    prose, _, words = text.partition("## User's words\n") if strategy == "brief" else ("", "", text)
    lists = "Paths|Ids|Links|Figures|Code names|Dates|Named|Commands"
    told = re.split(rf"; (?=\[m|(?:{lists}): )|(?<=\]\.) |\. (?=Key|Open|Done)", prose)
    lines = [
        *(re.sub(r"^(?:Decided|Done|Ran|Open|Key values): ", "", part) for part in told),
        *words.splitlines(),
    ]
    return [line.strip() for line in lines if line.strip() and not line.startswith("## ")]


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
def test_every_line_is_said_by_what_it_cites(session: str, strategy: str) -> None:
    source = Session(messages_of(session))
    found = [(claim, problems(source, claim)) for claim in claims_of(session, strategy)]
    assert [(claim, wrong) for claim, wrong in found if wrong] == []


TRUE = [
    ("move", "- [m2] User: The two places: the Old Dairy, 1,850 a month plus heating"),
    ("move", "- “Second quote: no, I know Vossloher from our last move” [m16]"),
    ("bakery", "- [m41] ran `python3 -m bakelist sample_orders.csv` → exit 1"),
    ("bakery", "- [m94] said no, asked in [m93]: Should she? — “No, Rosa is not a trade customer”"),
    ("bakery", "- README.md: wrote 30 lines [m221]"),
]
FALSE = [
    ("move", "- [m2] User: The two places: the Old Brewery, 1,850 a month plus heating"),
    ("move", "- [m2] User: The two places: the Old Dairy, 1,840 a month plus heating"),
    ("move", "- [m4] User: The two places: the Old Dairy, 1,850 a month plus heating"),
    ("move", "- [m6] User: Thats settled and I will go back on it"),
    ("move", "- [m16] User: Second quote: yes, I know Vossloher"),
    ("bakery", "- [m41] ran `python3 -m bakelist sample_orders.csv`"),
    ("bakery", "- [m25] ran `python3 -m unittest 2>&1` → exit 1"),
    ("bakery", "- [m94] approved, asked in [m93]: Should she? — “No, Rosa is not a trade customer”"),
    ("bakery", "- [m94] said no, asked in [m59]: Should she? — “No, Rosa is not a trade customer”"),
    ("bakery", "- README.md: wrote 31 lines [m221]"),
    ("bakery", "- Ids: 8bf20e8a5ec73d112beb [m16]"),
    ("bakery", "- Files written: bakelist/baking.py [m3]"),
    ("bakery", "- Files written: /repo/tests/test_bakelist.py [m36]"),
    ("bakery", "- [m221] edited README.md: wrote 30 lines"),
    ("sensors", "- Files written: investigation/look3.py [m49]"),
    ("sensors", "- [m49] wrote look3.py"),
    # All its words stand in that long output, but not together.
    ("bakery", "- [m224] The unit tests of the wheat loaf failed in bakelist"),
    ("bakery", "- [m0] Round dough down."),
    ("sensors", "- in look1.py: ZONE_NOTE [m11, m119]"),
    ("sensors", "- [m53-m163] edited nights.py (99 times)"),
    # A condition, a guess, an alternative or half of a range is lost, a question told as a statement.
    ("move", "- [m3] The real difference would be about 580 to 720 a month"),
    ("move", "- [m3] That adds 210 to 350"),
    ("move", "- [m13] You'd still be about 5,000 ahead"),
    ("move", "- [m23] At about 10 to 12 a hundred km the fuel alone is 155 to 190"),
    ("move", "- [m21] Renske's north side is away from both boxes"),
    ("move", "- [m29] 1,850 plus 210 is 2,060 to 2,200"),
    ("move", "- [m25] Chair and screen might be 500 to 800 together"),
    ("move", "- [m30] Can you give me a short list to stick on the wall."),
    ("move", "- Figures: over 2,100 [m29]"),
    ("move", "- Figures: still be about 5,000 [m13]"),
]


@pytest.mark.parametrize(("session", "claim"), TRUE)
def test_the_check_lets_pass_what_is_said(session: str, claim: str) -> None:
    assert problems(Session(messages_of(session)), claim) == []


@pytest.mark.parametrize(("session", "claim"), FALSE)
def test_the_check_finds_what_no_message_says(session: str, claim: str) -> None:
    assert problems(Session(messages_of(session)), claim) != []
