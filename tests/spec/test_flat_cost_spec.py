"""A compaction costs the same however many came before (S5.2), by rows read and bytes written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compact.model.record import Record
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from compact.stores.serialization import record_row
from support.raw import Desk, assistant, step, user

EARLY, LATE = 8, 30


class Counted:
    """A store that counts the records it hands out and the bytes of those it takes."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.read = self.written = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def records(self, session_id: str, after: str | None = None) -> Any:
        found = self._store.records(session_id, after)
        self.read += len(found)
        return found

    def find(self, keys: Any) -> Any:
        found = self._store.find(keys)
        self.read += len({record.id for records in found.values() for record in records})
        return found

    def commit(self, record: Record) -> Record:
        self.written += sum(len(str(value)) for value in record_row(record).values())
        return self._store.commit(record)  # type: ignore[no-any-return]

    def record_state(self, session_id: str) -> Any:
        return self._store.record_state(session_id)

    def memory(self, session_id: str) -> Any:
        return self._store.memory(session_id)

    def remember(self, session_id: str, **changes: Any) -> None:
        self._store.remember(session_id, **changes)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest) -> Iterator[Counted]:
    if request.param == "memory":
        yield Counted(MemoryStore())
        return
    with open_store(request.getfixturevalue("new_database")(request.param)) as store:
        yield Counted(store)


@pytest.mark.spec("S5.2")
def test_each_compaction_reads_writes_and_archives_the_same_and_so_does_opening(opened: Counted) -> None:
    desk = Desk("budget", 4_000, store=opened)
    history: list[Any] = []
    costs: list[tuple[int, int, int]] = []
    opening: dict[int, int] = {}
    while len(costs) < LATE + 3:
        number = len(history)
        history += [
            user(f"question {number}", 60),
            *step(number, output=150),
            assistant(f"answer {number}", 60),
        ]
        opened.read = opened.written = 0
        prepared = desk.prepare(history)
        if not prepared.was_compacted:
            continue
        archived = desk.archive.transcripts["s", len(costs) + 1]
        costs.append((opened.read, opened.written, len(archived.messages)))
        if len(costs) in (EARLY, LATE):
            opened.read = 0
            Desk("budget", 4_000, store=opened).manager.usage("s", prepared.messages)
            opening[len(costs)] = opened.read
    for what in range(3):
        early = sum(cost[what] for cost in costs[EARLY - 3 : EARLY + 3])
        late = sum(cost[what] for cost in costs[LATE - 3 : LATE + 3])
        assert late <= 1.3 * early, (what, costs)
    assert opening[LATE] <= opening[EARLY] <= 3
