"""What is remembered with a session: preset, policy, model, pins, system prompt, the last import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.model.event import EventName
from compact.ports import Thread, Threads

_NEWEST = "settings_event"
"""On the session's row: the number of the event with its newest settings."""


def newest_settings(store: Threads, thread: Thread) -> dict[str, Any]:
    """By its number if that is known: a long session has thousands of later events."""
    number = thread.settings.get(_NEWEST)
    found = next(store.events(thread.session_id, number - 1, 1), None) if number else None
    if found is None or found.name is not EventName.SETTINGS:
        found = store.last_event(thread.session_id, EventName.SETTINGS)
    return dict(found.data) if found is not None else {}


class SessionSettings:
    """Kept as events of the session, of which the newest counts; several doors may change them.

    A mark on the session's row shows that there is a newer one: that is quicker to read than the events.
    """

    def __init__(self, store: Threads, session_id: str) -> None:
        self._store = store
        self._session_id = session_id
        self._event: int | None = None
        """The number of the event that `values` come from."""
        self.values: dict[str, Any] = {}
        self._unsaved: dict[str, Any] = {}
        """Stored with the first message: a session that was only looked at does not exist."""

    @property
    def has_unsaved(self) -> bool:
        return bool(self._unsaved)

    def saved(self) -> None:
        """Nothing is pending any more: the transaction that stored it is over."""
        self._unsaved = {}

    def read(self, thread: Thread) -> None:
        self._event = thread.settings.get(_NEWEST)
        self.values = {**newest_settings(self._store, thread), **self._unsaved}

    def catch_up(self, thread: Thread) -> bool:
        """Whether another door has set something in the meantime; picks it up."""
        if thread.settings.get(_NEWEST) == self._event:
            return False
        self.read(thread)
        return True

    def put(self, values: Mapping[str, Any]) -> None:
        """Store all of them. Call it while nobody else writes to the session."""
        self._event = self._store.add_event(self._session_id, EventName.SETTINGS, values)
        thread = self._store.session(self._session_id)
        if thread is not None:
            self._store.put_session(self._session_id, settings={**thread.settings, _NEWEST: self._event})

    def suggest(self, changes: Mapping[str, Any]) -> None:
        """Settings to store with the next message; nothing is stored for them alone."""
        fresh = {name: value for name, value in changes.items() if self.values.get(name) != value}
        self._unsaved |= fresh
        self.values |= fresh

    def cut(self, position: int, pinned: Sequence[int]) -> None:
        """The turns from here on are gone: their replacements were not imported, and only this is pinned.

        Stored with the next turns.
        """
        if self.values.get("pins"):
            self.suggest({"pins": [*self.pins_before(position), *pinned]})
        if self.values.get("imported", 0) > position:
            self.suggest({"imported": position, "import": None})

    def pins_before(self, position: int) -> list[int]:
        return [pin for pin in self.values.get("pins", ()) if pin < position]
