"""Events in the session store, for readers that return to a session."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from compact.model.event import Event, EventName
from compact.tracing.archived import Noteworthy


@runtime_checkable
class KeepsEvents(Protocol):
    def add_event(self, session_id: str, name: EventName, data: Any) -> int: ...


class StoredEvents:
    """An exporter that stores what happened; it keeps only the last estimate before that."""

    in_store = True

    def __init__(self, store: KeepsEvents) -> None:
        self._store = store
        self._noteworthy = Noteworthy()

    def export(self, event: Event) -> None:
        for kept in self._noteworthy.add(event):
            self._store.add_event(kept.session_id, kept.name, kept.data)

    def after_fork(self) -> None:
        self._noteworthy.clear()
