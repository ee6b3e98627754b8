"""What another manager did to a session meanwhile, or to one with the same history."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.model.record import Transcript
from compact.model.summary import SummaryRequest
from compact.ports import Archive, Store
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from support.raw import assistant, pairs, user


class KeptTranscripts:
    """An archive that shows what it was given."""

    def __init__(self) -> None:
        self.written: list[Transcript] = []

    def write(self, transcript: Transcript) -> str:
        self.written.append(transcript)
        return f"step {transcript.step}"


def manager(
    store: Store, asked: list[SummaryRequest] | None = None, archive: Archive | None = None
) -> CompactManager:
    made = [] if asked is None else asked

    def summarize(request: SummaryRequest) -> str:
        made.append(request)
        return f"## Goal\nSummary number {len(made)}: the team builds a booking service with PostgreSQL."

    config = CompactConfig(model="gpt-4o", max_context_tokens=4_000, archive={"adapter": "none"})
    return CompactManager(config, store=store, summarizer=summarize, archive=archive)


def long(count: int, first: int = 1) -> list[dict[str, Any]]:
    return [
        {**message, "content": f"{message['content']} {'It rains on the harbor. ' * 20}"}
        for message in pairs(count, first=first)
    ]


def summary_of(messages: list[dict[str, Any]]) -> str:
    return next(m["content"] for m in messages if "COMPACT-SUMMARY" in m["content"])


def test_an_undo_that_came_before_the_lease_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    store, asked = MemoryStore(), list[SummaryRequest]()
    one, other = manager(store, asked), manager(store, asked)
    history = long(30)
    one.prepare("s", history)
    lease = store.lease

    @contextmanager
    def after_an_undo(session_id: str, seconds: float) -> Iterator[bool]:
        monkeypatch.setattr(store, "lease", lease)
        other.restore("s", 1)
        with lease(session_id, seconds) as granted:
            yield granted

    monkeypatch.setattr(store, "lease", after_an_undo)
    longer = [*history, *long(40, first=31)]
    out = one.prepare("s", longer).messages
    assert asked[-1].previous_summary is None
    assert "Summary number 2" in summary_of(out)
    assert other.restore("s", 2) == longer


def test_a_summary_that_another_session_undid_is_not_used_here() -> None:
    store = MemoryStore()
    with manager(store) as both:
        history = [*long(30), user("the newest")]
        both.prepare("a", history)
        both.restore("a", 1)
        out = both.prepare("b", history, context="port 8080").messages
        (record,) = both.records("b")
        assert "Summary number 2" in summary_of(out) and "Summary number 2" in record.summary
        assert any("port 8080" in message["content"] for message in out)
        again = both.prepare("b", [*history, user("more")], context="port 8080").messages
        assert again[: len(out)] == out


def test_a_canceled_call_gives_its_lease_back_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    lease, released, starting, go_on = store.lease, list[str](), threading.Event(), threading.Event()

    @contextmanager
    def watched(session_id: str, seconds: float) -> Iterator[bool]:
        with lease(session_id, seconds) as granted:
            yield granted
            released.append(threading.current_thread().name)

    monkeypatch.setattr(store, "lease", watched)
    slow = manager(store)
    clock = slow._engine.clock

    def held_up() -> float:
        starting.set()
        go_on.wait(60)
        return clock()

    monkeypatch.setattr(slow._engine, "clock", held_up)

    async def cancel() -> None:
        task = asyncio.ensure_future(slow.aprepare("s", long(30)))
        while not starting.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        while not released:
            await asyncio.sleep(0.001)

    asyncio.run(cancel())
    assert released != [threading.current_thread().name]


def test_working_memory_that_another_manager_entered_is_no_original() -> None:
    store = MemoryStore()
    one, other = manager(store), manager(store)
    history = [user("hello")]
    one.prepare("s", history)
    other.prepare("s", history)
    out = one.prepare("s", history, context="port 8080").messages
    held = [*out, assistant("hi"), user("go on")]
    assert other.prepare("s", held).messages == held
    assert [message.text for message in store.originals("s")] == [m["content"] for m in [*history, *held[2:]]]
    assert one.prepare("s", [*history, *held[2:]]).messages == held


def test_working_memory_of_another_manager_is_given_once() -> None:
    store = MemoryStore()
    one, other = manager(store), manager(store)
    history = [user("hello"), assistant("hi")]
    other.prepare("s", history)
    out = one.prepare("s", history, context="port 8080").messages
    longer = [*history, user("go on"), assistant("gladly")]
    assert other.prepare("s", longer, context="port 8080").messages == [*out, *longer[2:]]
    assert len(store.memory("s").notes) == 1


def test_what_another_manager_learned_comes_with_its_compaction() -> None:
    store = MemoryStore()
    one, other = manager(store), manager(store)
    history = long(10)
    other.prepare("s", history)
    longer = [*history, *long(30, first=11)]
    one.observe("s", longer, 20_000)
    one.prepare("s", longer)
    assert store.memory("s").scale > 1
    other.prepare("s", [*longer, user("more")])
    assert other._engine.reader.session("s").memory.scale == store.memory("s").scale


def test_a_restored_list_begins_with_the_newest_system_prompt_of_any_manager() -> None:
    store = MemoryStore()
    one, other = manager(store), manager(store)
    history = [{"role": "system", "content": "Be brief."}, *long(30)]
    other.prepare("s", history)
    renamed = [{"role": "system", "content": "Be thorough."}, *history[1:], user("more")]
    one.prepare("s", renamed)
    assert other.restore("s", 1) == renamed


@pytest.fixture(params=["memory", "sqlite"])
def either_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with open_store(f"sqlite:///{tmp_path / 'sessions.db'}") as store:
        yield store


@pytest.mark.parametrize("adopts", [False, True])
def test_an_undo_elsewhere_is_seen_when_the_very_same_list_comes_again(
    either_store: Store, adopts: bool
) -> None:
    asked: list[SummaryRequest] = []
    with manager(either_store, asked) as one, manager(either_store) as other:
        history = long(30)
        compacted = one.prepare("s", history).messages
        again = compacted if adopts else history
        assert one.preflight("s", again) == compacted
        restored = other.restore("s", 1)
        assert one.usage("s", again).tokens == one.usage("copy", restored).tokens
        assert "Summary number 2" in summary_of(one.preflight("s", again))
        assert len(asked) == 2


@pytest.mark.parametrize("list_is", ["rewound", "adopted"])
def test_an_undo_elsewhere_is_seen_when_another_list_comes(either_store: Store, list_is: str) -> None:
    """One that continues nothing this manager knows: it is read anew, and finds the undone record."""
    asked: list[SummaryRequest] = []
    with manager(either_store, asked) as one, manager(either_store, asked) as other:
        history = long(30)
        assert other.usage("s", history).tokens > 0
        compacted = one.prepare("s", history).messages
        if list_is == "rewound":
            assert other.preflight("s", history) == compacted
        again = [*history[:-1], assistant("said anew")] if list_is == "rewound" else compacted
        one.restore("s", 1)
        for _ in range(2):
            assert "Summary number 2" in summary_of(other.preflight("s", [*again, user("go on")]))
        assert len(asked) == 2


def test_an_archive_goes_on_after_an_undo_and_a_restart(either_store: Store) -> None:
    archive = KeptTranscripts()
    history = long(30)
    with manager(either_store, archive=archive) as before:
        before.prepare("s", history)
        before.restore("s", 1)
    longer = [*history, *long(5, first=31)]
    with manager(either_store, archive=archive) as after:
        after.prepare("s", longer)
    first, second = archive.written
    said = [message.text for transcript in archive.written for message in transcript.messages]
    assert said == [message["content"] for message in longer]
    assert (second.first, second.follows) == (len(first.messages), 1)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_summary_in_a_system_message_is_known_to_every_manager(kind: str, tmp_path: Path) -> None:
    """With `rolling`, and with the list that came back: each manager meets summaries that another made."""
    store = MemoryStore() if kind == "memory" else open_store(f"sqlite:///{tmp_path}/sessions.db")
    config = CompactConfig(
        model="gpt-4o", max_context_tokens=4_000, preset="rolling", archive={"adapter": "none"}
    )

    def summarize(request: SummaryRequest) -> str:
        return f"The {len(request.messages)} messages were about a booking service. " + "It is built. " * 20

    managers = [CompactManager(config, store=store, summarizer=summarize) for _ in range(2)]
    going_on, said = list[dict[str, Any]](), list[str]()
    for turn in range(24):
        question = user(f"question {turn}")
        prepared = managers[turn % 2].prepare("s", [*going_on, question])
        answer = assistant(f"answer {turn}")
        going_on = [*prepared.messages, answer]
        said += [question["content"], answer["content"]]
        assert [message.text for message in store.originals("s")] == said[:-1]
        assert sum("COMPACT-SUMMARY" in message["content"] for message in going_on) <= 1
    assert len(store.records("s")) > 2
