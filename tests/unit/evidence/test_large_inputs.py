"""What a very large input costs, counted in calls."""

from __future__ import annotations

import json

from compact.evidence import extract, ledger, values
from compact.evidence.ledger import MOST_UNITS
from compact.model.message import Message
from compact.model.summary import EvidenceKind
from compact.redaction.redactor import Redactor
from support.conversations import assistant, call, user


def talk(count: int) -> list[Message]:
    return [(assistant if n % 2 else user)(f"The remark number {n} is here.") for n in range(count)]


def test_numbers_of_an_array_are_not_judged_one_by_one(monkeypatch) -> None:
    judged: list[str] = []
    judge = values._judge
    monkeypatch.setattr(values, "_judge", lambda word: judged.append(word) or judge(word))
    extract([call("call_1", "add", json.dumps({"rows": list(range(40_000))}))], redactor=Redactor())
    assert not [word for word in judged if word.isdigit()]


def test_a_span_of_many_messages_is_read_at_both_ends(monkeypatch) -> None:
    read: list[int] = []
    take = ledger._take_values
    monkeypatch.setattr(ledger, "_take_values", lambda *given: read.append(given[3]) or take(*given))
    count = 4 * MOST_UNITS
    units = extract(talk(count))
    assert len(read) == MOST_UNITS
    said = {unit.message for unit in units}
    assert {0, count - 1} <= said


def test_all_that_the_user_said_in_a_long_span_is_read() -> None:
    """Few words of the user among thousands of steps: none is passed over, and an answer has its question."""
    count, every = 2 * MOST_UNITS, 400
    messages = [assistant(f"The remark number {n} is here.") for n in range(count)]
    for n in range(0, count, every):
        messages[n] = user(f"Please never touch ledger {n} again.")
    middle = count // 2 + every // 2
    messages[middle : middle + 2] = [assistant("Shall I drop the old table?"), user("Yes, do.")]
    said = [unit for unit in extract(messages) if unit.kind is EvidenceKind.SAID]
    assert {unit.message for unit in said} == {*range(0, count, every), middle + 1}
    assert all(f"ledger {unit.message} " in unit.value for unit in said if unit.message % every == 0)
    (answer,) = (unit for unit in said if unit.message == middle + 1)
    assert answer.context == f"asked in [m{middle}]: Shall I drop the old table?"
    # Nothing of an assistant who spoke long before stands beside a word of the user.
    assert not [unit for unit in said if unit.context and unit is not answer]


def test_a_span_of_fewer_messages_is_read_whole() -> None:
    units = extract(talk(300))
    assert {unit.message for unit in units} == set(range(300))


def test_numbers_keep_their_kinds() -> None:
    found = values.values_in("12 345 1234567 0001234 order 99812 and 4711.")
    assert {value: kind.value for value, kind in found.items()} == {
        "345": "number",
        "1234567": "id",
        "99812": "number",
        "4711": "number",
    }


def test_a_short_hash_is_an_id_and_types_formats_and_hunks_of_a_diff_are_not() -> None:
    text = "Fixed 0119d76, 5210291d2: int64 as %.3f, t.minute%20, 0x, 12a13, 9d2 in x-3.5, 12-inch, v1-2.3."
    assert list(values.values_in(text)) == ["0119d76", "5210291d2", "v1-2.3"]
