"""What a very large input costs, counted in calls."""

from __future__ import annotations

import json

from compact.evidence import extract, ledger, values
from compact.evidence.ledger import MOST_UNITS
from compact.model.message import Message
from support.conversations import assistant, call, user


def talk(count: int) -> list[Message]:
    return [(assistant if n % 2 else user)(f"The remark number {n} is here.") for n in range(count)]


def test_arrays_of_numbers_are_asked_about_many_at_a_time_and_once(monkeypatch) -> None:
    asked: list[int] = []
    judged: list[str] = []
    judge = values._judge
    monkeypatch.setattr(values, "_judge", lambda word: judged.append(word) or judge(word))
    arguments = json.dumps({"rows": list(range(40_000))})
    extract([call("call_1", "add", arguments)], is_secret=lambda text: bool(asked.append(len(text))))
    assert len(asked) <= 12
    assert sum(asked) < 2 * len(arguments) + 40_000 * len("rows: ")
    assert not [word for word in judged if word.isdigit()]


def test_a_span_of_many_messages_is_read_at_both_ends(monkeypatch) -> None:
    read: list[int] = []
    take = ledger._take_values
    monkeypatch.setattr(ledger, "_take_values", lambda *given: read.append(given[3]) or take(*given))
    count = 2 * MOST_UNITS
    units = extract(talk(count)).units
    assert len(read) == MOST_UNITS
    said = {unit.message for unit in units}
    assert {0, count - 1} <= said


def test_a_span_of_fewer_messages_is_read_whole() -> None:
    units = extract(talk(300)).units
    assert {unit.message for unit in units} == set(range(300))


def test_numbers_keep_their_kinds() -> None:
    found = values.values_in("12 345 1234567 0001234 order 99812 and 4711.")
    assert {value: kind.value for value, kind in found.items()} == {
        "345": "number",
        "1234567": "id",
        "99812": "number",
        "4711": "number",
    }
