"""A value is listed where nothing else holds it, and what only tools said takes nobody's place."""

from __future__ import annotations

import json
import re
from typing import Any

import compact
from compact.core.render import UNTRUSTED_HEADING

Message = dict[str, Any]


def step(number: int, path: str, output: str, said: str = "") -> list[Message]:
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def listed(text: str) -> list[str]:
    lines = re.findall(r"^- (?:Paths|Ids|Code names): (.*?) \[m[^\]]*\]$", text, re.MULTILINE)
    return [value for line in lines for value in line.split(", ")]


SESSION: list[Message] = [
    {"role": "user", "content": "Make the nightly import fast."},
    *step(1, "app/ledger/importer.py", "def load_rows(cursor): return cursor.fetch_many()"),
    *step(2, "importer.py", "no such file, but /srv/app/ledger/importer.py is there"),
    *step(
        3,
        "app/ledger/schema.sql",
        "table ledger_rows",
        "The cause is `load_rows`, which opens a cursor a row.",
    ),
    {"role": "assistant", "content": "The cursor stays open now."},
]


def test_a_value_inside_another_is_not_listed_again() -> None:
    text = compact.summarize(SESSION, max_tokens=400, counter="chars4").text
    trusted = text.partition(UNTRUSTED_HEADING)[0]
    assert "app/ledger/importer.py" in listed(trusted)
    assert "importer.py" not in listed(trusted)
    assert "load_rows" in trusted and "load_rows" not in listed(text)


def test_a_variable_of_the_agents_own_script_goes_after_what_came_back() -> None:
    script = "probe_result = open_ledger(); print(probe_result)"
    call = {
        "id": "r",
        "type": "function",
        "function": {"name": "run", "arguments": json.dumps({"code": script})},
    }
    run = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "r", "content": "OperationalError in open_ledger"},
    ]
    summary = compact.summarize([*SESSION[:-1], *run, SESSION[-1]], max_tokens=400, counter="chars4")
    ranks = {unit.value: unit.rank for unit in summary.evidence}
    assert ranks["probe_result"] < ranks["open_ledger"] / 2
