"""What was done: files edited in the text of a message, in blocks of SEARCH and REPLACE, and calls."""

from __future__ import annotations

import json

import pytest

from compact.evidence import extract
from compact.model.message import Message
from compact.model.summary import EvidenceKind
from compact.redaction.redactor import Redactor
from support.conversations import assistant, call, result, user

BLOCK = "<<<<<<< SEARCH\nopen_gate()\n=======\nopen_gate(slowly=True)\n>>>>>>> REPLACE"


def edited(message: Message) -> list[tuple[str, str]]:
    units = extract([message])
    return [(unit.value, unit.context) for unit in units if unit.kind is EvidenceKind.DONE]


@pytest.mark.parametrize(
    "text",
    [
        f"Here it is:\n\nharbor/gate.py\n```python\n{BLOCK}\n```\nThat should do.",
        f"```\nharbor/gate.py\n{BLOCK}\n```",
        f"**harbor/gate.py**\n\n```python\n{BLOCK}\n```",
        f"### `harbor/gate.py`:\n{BLOCK}",
        f"**File: `harbor/gate.py`**\n{BLOCK}",
        f"Like harbor/dock.py, I changed `harbor/gate.py` as follows:\n```python\n{BLOCK}\n```",
        f"<file>\nharbor/gate.py\n</file>\n{BLOCK}",
    ],
)
@pytest.mark.spec("S5.6")
def test_a_block_names_its_file_and_what_it_puts_there(text: str) -> None:
    assert edited(assistant(text)) == [("harbor/gate.py", "file edited | open_gate(slowly=True)")]


def test_blocks_without_a_name_of_their_own_edit_the_file_before() -> None:
    assert edited(assistant(f"harbor/gate.py\n{BLOCK}\n\n{BLOCK}\n\nharbor/dock.py\n{BLOCK}")) == [
        ("harbor/gate.py", "file edited 2 times since m0 | open_gate(slowly=True)"),
        ("harbor/dock.py", "file edited | open_gate(slowly=True)"),
    ]


def test_files_without_an_ending_and_new_files_are_edited_too() -> None:
    new = "<<<<<<< SEARCH\n=======\nall: harbor gate dock\n>>>>>>> REPLACE"
    assert edited(
        assistant(f"harbor/gate.py\n{BLOCK}\n\nMakefile\n```\n{new}\n```".replace("\n", "\r\n"))
    ) == [
        ("harbor/gate.py", "file edited | open_gate(slowly=True)"),
        ("Makefile", "file edited | all: harbor gate dock"),
    ]


def test_what_a_block_puts_there_names_no_file() -> None:
    listed = "<<<<<<< SEARCH\nx\n=======\nharbor/dock.py\n>>>>>>> REPLACE"
    files = edited(assistant(f"harbor/list.txt\n{listed}\n{BLOCK}\n\nAnd for the rest:\n{BLOCK}"))
    assert [name for name, _ in files] == ["harbor/list.txt"]


def test_what_names_no_file_or_is_a_users_paste_edits_nothing() -> None:
    assert edited(assistant(f"Look at this:\n{BLOCK}")) == []
    assert edited(user(f"harbor/gate.py\n{BLOCK}")) == []


def test_a_call_shows_short_data_and_only_hints_at_long_data() -> None:
    legs = [{"flight": f"HAT{number}", "date": "2031-05-02"} for number in range(100, 105)]
    arguments = json.dumps(
        {"booking": "JG7FMM", "seats": ["2A", "2B"], "flights": legs, "note": {"a": "b" * 80}}
    )
    units = extract([call("call_1", "update_booking", arguments), result("call_1", "done")])
    done = [unit.value for unit in units if unit.kind is EvidenceKind.DONE]
    assert done == ['update_booking(booking=JG7FMM, seats=["2A", "2B"], flights=[…], note={…})']
    assert {"HAT100", "HAT104"} <= {unit.value for unit in units}


def test_an_error_and_a_failing_test_are_quoted_without_their_secrets() -> None:
    secret = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2
    output = (
        f"FAILED tests/test_{secret}.py\n1 failed for {secret} in 2s\nfatal: no key {secret}\nexit code: 1"
    )
    units = extract(
        [call("call_1", "bash", '{"command": "make test"}'), result("call_1", output)],
        redactor=Redactor(),
    )
    quoted = [unit.value for unit in units if unit.kind is EvidenceKind.ERROR]
    assert "fatal: no key …" in quoted
    assert secret[8:] not in " ".join(f"{unit.value} {unit.context}" for unit in units)
