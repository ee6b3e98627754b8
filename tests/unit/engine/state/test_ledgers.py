"""The ledger of a record: folded once, while its summary is made, and the same from the records alone."""

from __future__ import annotations

import pytest

from compact import CompactConfig, CompactManager
from compact.archives.memory import MemoryArchive
from compact.engine.state.ledgers import Ledgers
from compact.evidence import ledger
from compact.stores.memory import MemoryStore


def compacted(store: MemoryStore, turns: int = 150) -> CompactManager:
    config = CompactConfig(
        counter="chars4", max_context_tokens=3_000, preset="budget", policy={"hard_cap_buffer": 100}
    )
    manager = CompactManager(config, store=store, archive=MemoryArchive())
    messages: list[dict[str, str]] = []
    for turn in range(turns):
        asked = f"Please look at src/part_{turn}/main.py and at ticket ABC-{4000 + turn % 9}. " * 3
        stated = f"The cause of bug {turn} is the cursor that worker_{turn % 7} leaves open. " * 4
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": stated}]
        manager.preflight("s", messages)
    return manager


def test_a_compaction_folds_its_ledger_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = 0
    merged = ledger._merged

    def counted(*given):
        nonlocal folds
        folds += 1
        return merged(*given)

    monkeypatch.setattr(ledger, "_merged", counted)
    manager = compacted(MemoryStore())
    assert len(manager.records("s")) > 3
    assert folds == len(manager.records("s"))


def test_a_ledger_is_the_same_however_it_is_come_by() -> None:
    store = MemoryStore()
    manager = compacted(store)
    known = manager._engine.ledgers
    for record in reversed(manager.records("s")):
        assert known.of(record) == Ledgers(store).of(record)


def test_of_a_chain_only_the_newest_two_are_held() -> None:
    manager = compacted(MemoryStore())
    assert set(manager._engine.ledgers._known) == {record.id for record in manager.records("s")[-2:]}
