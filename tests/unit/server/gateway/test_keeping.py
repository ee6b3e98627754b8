"""What the gateway keeps: conversations in the database for some days, and in memory as far as that goes."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.server.gateway import retention
from compact.server.gateway.compacting import Compaction
from compact.server.gateway.exchange import Exchange
from compact.server.gateway.held_sessions import HeldSessions
from compact.server.gateway.retention import sweeping
from compact.server.gateway.wire import CHAT as CHAT_API
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from support.gateway import CONFIG

DAY = 24 * 3600.0


@pytest.fixture(params=["sqlite", "memory"])
def store_at(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Callable[[], float]], Any]:
    """A store with this clock."""

    def made(clock: Callable[[], float]) -> Any:
        if request.param == "memory":
            return MemoryStore(clock=clock)
        return open_store(f"sqlite:///{tmp_path}/gateway.db", clock=clock)

    return made


def own_id(number: int) -> str:
    """As the gateway makes them."""
    return f"gateway-{number:032x}"


def swept(store: Any, before: float, archive: Path | None = None, left: set[str] | None = None) -> None:
    retention.sweep_all(store, before, archive, set() if left is None else left, Event())


def folder(archive: Path, name: str, age: float) -> Path:
    """The archive of a session, written to that many days ago."""
    (archive / name).mkdir(parents=True)
    file = archive / name / "events.jsonl"
    file.touch()
    os.utime(file, (time.time() - age * DAY,) * 2)
    return archive / name


def names(store: Any) -> set[str]:
    return {thread.session_id for thread in store.sessions(1_000)}


def test_conversations_that_were_quiet_for_long_are_deleted(store_at: Any) -> None:
    now = [1_000_000.0]
    store = store_at(lambda: now[0])
    for number in range(120):
        store.put_session(own_id(number))
    by_people = {"of the studio", "gateway-notes"}
    for name in by_people:
        store.put_session(name)
    now[0] += 10 * DAY
    store.put_session(own_id(120))
    swept(store, now[0] - 9 * DAY)
    assert names(store) == {own_id(120), *by_people}


@pytest.mark.parametrize(("days", "left"), [(30.0, {own_id(2)}), (0.0, {own_id(1), own_id(2)})])
def test_a_gateway_sweeps_when_it_starts(store_at: Any, days: float, left: set[str]) -> None:
    ages = [31 * DAY, 29 * DAY]
    store = store_at(lambda: time.time() - ages[0])
    store.put_session(own_id(1))
    ages.pop(0)
    store.put_session(own_id(2))
    with sweeping(store, days):
        pass
    assert names(store) == left


@pytest.mark.parametrize(("days", "deleted"), [(30.0, {own_id(1)}), (0.0, set())])
def test_its_archive_is_deleted_with_its_conversations(
    tmp_path: Path, days: float, deleted: set[str]
) -> None:
    age = [31 * DAY]
    store = MemoryStore(clock=lambda: time.time() - age[0])
    for number in (1, 2):
        store.put_session(own_id(number))
    age[0] = 0.0
    store.put_session(own_id(3))
    # The second was written to since; the fourth is not in this store.
    ages = {own_id(1): 31, own_id(2): 29, own_id(3): 31, own_id(4): 31, "of-people": 31}
    for name, since in ages.items():
        folder(tmp_path, name, since)
    with sweeping(store, days, tmp_path):
        pass
    assert {path.name for path in tmp_path.iterdir()} == ages.keys() - deleted
    assert names(store) == {own_id(1), own_id(2), own_id(3)} - deleted


def test_a_tenants_sweep_leaves_the_archive_of_others(tmp_path: Path) -> None:
    stores = {}
    for number, tenant in enumerate(("a", "b"), 1):
        old = time.time() - 31 * DAY * (tenant == "a")
        stores[tenant] = open_store(f"sqlite:///{tmp_path}/gateway.db", tenant, clock=lambda old=old: old)
        stores[tenant].put_session(own_id(number))
        folder(tmp_path / "archive", own_id(number), 31)
    swept(stores["a"], time.time() - 30 * DAY, tmp_path / "archive")
    assert [path.name for path in (tmp_path / "archive").iterdir()] == [own_id(2)]
    assert (names(stores["a"]), names(stores["b"])) == (set(), {own_id(2)})
    for store in stores.values():
        store.close()


def test_an_archive_that_cannot_be_deleted_stops_no_sweep_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore(clock=lambda: 0.0)
    for number in (1, 2, 3):
        store.put_session(own_id(number))
        folder(tmp_path, own_id(number), 31)
    below = tmp_path / own_id(2) / "below"
    below.mkdir()
    os.utime(below, (0, 0))
    left: set[str] = set()
    swept(store, time.time() - 30 * DAY, tmp_path, left)
    assert [path.name for path in tmp_path.iterdir()] == [own_id(2)] and not names(store)
    assert "could not be deleted" in caplog.text
    below.rmdir()
    swept(store, time.time() + DAY, tmp_path, left)
    assert not list(tmp_path.iterdir()) and not left


def test_of_what_memory_holds_the_oldest_goes() -> None:
    forgotten: list[str] = []

    class Manager(CompactManager):
        def reload(self, session_id: str) -> None:
            forgotten.append(session_id)

    manager = Manager(CompactConfig(**CONFIG))
    held = HeldSessions(30_000)
    said = [{"role": "user", "content": "x" * 9_000}]
    for session in ("a", "b", "a", "c"):
        held.hold(session, manager, said)
    assert forgotten == ["b"]
    held.hold("a", manager, said * 2)
    assert forgotten == ["b", "c"]
    held.hold("huge", manager, said * 10)
    assert forgotten == ["b", "c", "a"]


def test_a_conversation_that_left_memory_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    """Two that take turns, where memory has room for one."""
    said = "every ship paid its fee in full, nothing is open here. " * 6

    def exchange(topic: str, turns: int) -> Exchange:
        messages = [
            {"role": ("user", "assistant")[n % 2], "content": f"{topic}, page {n}: {said}"}
            for n in range(2 * turns + 1)
        ]
        raw = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
        return Exchange("POST", "http://x", [], raw, CHAT_API)

    async def bodies(memory: int, name: str) -> list[bytes]:
        with open_store(f"sqlite:///{tmp_path}/{name}.db") as store:
            compaction = Compaction(CompactManager(CompactConfig(**CONFIG), store=store), 20.0, 20.0, memory)
            found = []
            for turns in (40, 41, 42):
                found += [(await compaction.ready(exchange(topic, turns))).body for topic in ("one", "other")]
            await compaction.close()
            return found

    assert asyncio.run(bodies(1, "small")) == asyncio.run(bodies(1_000_000_000, "large"))
