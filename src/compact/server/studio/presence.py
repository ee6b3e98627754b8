"""Who is working on a session right now, known to all processes on one database."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from compact.model.value import value
from compact.ports import Thread, Threads
from compact.server.studio.schemas import Usage

_SECONDS = 15.0
RENEW_SECONDS = 5.0


@value
class Work:
    """A reply that some process is writing, or a compaction that a user requested."""

    id: str
    position: int = 0
    """Of the user's message."""
    compacts: bool = False
    """Whether it is a compaction rather than a reply."""


class Presence:
    """What the list of sessions and other processes should know, kept with the session.

    Work is claimed for some seconds at a time and renewed while it runs, so that a killed process leaves no
    session busy forever. With one process nothing is stored.
    """

    def __init__(self, store: Threads, shared: bool) -> None:
        self._store = store
        self.shared = shared

    def claim(self, session_id: str, work: Work) -> Thread | None:
        """Claim the session for this work; if another process is working on it, return the session as it
        is."""
        with self._store.exclusively(session_id):
            thread = self._store.session(session_id)
            if thread is None or thread.currently_compacting or work_in(thread) is not None:
                return thread
            self._put(thread, {"turn": _claimed(work)})
            return None

    def renew(self, session_id: str, work: Work) -> None:
        """Keep holding it, also once the position is known."""
        self._change(session_id, work, {"turn": _claimed(work)})

    def is_gone(self, session_id: str, incarnation: str | None) -> bool:
        """Whether it was deleted in the meantime; another may have its id by now."""
        thread = self._store.session(session_id)
        return thread is None or thread.incarnation != incarnation

    def used(self, session_id: str, usage: Usage) -> None:
        """How full the window is now."""
        with self._store.exclusively(session_id):
            thread = self._store.session(session_id)
            if thread is not None:
                self._put(thread, {"usage": usage.model_dump()})

    def release(self, session_id: str, work: Work) -> None:
        """It is not done after all."""
        self._change(session_id, work, {"turn": None})

    def ended(self, session_id: str, work: Work, usage: Usage) -> None:
        """This work is over."""
        self._change(session_id, work, {"turn": None}, {"usage": usage.model_dump()})

    def _change(
        self, session_id: str, work: Work, own: Mapping[str, Any], common: Mapping[str, Any] | None = None
    ) -> None:
        """`own` only if the session is claimed for this work: a late renewal must not claim it again."""
        with self._store.exclusively(session_id):
            thread = self._store.session(session_id)
            if thread is not None:
                holds = (thread.settings.get("turn") or {}).get("id") == work.id
                self._put(thread, {**(common or {}), **(own if holds else {})})

    def _put(self, thread: Thread, changes: Mapping[str, Any]) -> None:
        if not changes:
            return
        settings = {**thread.settings, **changes}
        kept = {name: value for name, value in settings.items() if value is not None}
        self._store.put_session(thread.session_id, settings=kept)


def work_in(thread: Thread) -> Work | None:
    """What some process is doing in this session."""
    match thread.settings.get("turn"):
        case {"id": str(id), "position": int(position), "until": float(until), **more} if until > time.time():
            return Work(id, position, bool(more.get("compacts")))
    return None


def _claimed(work: Work) -> dict[str, Any]:
    found = {"id": work.id, "position": work.position, "until": time.time() + _SECONDS}
    return {**found, "compacts": True} if work.compacts else found
