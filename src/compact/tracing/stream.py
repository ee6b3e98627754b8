"""The event stream: numbers events, passes them to exporters in order, and survives their failures."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from threading import Lock
from typing import Any
from weakref import WeakSet

from compact.model.event import Event, EventName
from compact.ports import Clock, Exporter, Redacts
from compact.tracing.queue import Complaints, EventQueue, Export
from compact.tracing.redacting import redacted_data

# Our own numbers and words, unless they include a caller's note; these occur in every preflight.
_WITHOUT_TEXT = frozenset({EventName.TOKEN_ESTIMATE, EventName.TRIGGER_DECISION, EventName.LEASE})

AnyExporter = Exporter | Callable[[Event], None]


class EventStream:
    """Exporters are called by the queue's thread, so that none can block a conversation.

    An exporter with `immediate = True` is called immediately, in the thread and context of the caller. One
    with `only_events` is called only for those. All get redacted copies. `recent` holds the newest events,
    unredacted, for readers in the same process.
    """

    def __init__(
        self,
        exporters: Sequence[AnyExporter],
        clock: Clock,
        *,
        redactor: Redacts | None = None,
        keep: int = 1_000,
        queue_size: int = 10_000,
    ) -> None:
        self._redactor = redactor
        self._clock = clock
        self._lock = Lock()
        self._sequence = 0
        self._hidden = lru_cache(maxsize=1_000)(partial(_hidden_id, redactor))
        self.recent: deque[Event] = deque(maxlen=keep)
        _streams.add(self)
        self._immediate = [Export(each) for each in exporters if is_immediate(each)]
        self._wanted: dict[EventName, list[Export]] = {}
        """The exporters of each event."""
        queued = [each for each in exporters if not is_immediate(each)]
        self._complaints = Complaints(str if redactor is None else redactor.text)
        self._queue: EventQueue | None = None
        if queued:
            self._queue = EventQueue(queued, self.redacted, self._warn, queue_size, self._complaints)

    def emit(
        self,
        session_id: str,
        name: EventName,
        data: Mapping[str, Any],
        step: int = 0,
        duration: float | None = None,
    ) -> None:
        with self._lock:
            self._sequence += 1
            event = Event(name, session_id, self._sequence, self._clock(), data, step, duration)
            self.recent.append(event)
            if self._queue is not None:
                # Inside the lock: events must be exported in the order of their numbers.
                self._queue.put(event)
        wanted = self._wanted.get(name)
        if wanted is None:
            wanted = self._wanted[name] = [export for export in self._immediate if export.wants(name)]
        if wanted:
            self._export_now(event, wanted)

    def _export_now(self, own: Event, exports: Sequence[Export]) -> None:
        try:
            event = self.redacted(own)
        except Exception as error:
            self._complaints.failed(self.redacted, error)
            return
        for export in exports:
            try:
                export.call(event if event.session_id == own.session_id else export.addressed(event, own))
            except Exception as error:
                self._complaints.failed(export.call, error)

    def redacted(self, event: Event) -> Event:
        """What may leave the process; what stays inside is not changed."""
        if self._redactor is None:
            return event
        session_id = self._hidden(event.session_id)
        if event.name in _WITHOUT_TEXT and "note" not in event.data:
            return event if session_id is event.session_id else replace(event, session_id=session_id)
        return replace(event, session_id=session_id, data=redacted_data(event.data, self._redactor))

    def after_fork(self) -> None:
        # Another thread of the parent may have held it.
        self._lock = Lock()

    def _warn(self, data: Mapping[str, Any]) -> None:
        self.emit("", EventName.WARNING, data)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until every event so far is exported; returns whether it was."""
        return self._queue is None or self._queue.flush(timeout)

    def close(self, timeout: float = 3.0) -> None:
        """Export pending events within the timeout, and release the exporters' resources."""
        if self._queue is not None:
            self._queue.close(timeout)


class Immediate:
    """Wraps a callable so that it is called immediately, in the caller's thread; it should be fast."""

    immediate = True

    def __init__(self, export: Callable[[Event], None]) -> None:
        self.export = export


def _hidden_id(redactor: Redacts | None, session_id: str) -> str:
    # A hash, not a constant: two such sessions stay distinct.
    if redactor is None or not redactor.is_secret(session_id):
        return session_id
    return f"~{sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def is_immediate(exporter: AnyExporter) -> bool:
    return bool(getattr(exporter, "immediate", False))


_streams: WeakSet[EventStream] = WeakSet()


def _after_fork() -> None:
    for stream in list(_streams):
        stream.after_fork()


os.register_at_fork(after_in_child=_after_fork)
