"""What happens in a session, stored in order, for any number of followers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from compact.errors import HistoryGone, StoreError
from compact.model.event import Event, EventName
from compact.ports import Threads
from compact.server.http.bell import Bell
from compact.server.studio import record_details
from compact.server.studio.metrics import Metrics
from compact.server.studio.ui_stream import compaction_part, encoded

_SHOWN = frozenset(
    {
        EventName.START,
        EventName.PRUNE,
        EventName.SUMMARIZE,
        EventName.PROGRESS,
        EventName.CHECK,
        EventName.COMPLETE,
        EventName.FAILED,
        EventName.OVERFLOW,
    }
)
_PAGE = 200
_TRIES = 3
# It follows a reply into threads and along with the engine's events, which have only the session's id.
_incarnation: ContextVar[str | None] = ContextVar("compact-studio-incarnation", default=None)


def write_for(incarnation: str | None) -> None:
    """What is stored in this context belongs to this session, and to no later one with the same id."""
    _incarnation.set(incarnation)


class SessionEvents:
    """The events of all sessions of one tenant, in its store. Also an exporter for the engine's events.

    The number of an event in its session is its id on the stream, so a returning reader continues exactly
    after the last one it saw.
    """

    in_store = True

    def __init__(self, store: Threads, loop: asyncio.AbstractEventLoop, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._loop = loop
        self._bells: dict[str, tuple[Bell, int]] = {}
        self.closed = False
        self.on_stored: Callable[[str], None] = lambda _: None
        """Called with the session's id, in the thread that stored."""

    def export(self, event: Event) -> None:
        for left in range(_TRIES - 1, -1, -1):
            try:
                return self._export(event)
            except HistoryGone:
                return  # what is reported of a deleted session goes with it
            except StoreError:
                # The store may be slow right now: the engine reports each event only once.
                if not left:
                    raise

    def _export(self, event: Event) -> None:
        if event.name in _SHOWN and event.session_id:
            self.store(event.session_id, compaction_part(event))
            self._metrics.engine_event(event.name)
        elif event.name in record_details.NAMES and event.session_id:
            detail = record_details.detail_data(event)
            if detail is not None:
                with self._store.exclusively(event.session_id, incarnation=_incarnation.get()):
                    self._store.add_event(event.session_id, EventName.DOOR, detail)

    def store(
        self, session_id: str, *events: Mapping[str, Any], beside: Callable[[], None] = lambda: None
    ) -> None:
        """Store events and what `beside` stores, all or none; blocks as long as the store does."""
        with self._store.exclusively(session_id, incarnation=_incarnation.get()):
            for data in events:
                self._store.add_event(session_id, EventName.DOOR, data)
            beside()
        self.on_stored(session_id)
        self._loop.call_soon_threadsafe(self.ring, session_id)

    async def astore(self, session_id: str, *events: Mapping[str, Any]) -> None:
        await asyncio.to_thread(self.store, session_id, *events)

    def ring(self, session_id: str) -> None:
        """Something is new in this session; called in the loop."""
        if session_id in self._bells:
            self._bells[session_id][0].ring()

    def close(self) -> None:
        """Followers go."""
        self.closed = True
        for bell, _ in self._bells.values():
            bell.close()

    def page(self, session_id: str, after: int, limit: int = _PAGE) -> tuple[list[Event], int]:
        """The next events after that number, and the number reached by looking."""
        looked = list(self._store.events(session_id, after, limit))
        reached = looked[-1].sequence if looked else after
        shown = [event for event in looked if event.name is EventName.DOOR]
        return [event for event in shown if event.data.get("type") != record_details.TYPE], reached

    async def follow(
        self, session_id: str, after: int, heartbeat: float, poll: float
    ) -> AsyncIterator[bytes]:
        """Stored events after that number, then whatever comes."""
        bell, readers = self._bells.get(session_id, (Bell(), 0))
        self._bells[session_id] = (bell, readers + 1)
        try:
            # With the id, a reader that leaves before anything happens comes back without a gap.
            yield b"retry: 1000\nid: %d\n\n" % after
            quiet = 0.0
            while not self.closed:
                rung = bell.listen()
                found, reached = await asyncio.to_thread(self.page, session_id, after)
                if found:
                    yield b"".join(_lines(found))
                if reached > after:
                    after, quiet = reached, 0.0
                    continue
                try:
                    async with asyncio.timeout(poll):
                        await rung.wait()
                except TimeoutError:
                    quiet += poll
                    if quiet >= heartbeat:
                        quiet = 0.0
                        yield b": heartbeat\n\n"
        finally:
            bell, readers = self._bells[session_id]
            if readers == 1:
                del self._bells[session_id]
            else:
                self._bells[session_id] = (bell, readers - 1)


def _lines(events: list[Event]) -> Iterator[bytes]:
    for event in events:
        yield encoded(event.data, str(event.sequence))
