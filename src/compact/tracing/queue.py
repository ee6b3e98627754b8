"""The bounded queue between a conversation and its exporters, and the thread that empties it."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import replace
from threading import Condition, Lock, Thread
from typing import Any
from weakref import WeakSet

from compact.model.event import Event

LINGER = 0.05
"""Seconds during which events are collected into a batch; a viewer gets them within four times that."""
IDLE = 5.0
"""A worker without events for this many seconds ends; the next event starts another."""
BATCH = 500
QUIET = 30.0
"""Seconds between two reports of the same kind."""
EXIT = 3.0
"""The longest delay of process exit, in seconds."""


class EventQueue:
    """Adding an event never blocks: a full queue drops its oldest event and reports the drop.

    An exporter's `export` gets one event at a time, in order. It may also have: `flush`, called after each
    batch; `rest`, called after a while without events, which may return the seconds until it is called again;
    `close`, called at the end; `after_fork`, called in a child process.
    """

    def __init__(
        self,
        exporters: Sequence[Any],
        redacted: Callable[[Event], Event],
        warn: Callable[[Mapping[str, Any]], None],
        size: int,
        complaints: Complaints,
    ) -> None:
        self._exporters = exporters
        self._exports = [Export(exporter) for exporter in exporters]
        self._redacted, self._warn, self._complaints = redacted, warn, complaints
        self._size = size
        self._reset()
        _open.add(self)

    def _reset(self) -> None:
        self._waiting: deque[tuple[Event, Context]] = deque()
        self._lock = Lock()
        self._wake = Condition(self._lock)
        self._progress = Condition(self._lock)
        self._delivering = Lock()
        self._worker: Thread | None = None
        self._resting = self._closed = False
        self._taken = self._done = self._dropped = self._flushing = 0

    def put(self, event: Event) -> None:
        # The caller's context is passed along: an exporter may need to know the current trace.
        entry = (event, copy_context())
        with self._lock:
            if self._closed:
                return
            if len(self._waiting) >= self._size:
                self._waiting.popleft()
                self._dropped += 1
                self._done += 1
            self._waiting.append(entry)
            self._taken += 1
            if self._worker is None:
                self._start()
            elif self._resting:
                self._resting = False
                self._wake.notify()

    def _start(self) -> None:
        self._worker = Thread(target=self._work, name="compact-events", daemon=True)
        try:
            self._worker.start()
        except RuntimeError:
            # No new threads while the interpreter shuts down: `close` delivers what is left.
            self._worker = None

    def flush(self, timeout: float) -> bool:
        """Wait until everything added so far is delivered; returns whether it was."""
        with self._lock:
            target = self._taken
            self._flushing += 1
            self._wake.notify()
            try:
                return self._progress.wait_for(lambda: self._done >= target, timeout)
            finally:
                self._flushing -= 1

    def close(self, timeout: float) -> None:
        """Deliver pending events within the timeout; later events are ignored."""
        if self in _open:
            self.begin_closing()
            self.end_closing(time.monotonic() + timeout)

    def begin_closing(self) -> None:
        with self._lock:
            self._closed = True
            self._wake.notify()

    def end_closing(self, deadline: float) -> None:
        _open.discard(self)
        with self._lock:
            if self._worker is None:
                self._start()
            worker = self._worker
        if worker is None:
            self._work()
        else:
            worker.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            left = self._taken - self._done
            self._waiting.clear()
            self._done = self._taken
        if left:
            say(f"[compact] {left:,} events were not exported: their exporters took too long to close.")

    def _work(self) -> None:
        # A worker that is ending may still be closing exporters when the next one starts.
        with self._delivering:
            patience: float | None = IDLE
            while patience is not None:
                if batch := self._next(patience):
                    self._deliver(batch)
                    with self._lock:
                        self._done += len(batch)
                        self._progress.notify_all()
                    patience = IDLE
                elif self._closed:
                    self._call("close")
                    return
                else:
                    patience = min((more for more in self._call("rest") if more is not None), default=None)
                    patience = self._unless_done(patience)

    def _unless_done(self, patience: float | None) -> float | None:
        """How long to wait for more; None ends the worker, and the next event starts another."""
        with self._lock:
            if patience is None and not self._waiting and not self._closed:
                self._worker = None
                return None
            return IDLE if patience is None else patience

    def _next(self, patience: float) -> list[tuple[Event, Context]]:
        """The next batch; empty if none came in that time, or no more will come."""
        with self._lock:
            if not self._waiting and not self._closed:
                self._resting = True
                self._wake.wait_for(lambda: self._waiting or self._closed, patience)
                self._resting = False
            if self._waiting and not self._closed and not self._flushing:
                self._wake.wait_for(lambda: self._closed or self._flushing, LINGER)
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            dropped, self._dropped = self._dropped, 0
        if dropped:
            message = f"{dropped:,} events were not exported: the queue of {self._size:,} was full."
            say(f"[compact] {message}")
            self._warn({"severity": "low", "message": message, "dropped": dropped})
        return batch

    def _deliver(self, batch: Sequence[tuple[Event, Context]]) -> None:
        for own, context in batch:
            try:
                event = self._redacted(own)
            except Exception as error:
                self._complaints.failed(self._redacted, error)
                continue
            for export in self._exports:
                try:
                    if export.wants(event.name):
                        context.run(export.call, export.addressed(event, own))
                except BaseException as error:
                    self._complaints.failed(export.call, error)
        self._call("flush")

    def _call(self, name: str) -> list[Any]:
        """The return values of all exporters that have this method."""
        returned = []
        for exporter in self._exporters:
            method = getattr(exporter, name, None)
            try:
                if method is not None:
                    returned.append(method())
            except BaseException as error:
                self._complaints.failed(exporter, error)
        return returned

    def after_fork(self) -> None:
        """In a child process: the parent delivers pending events, and its thread does not exist here."""
        self._reset()
        self._call("after_fork")


class Export:
    """How an exporter is called, and for which events: all, unless it has `only_events`.

    An exporter that writes to the session store (`in_store = True`) gets a session's real id, even if that
    looks like a secret: the store has it anyway, and cannot find the session by any other.
    """

    def __init__(self, exporter: Any) -> None:
        self.call: Callable[[Event], None] = getattr(exporter, "export", exporter)
        self._only: Collection[str] | None = getattr(exporter, "only_events", None)
        self._in_store = bool(getattr(exporter, "in_store", False))

    def wants(self, name: str) -> bool:
        return self._only is None or name in self._only

    def addressed(self, event: Event, own: Event) -> Event:
        """The redacted event with the session id that this exporter needs; `own` is the original event."""
        return replace(event, session_id=own.session_id) if self._in_store else event


class Complaints:
    """Exporter errors on stderr: the first of each kind immediately, then one line now and then."""

    def __init__(
        self,
        clean: Callable[[str], str] = str,
        every: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clean, self._every, self._clock = clean, every, clock
        self._kinds: dict[str, tuple[float, int]] = {}

    def report(self, kind: str, line: str) -> None:
        silent_until, unsaid = self._kinds.get(kind, (0.0, 0))
        now = self._clock()
        if now < silent_until:
            self._kinds[kind] = silent_until, unsaid + 1
            return
        self._kinds[kind] = now + QUIET, 0
        say(self._clean(line) + (f" ({unsaid:,} more like this since the last such line)" if unsaid else ""))

    def failed(self, exporter: Any, error: BaseException) -> None:
        owner = getattr(exporter, "__self__", exporter)
        name = getattr(owner, "__name__", type(owner).__name__)
        self.report(name, f"[compact] an exporter failed ({name}): {type(error).__name__}: {error}")


def say(line: str) -> None:
    # Closed or missing, as in a daemon: then there is nowhere to write. (None means stdout to `print`.)
    with suppress(OSError, ValueError, AttributeError):
        if sys.stderr is not None:
            print(line, file=sys.stderr, flush=True)


_open: WeakSet[EventQueue] = WeakSet()


@atexit.register
def _close_all() -> None:
    queues = list(_open)
    deadline = time.monotonic() + EXIT
    for queue in queues:
        queue.begin_closing()
    for queue in queues:
        queue.end_closing(deadline)


def _after_fork() -> None:
    for queue in list(_open):
        queue.after_fork()


os.register_at_fork(after_in_child=_after_fork)
