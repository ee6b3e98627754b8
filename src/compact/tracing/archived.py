"""The archive's event log: what led to each compaction and how it ended, next to its transcript (S4.14)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol, runtime_checkable

from compact.model.event import Event, EventName

_QUIET = (EventName.TOKEN_ESTIMATE, EventName.TRIGGER_DECISION)
_SESSIONS_KEPT = 1_000
_EVENTS_KEPT = 100
"""The newest events kept for a session in which nothing ends."""
_ENDS = (EventName.COMPLETE, EventName.FAILED, EventName.ERROR, EventName.RESTORED)


@runtime_checkable
class EventLog(Protocol):
    def append_event(self, session_id: str, event: Event) -> None: ...


class Noteworthy:
    """Skips estimates and decisions that led to nothing; otherwise every preflight would cause a write."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, list[Event]] = OrderedDict()

    def add(self, event: Event) -> list[Event]:
        """The events now worth keeping: none, or all since the last estimate before something happened."""
        if not event.session_id:
            return []
        waiting = self._waiting.pop(event.session_id, [])
        if event.name is EventName.TOKEN_ESTIMATE:
            waiting = [kept for kept in waiting if kept.name not in _QUIET]
        waiting.append(event)
        if event.name in _ENDS:
            return waiting
        self._waiting[event.session_id] = waiting[-_EVENTS_KEPT:]
        if len(self._waiting) > _SESSIONS_KEPT:
            self._waiting.popitem(last=False)
        return []

    def clear(self) -> None:
        self._waiting.clear()


class ArchivedEvents:
    """An exporter that writes noteworthy events to the archive's log.

    `immediate` is for an archive on the local disk: its log is then complete as soon as the compaction is.
    """

    def __init__(self, archive: EventLog, immediate: bool = False) -> None:
        self._archive = archive
        self._noteworthy = Noteworthy()
        self.immediate = immediate

    def export(self, event: Event) -> None:
        for kept in self._noteworthy.add(event):
            self._archive.append_event(kept.session_id, kept)
