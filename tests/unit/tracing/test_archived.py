"""What the archive's event log waits with, and for how long."""

from __future__ import annotations

from compact.model.event import Event, EventName
from compact.tracing.archived import Noteworthy


def event(number: int, name: EventName, session: str = "s") -> Event:
    return Event(name, session, number, 0.0, {})


def test_of_quiet_preflights_only_the_last_before_something_happened_is_kept() -> None:
    log = Noteworthy()
    for number in (1, 3, 5):
        assert log.add(event(number, EventName.TOKEN_ESTIMATE)) == []
        assert log.add(event(number + 1, EventName.TRIGGER_DECISION)) == []
    assert [kept.sequence for kept in log.add(event(7, EventName.COMPLETE))] == [5, 6, 7]
    assert [kept.sequence for kept in log.add(event(8, EventName.RESTORED))] == [8]


def test_memory_is_bounded_however_many_sessions_and_warnings_there_are() -> None:
    log = Noteworthy()
    for number in range(5_000):
        log.add(event(number, EventName.TOKEN_ESTIMATE, f"run-{number}"))
        log.add(event(number, EventName.WARNING, "noisy"))
    assert len(log._waiting) == 1_000
    kept = log.add(event(5_000, EventName.FAILED, "noisy"))
    assert [each.sequence for each in kept] == list(range(4_900, 5_001))
