"""What was cleared is summarized from the store's originals, read once and only if a summary is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.archives.memory import MemoryArchive
from compact.core.view import CLEARED_TEXT
from compact.engine.cleared_originals import _runs
from compact.errors import StoreError
from compact.model.message import Message
from compact.stores.memory import MemoryStore
from support.raw import Desk, Raw, assistant, results_of, step, user


class WatchedStore(MemoryStore):
    """Counts the originals that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[int, int | None]] = []
        self.is_down = False

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        if self.is_down:
            raise StoreError("the disk is full")
        self.reads.append((start, stop))
        return super().originals(session_id, start, stop)


def turns(count: int, output: int = 600) -> list[Raw]:
    made: list[Raw] = []
    for n in range(1, count + 1):
        made += [user(f"task {n}", 6), *step(n, output), assistant(f"done {n}", 6)]
    return made


def seen_by(desk: Desk) -> dict[str, str]:
    messages = desk.summarizer.requests[-1].messages
    return {result.call_id: result.text for message in messages for result in message.results}


def adopted(desk: Desk, history: list[Raw]) -> list[Raw]:
    pruned: list[Raw] = desk.manager.end_turn("s", history)
    assert any(text.startswith(CLEARED_TEXT) for text in results_of(pruned).values())
    return [*pruned, user("and now", 6)]


def test_the_store_is_read_once_for_a_summary_and_never_without_one() -> None:
    store = WatchedStore()
    desk = Desk("agent", window=20_000, output_reserve=100, store=store)
    history = turns(18)
    pruned = adopted(desk, history)
    for _ in range(3):
        desk.preflight(pruned)
    assert not store.reads
    desk.manager.manual_compact("s", pruned)
    cleared = [at for at, message in enumerate(pruned) if CLEARED_TEXT in (message.get("content") or "")]
    assert store.reads == [(cleared[0], cleared[-1] + 1)]
    assert seen_by(desk).items() <= results_of(history).items()


def test_a_store_that_cannot_be_read_leaves_the_placeholder() -> None:
    store = WatchedStore()
    desk = Desk("agent", window=20_000, output_reserve=100, store=store)
    pruned = adopted(desk, turns(18))
    store.is_down = True
    out = desk.manager.manual_compact("s", pruned)
    assert len(out) < len(pruned)
    assert any(text.startswith(CLEARED_TEXT) for text in seen_by(desk).values())


def test_outputs_of_another_line_are_not_taken_for_the_cleared_ones() -> None:
    desk = Desk("agent", window=20_000, output_reserve=100)
    history = turns(18)
    pruned = adopted(desk, history)
    other = [dict(message) for message in history]
    for message in other:
        if message["role"] == "tool":
            message["content"] = f"forged {message['content']}"
    desk.manager.append("s", other)
    desk.manager.manual_compact("s", pruned)
    assert not any("forged" in text for text in seen_by(desk).values())


@pytest.mark.parametrize(
    ("positions", "runs"),
    [((), []), ((3,), [(3, 4)]), ((7, 3, 5), [(3, 8)]), ((2, 900, 902), [(2, 3), (900, 903)])],
)
def test_outputs_far_apart_are_read_apart(positions: tuple[int, ...], runs: list[tuple[int, int]]) -> None:
    assert list(_runs(positions)) == runs


def test_a_fact_only_in_a_cleared_output_is_in_the_embedded_summary_of_an_adopted_list() -> None:
    config: dict[str, Any] = {"model": "gpt-4o", "max_context_tokens": 20_000, "counter": "chars4"}
    manager = CompactManager(
        CompactConfig(**config, preset="agent", policy={"output_reserve": 100}), archive=MemoryArchive()
    )
    history = turns(18)
    fact = "ERROR: quota of bucket invoices-eu-7731 exceeded in region eu-south-2"
    history[2]["content"] = f"{history[2]['content']}\n{fact}"
    pruned = manager.end_turn("s", history)
    assert not any(fact in text for text in results_of(pruned).values())
    manager.manual_compact("s", [*pruned, user("and now", 6)])
    (record,) = [record for record in manager.records("s") if record.summary]
    assert "invoices-eu-7731" in record.summary
    assert any(fact in hit.text for hit in manager.recall("s", "quota invoices-eu-7731"))
