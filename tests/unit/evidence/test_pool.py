"""A choice works on what the room and the span are worth, not on the whole session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from compact.evidence import fold
from compact.evidence.holder import Holder
from compact.evidence.ledger import MOST_UNITS
from compact.evidence.pool import pool
from compact.model.summary import Evidence, EvidenceKind

ROOM = 4_000


def span(number: int) -> list[Evidence]:
    """What ten messages add: sayings, conclusions, values."""
    units = []
    for at in range(number * 10, number * 10 + 10):
        said = f"Please look at part {at} of the {'importer' if at % 2 else 'parser'} before noon."
        units.append(Evidence(EvidenceKind.SAID, said, at, "", 1.2))
        stated = f"The cause of bug {at} is a cursor that worker {at % 7} leaves open."
        units.append(Evidence(EvidenceKind.CONCLUDED, stated, at, "", 1.5))
        units.append(Evidence(EvidenceKind.PATH, f"src/part_{at}/main.py", at, "", 2.0))
    return units


def fold_all(records: Iterable[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """The ledger of a chain of records, oldest first."""
    return reduce(fold, records, ())


def ledger_of(spans: int) -> tuple[Evidence, ...]:
    return fold_all(span(number) for number in range(spans))


def test_the_pool_does_not_grow_with_the_session() -> None:
    sizes = {}
    for spans in (20, 200):
        ledger = ledger_of(spans)
        sizes[spans] = len(pool(ledger, (spans - 1) * 10, ROOM, 0.55))
    assert sizes[200] <= sizes[20] * 1.05


def test_the_pool_holds_the_new_span_and_the_first_words() -> None:
    ledger = ledger_of(100)
    among = [ledger[place] for place in pool(ledger, 990, ROOM, 0.55)]
    assert {unit.value for unit in span(99)} <= {unit.value for unit in among}
    assert among[0].message == 0
    assert among[0].kind is EvidenceKind.SAID


def test_what_was_passed_over_comes_up_again() -> None:
    ledger = ledger_of(100)
    among = [ledger[place] for place in pool(ledger, 990, ROOM, 0.55)]
    for kind in (EvidenceKind.SAID, EvidenceKind.CONCLUDED):
        assert sum(len(unit.value) for unit in among if unit.kind is kind) > ROOM * 0.4


def test_what_the_last_summary_held_stays_in_the_pool_without_blanks_too() -> None:
    said = "发票必须在月底之前寄到会计那里。"
    ledger = fold_all([span(0), [Evidence(EvidenceKind.SAID, said, 10, "", 1.2)], *map(span, range(2, 200))])
    summary = f"- “{said}” “もう一つは印刷しないでください。” [m10]"
    among = [ledger[place].value for place in pool(ledger, 1_990, ROOM, 0.55, summary)]
    assert said in among


def test_a_first_compaction_looks_at_everything() -> None:
    ledger = ledger_of(1)
    assert pool(ledger, 0, ROOM, 0.55) == list(range(len(ledger)))


def test_of_other_kinds_the_pool_holds_what_words_may_leave() -> None:
    ledger = ledger_of(200)
    said = [unit for unit in ledger if unit.kind is EvidenceKind.SAID]
    among = [ledger[place] for place in pool(ledger, 1_990, ROOM, 1.0)]
    assert sum(len(unit.value) for unit in said) > ROOM
    older = [unit for unit in among if unit.message < 1_990 and unit.kind is EvidenceKind.PATH]
    assert sum(len(unit.value) for unit in older) <= ROOM * 0.25
    assert len(pool(ledger, 1_990, ROOM, 0.55)) > len(among) * 0.9


def test_a_ledger_stops_growing() -> None:
    said = [
        [Evidence(EvidenceKind.SAID, f"Remark {number} on the import.", number, "", 1.2)]
        for number in range(2 * MOST_UNITS)
    ]
    units = [unit for one in said for unit in one]
    ledger = fold_all([units[:100], units[100:]])
    assert len(ledger) <= MOST_UNITS
    assert ledger[0].value == "Remark 0 on the import."
    assert ledger[-1] == units[-1]


def test_a_long_ledger_keeps_what_its_summary_holds() -> None:
    said = [
        Evidence(EvidenceKind.SAID, f"Remark {number} on part {number % 7} of the import.", number, "", rank)
        for number, rank in enumerate([0.6, *[1.2] * 3_000])
    ]
    old = said[300]
    held = f'- "{old.value}" [m300]'
    ledger = fold((), said, held)
    assert old in ledger
    assert said[0] in ledger  # the beginning of the session
    assert said[-1] in ledger
    assert said[301] not in ledger
    assert len(ledger) < 1_000
    assert fold(ledger, (), held) == ledger


def test_of_thousands_of_sayings_few_are_looked_at_closely(monkeypatch) -> None:
    said = [f"Please take remark {n} of part {n % 7} once more." for n in range(3_000)]
    units = [Evidence(EvidenceKind.SAID, text, n) for n, text in enumerate(said)]
    units += [Evidence(EvidenceKind.PATH, f"src/part_{n}.py", n) for n in range(5)]
    units.append(Evidence(EvidenceKind.SAID, "Go on.", 3_000))
    lines = [f'- "{one}"' for one in said[::1_000]]
    text = "\n".join([*lines, "src/part_2.py, src/part_3.pyi, Go on."])
    holds = Holder(text)
    every = {0, 1_000, 2_000, 3_002, 3_003, 3_005}
    looked: list[str] = []
    look = Holder._holds_at
    monkeypatch.setattr(
        Holder, "_holds_at", lambda self, at, value: looked.append(value) or look(self, at, value)
    )
    assert holds.among(units) == every
    assert holds.among(units, roughly=True) == every - {3_003}
    assert 0 < len(looked) < 20


def test_what_is_remembered_of_a_text_that_many_sessions_ask_about_is_bounded() -> None:
    holds = Holder("- “Go on.”")
    for session in range(30):
        said = [f"Take remark {n} of session {session} once more." for n in range(1_000)]
        assert not holds.among([Evidence(EvidenceKind.SAID, text, 0) for text in said])
    assert len(holds._known) < 12_000
