"""Which reply is being written where: known to all processes on one database."""

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
class RunningTurn:
    """A reply that some process is writing."""

    id: str
    position: int
    """Of the user's message."""


class Presence:
    """What the list of sessions and other processes should know, kept with the session.

    A turn is announced for some seconds at a time and renewed while it runs, so that a killed process leaves
    no session that seems to reply for ever. With one process nothing of it is stored.
    """

    def __init__(self, store: Threads, shared: bool) -> None:
        self._store = store
        self.shared = shared

    def announce(self, session_id: str, turn: RunningTurn) -> None:
        if self.shared:
            running = {"id": turn.id, "position": turn.position, "until": time.time() + _SECONDS}
            self._put(session_id, {"turn": running})

    def used(self, session_id: str, usage: Usage) -> None:
        """How full the window is now."""
        self._put(session_id, {"usage": usage.model_dump()})

    def ended(self, session_id: str, usage: Usage) -> None:
        """No turn runs any more."""
        self._put(session_id, {"turn": None, "usage": usage.model_dump()})

    def _put(self, session_id: str, changes: Mapping[str, Any]) -> None:
        thread = self._store.session(session_id)
        if thread is not None:
            kept = {
                name: value for name, value in {**thread.settings, **changes}.items() if value is not None
            }
            self._store.put_session(session_id, settings=kept)


def running_turn(thread: Thread) -> RunningTurn | None:
    """The reply that another process writes in this session."""
    match thread.settings.get("turn"):
        case {"id": str(id), "position": int(position), "until": float(until)} if until > time.time():
            return RunningTurn(id, position)
    return None
