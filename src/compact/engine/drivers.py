"""Two short drivers: they run a flow, serve its requests through the ports, and own lease and
cancellation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from compact.core.event_data import error_data
from compact.core.job import Emit, NeedArchive, NeedCommit, NeedSummary, Refusal
from compact.errors import CompactError, SummaryRefused
from compact.model.event import EventName, Fallback
from compact.model.record import Transcript
from compact.model.summary import SummaryRequest
from compact.ports import Archive, Store
from compact.summarizers._running import summarize_async, summarize_now

T = TypeVar("T")

LEASE_SECONDS = 15.0
"""How long a lease outlasts a process that died; its holder renews it."""


@dataclass(frozen=True, slots=True)
class NeedLease:
    """The flow wants to be the only one to compact this session; the answer says whether it is."""

    session_id: str
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Ports:
    store: Store
    archive: Archive
    summarizer: Any
    emit: Callable[[EventName, dict[str, Any], int, float | None], None]
    lease_seconds: float = LEASE_SECONDS


_POLL = 0.05
INTERRUPTED = "The compaction was interrupted. Nothing is lost; it will be tried again."


_ENDS = (EventName.COMPLETE, EventName.FAILED)


class Held:
    """What a flow has open: the lease, and a start event that needs its end. Most flows have neither.

    It also measures how long things took, which the flow, having no clock, cannot.
    """

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._step = 0
        self._began: float | None = None
        self._asked = 0.0
        self._waits_since: float | None = None
        self.lease: AbstractContextManager[bool] | None = None
        self.abandoned = False

    @property
    def is_open(self) -> bool:
        return self.lease is not None or self._began is not None

    def report(self, event: Emit) -> None:
        now, duration = time.perf_counter(), None
        if event.name is EventName.START:
            self._step, self._began = event.step, now
        elif event.name in _ENDS and self._began is not None:
            duration = now - self._began
        elif event.name in (EventName.SUMMARY_CREATED, EventName.ERROR) and self._asked:
            duration, self._asked = now - self._asked, 0.0
        self.emit(event.name, dict(event.data), duration)
        if event.name in _ENDS:
            self._step, self._began = 0, None

    def emit(self, name: EventName, data: dict[str, Any], duration: float | None = None) -> None:
        self._ports.emit(name, data, self._step, None if duration is None else round(duration, 6))

    def waited(self) -> float:
        """Seconds since the lease was first requested."""
        now = time.monotonic()
        self._waits_since = now if self._waits_since is None else self._waits_since
        return now - self._waits_since

    def answered(self, granted: bool) -> bool:
        self.emit(EventName.LEASE, {"granted": granted}, self.waited())
        self._waits_since = None
        return granted

    def asks(self) -> None:
        self._asked = time.perf_counter()

    def progressed(self, done: int, total: int) -> None:
        self.emit(EventName.PROGRESS, {"done": done, "total": total})

    def skipped(self, reason: str, message: str) -> None:
        self.emit(EventName.ERROR, error_data(reason, message, Fallback.NEXT_SUMMARIZER))

    def archived(self, transcript: Transcript, location: str) -> None:
        adapter = getattr(self._ports.archive, "name", type(self._ports.archive).__name__)
        data = {
            "session_id": transcript.session_id,
            "step": transcript.step,
            "storage_adapter": adapter,
            "s3_key" if adapter == "s3" else "file_path": location,
        }
        self.emit(EventName.ARCHIVAL, data, time.perf_counter() - self._asked)

    def release(self) -> None:
        if self._began is not None:
            # Canceled or interrupted: a progress display must learn that it is over.
            data = {
                "error": INTERRUPTED,
                "canRetry": True,
                "suggestNewSession": False,
                "brokenOff": True,
            }
            self.report(Emit(EventName.FAILED, data))
        lease, self.lease = self.lease, None
        if lease is not None:
            lease.__exit__(None, None, None)


@dataclass(frozen=True, slots=True)
class _Done:
    result: Any


_Reached = _Done | NeedSummary | NeedLease


def run(flow: Generator[Any, Any, T], ports: Ports) -> T:
    answer: Any = None
    held = Held(ports)
    try:
        while True:
            reached = _advance(flow, answer, ports, held)
            if isinstance(reached, _Done):
                result: T = reached.result
                return result
            if isinstance(reached, NeedLease):
                time.sleep(_POLL)
                answer = reached
            else:
                answer = _answered(partial(summarize_now, ports.summarizer, reached.request))
    finally:
        held.release()


async def arun(flow: Generator[Any, Any, T], ports: Ports) -> T:
    answer: Any = None
    held = Held(ports)
    # Stores and archives may block, so all but the summarizer is called in a thread. A thread finishes
    # what it began: a canceled task must not leave half a commit behind, nor return the lease early.
    at_work: asyncio.Future[_Reached] | None = None
    try:
        while True:
            at_work = asyncio.ensure_future(asyncio.to_thread(_advance, flow, answer, ports, held))
            reached = await asyncio.shield(at_work)
            if isinstance(reached, _Done):
                result: T = reached.result
                return result
            if isinstance(reached, NeedLease):
                # Not in the thread: a few waiting calls would use up the whole pool.
                await asyncio.sleep(_POLL)
                answer = reached
            else:
                answer = await _aanswered(ports.summarizer, reached.request)
    finally:
        held.abandoned = True
        if at_work is not None and not at_work.done():
            at_work.add_done_callback(partial(_let_go, held))
        elif held.is_open:
            await asyncio.shield(asyncio.to_thread(held.release))


def _advance(flow: Generator[Any, Any, Any], answer: Any, ports: Ports, held: Held) -> _Reached:
    """Run the flow up to the next summary it needs, or to its end; an abandoned one only to the next request.

    A lease that somebody else holds is returned as well: sent back as its own answer, it is requested again.
    """
    try:
        while not held.abandoned:
            need = answer if isinstance(answer, NeedLease) else flow.send(answer)
            match need:
                case Emit():
                    held.report(need)
                    answer = None
                case NeedSummary():
                    held.asks()
                    listening = replace(need.request, on_progress=held.progressed, on_skipped=held.skipped)
                    return NeedSummary(listening)
                case NeedLease():
                    if not _lease(need, ports, held) and held.waited() < need.wait:
                        return need
                    answer = held.answered(held.lease is not None)
                case _:
                    held.asks()
                    answer = _perform(need, ports)
                    _report_archival(need, answer, held)
    except StopIteration as done:
        held.release()
        return _Done(done.value)
    except BaseException:
        held.release()
        raise
    held.release()
    return _Done(None)


def _let_go(held: Held, done: asyncio.Future[Any]) -> None:
    # One that failed has already released it; retrieving its error keeps asyncio from complaining.
    if not done.cancelled() and done.exception() is None and held.is_open:
        # In a thread: this runs on the event loop, and a store may block.
        asyncio.get_running_loop().run_in_executor(None, held.release)


def _perform(need: Any, ports: Ports) -> Any:
    match need:
        case NeedArchive(transcript=transcript):
            return _answered(lambda: ports.archive.write(transcript))
        case NeedCommit(record=record):
            return _answered(lambda: ports.store.commit(record))
        case _:
            raise TypeError(f"the flow asked for {need!r}, which no driver knows")


def _report_archival(need: Any, location: Any, held: Held) -> None:
    if isinstance(need, NeedArchive) and not isinstance(location, Refusal) and location:
        held.archived(need.transcript, location)


def _lease(need: NeedLease, ports: Ports, held: Held) -> bool:
    held.waited()
    lease = ports.store.lease(need.session_id, ports.lease_seconds)
    granted = lease.__enter__()
    if granted:
        held.lease = lease
    else:
        lease.__exit__(None, None, None)
    return granted


def _answered(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return _refusal(error)


async def _aanswered(summarizer: Any, request: SummaryRequest) -> Any:
    try:
        return await summarize_async(summarizer, request)
    except Exception as error:
        return _refusal(error)


def _refusal(error: Exception) -> Refusal:
    reason = error.reason if isinstance(error, SummaryRefused) else type(error).__name__
    cause = error if isinstance(error, CompactError) else None
    return Refusal(reason, str(error) or type(error).__name__, cause or error)
