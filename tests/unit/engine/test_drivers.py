"""The two drivers: summarizers of every kind, leases, archives that fail, cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from compact.errors import ArchiveError, SessionBusy
from compact.model.event import EventName, Reason
from compact.model.outcome import Failed, Stage
from compact.model.record import Transcript
from compact.model.summary import Summary, SummaryRequest
from compact.stores.memory import MemoryStore
from support.raw import LONG_ENOUGH, Desk, pairs, summaries, system, user

HISTORY = [*pairs(35), user("new")]
"""3,553 tokens: over the trigger of a window of 4,000 (3,400), within its budget (3,900)."""
TOO_MUCH = [*pairs(45), user("new")]


async def coroutine(request: SummaryRequest) -> str:
    await asyncio.sleep(0)
    return LONG_ENOUGH


class Asynchronous:
    async def summarize(self, request: SummaryRequest) -> str:
        return LONG_ENOUGH


class Both:
    def summarize(self, request: SummaryRequest) -> str:
        raise AssertionError("an async caller must not block")

    async def asummarize(self, request: SummaryRequest) -> Summary:
        return Summary(LONG_ENOUGH)


@pytest.mark.parametrize("summarizer", [lambda request: LONG_ENOUGH, coroutine, Asynchronous()])
def test_any_callable_will_do(summarizer: Any) -> None:
    out = Desk(summarizer=summarizer).preflight(HISTORY)
    assert LONG_ENOUGH in summaries(out)[0]["content"]


@pytest.mark.parametrize("summarizer", [lambda request: LONG_ENOUGH, coroutine, Asynchronous(), Both()])
async def test_also_for_async_callers(summarizer: Any) -> None:
    out = await Desk(summarizer=summarizer).manager.apreflight("s", HISTORY)
    assert LONG_ENOUGH in summaries(out)[0]["content"]


@pytest.mark.parametrize("answer", [None, 42, {"text": "no"}])
def test_what_is_no_text_is_a_failure_and_no_crash(answer: Any) -> None:
    desk = Desk(summarizer=lambda request: answer)
    assert summaries(desk.preflight(HISTORY)) == []
    assert desk.events(EventName.ERROR)[0].data["fallback"] == "pruning-only"


def test_a_sync_call_inside_a_running_loop_still_works_with_a_plain_summarizer() -> None:
    async def inside() -> list[Any]:
        return Desk().preflight(HISTORY)

    assert len(summaries(asyncio.run(inside()))) == 1


class FullDisk:
    def write(self, transcript: Transcript) -> str:
        raise ArchiveError("The disk is full. Nothing was compacted.")


def test_without_an_archive_nothing_is_compacted_while_it_fits() -> None:
    desk = Desk()
    desk.archive = FullDisk()  # type: ignore[assignment]
    prepared = desk.prepare(HISTORY)
    assert prepared.messages == HISTORY and desk.manager.records("s") == ()
    assert isinstance(prepared.outcome, Failed) and prepared.outcome.stage is Stage.ARCHIVE
    assert prepared.debug.reason is Reason.FAILED and "disk is full" in str(prepared.outcome.cause)
    with pytest.raises(ArchiveError):
        desk.preflight(TOO_MUCH, session="t")
    desk.exporter.assert_balanced()


def test_archive_is_written_before_the_record() -> None:
    desk = Desk()
    desk.preflight(HISTORY)
    names = [event.name for event in desk.exporter.events]
    assert names.index(EventName.ARCHIVAL) < names.index(EventName.PRUNED_MESSAGES)
    transcript = desk.archive.transcripts["s", 1]
    assert len(transcript.messages) == len(HISTORY) and transcript.tokens_before == 3_553


def test_a_busy_session_keeps_its_view_while_that_fits_else_says_so() -> None:
    store = MemoryStore()
    desk = Desk(store=store)
    desk.manager._engine._busy_wait = 0.0
    with store.lease("s", 60) as granted:
        assert granted
        prepared = desk.prepare(HISTORY)
        assert prepared.messages == HISTORY and prepared.debug.reason == "busy"
        with pytest.raises(SessionBusy, match="currently being optimized"):
            desk.preflight(TOO_MUCH)
    assert len(summaries(desk.preflight(TOO_MUCH))) == 1


def test_a_lease_ends_with_the_call() -> None:
    store = MemoryStore()
    Desk(store=store).preflight(HISTORY)
    with store.lease("s", 1) as granted:
        assert granted


def test_many_threads_make_one_summary() -> None:
    desk = Desk()
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(desk.preflight(TOO_MUCH))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and all(result == results[0] for result in results)
    assert len(desk.manager.records("s")) == 1


async def test_many_tasks_make_one_record() -> None:
    desk = Desk(summarizer=coroutine)
    results = await asyncio.gather(*(desk.manager.apreflight("s", TOO_MUCH) for _ in range(6)))
    assert all(result == results[0] for result in results)
    assert len(desk.manager.records("s")) == 1


async def test_a_cancelled_summary_leaves_everything_as_it_was() -> None:
    started = asyncio.Event()

    async def never(request: SummaryRequest) -> str:
        started.set()
        await asyncio.sleep(3_600)
        return LONG_ENOUGH

    desk = Desk(summarizer=never)
    task = asyncio.create_task(desk.manager.apreflight("s", HISTORY))
    await asyncio.wait_for(started.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.manager.records("s") == () and desk.archive.transcripts == {}
    with desk.manager._engine.store.lease("s", 1) as granted:
        assert granted


class Slow(MemoryStore):
    """Answers only once the event loop has turned meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.turned = threading.Event()
        self.asked: list[str] = []

    def _wait(self, what: str) -> None:
        self.asked.append(what)
        self.turned.clear()
        assert self.turned.wait(60), f"{what} was asked in the event loop"

    def append(self, *args: Any, **more: Any) -> None:
        self._wait("append")
        super().append(*args, **more)

    def find(self, keys: Any) -> Any:
        self._wait("find")
        return super().find(keys)

    def commit(self, record: Any) -> Any:
        self._wait("commit")
        return super().commit(record)

    def remember(self, *args: Any, **more: Any) -> None:
        self._wait("remember")
        super().remember(*args, **more)

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        with super().lease(session_id, seconds) as granted:
            yield granted
            self._wait("release")


async def test_a_store_that_blocks_does_not_block_the_event_loop() -> None:
    store = Slow()
    desk = Desk(store=store, summarizer=coroutine)
    task = asyncio.create_task(desk.manager.aprepare("s", [system(), *HISTORY], context="memory"))
    while not task.done():
        store.turned.set()
        await asyncio.sleep(0.001)
    assert len(summaries((await task).messages)) == 1
    assert {"append", "find", "commit", "remember", "release"} <= set(store.asked)


async def test_a_call_cancelled_while_it_commits_ends_its_commit_and_then_gives_the_lease_back() -> None:
    store, started, go_on = MemoryStore(), threading.Event(), threading.Event()
    commit = store.commit

    def held_up(record: Any) -> Any:
        started.set()
        assert go_on.wait(60)
        return commit(record)

    store.commit = held_up  # type: ignore[method-assign]
    desk = Desk(store=store, summarizer=coroutine)
    task = asyncio.create_task(desk.manager.apreflight("s", HISTORY))
    assert await asyncio.to_thread(started.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with store.lease("s", 1) as granted:
        assert not granted, "the lease was given back under a commit that goes on"
    go_on.set()
    for _ in range(2_000):
        with store.lease("s", 1) as granted:
            if granted:
                break
        await asyncio.sleep(0.005)
    assert granted and len(desk.manager.records("s")) == 1
    desk.exporter.assert_balanced()
    assert len(summaries(await desk.manager.apreflight("s", HISTORY))) == 1
    assert len(desk.manager.records("s")) == 1


async def test_those_that_wait_for_the_lease_hold_no_thread() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    store = MemoryStore()
    desk = Desk(store=store, summarizer=coroutine)
    with store.lease("s", 60) as granted:
        assert granted
        waiting = [asyncio.create_task(desk.manager.apreflight("s", TOO_MUCH)) for _ in range(8)]
        # The other session is served while all of them wait, though there are two threads only.
        other = asyncio.create_task(desk.manager.apreflight("t", HISTORY[:2]))
        while not other.done():
            await asyncio.sleep(0.001)
        assert not any(task.done() for task in waiting)
    results = await asyncio.gather(*waiting)
    assert all(result == results[0] for result in results)
    assert len(summaries(results[0])) == 1 and len(desk.manager.records("s")) == 1
    assert [event.data["granted"] for event in desk.events(EventName.LEASE)].count(False) == 0
