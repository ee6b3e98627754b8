"""Sessions in memory, until the process ends. Originals are the caller's own objects, not copies."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any, TypeVar

from compact.core.view import START, kept_positions, links
from compact.errors import HistoryGone, StoreError
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import Record, archived_step
from compact.ports import Hit, RecordState, SessionMemory, Space, Thread
from compact.stores.memory.search import search
from compact.stores.memory.session import MemorySession, Original

_Key = TypeVar("_Key", str, bytes)


class MemoryStore:
    """The Store, Searchable, Remembers and Threads ports on dictionaries.

    Beyond `max_sessions`, the oldest sessions are dropped.
    """

    blocks = False

    def __init__(self, max_sessions: int = 10_000, clock: Callable[[], float] = time.time) -> None:
        self._max_sessions = max_sessions
        self._clock = clock
        self._lock = RLock()
        self._made = 0
        self._sessions: OrderedDict[str, MemorySession] = OrderedDict()
        self._by_key: dict[bytes, list[Record]] = {}
        self._committed: dict[tuple[bytes, str, int], Record] = {}
        self._by_handle: dict[str, list[Record]] = {}
        self._leases: set[str] = set()
        self._spaces: dict[str, Space] = {}

    # -- Store ---------------------------------------------------------------------------------------------

    def append(
        self,
        session_id: str,
        start: int,
        messages: Sequence[Message],
        *,
        previous: bytes = START,
        format: str = "",
        sizes: Sequence[int] = (),
        keys: Sequence[bytes] = (),
        detached: bool = False,
    ) -> None:
        with self._lock:
            chains = keys or links(previous, messages)
            known = self._sessions.get(session_id)
            if previous != START and not detached and (known is None or not known.holds(previous, chains)):
                raise HistoryGone(session_id, start)
            session = known or self._session(session_id)
            self._sessions.move_to_end(session_id)
            if session.extend(start, previous, messages, chains, sizes or [0] * len(messages)):
                session.updated_at = self._clock()
            while len(self._sessions) > self._max_sessions:
                self._forget(next(iter(self._sessions)))

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        session = self._sessions.get(session_id)
        if session is None:
            return
        line = session.line
        first = session.first_of(line)
        end = None if stop is None else max(0, stop - first)
        for chain in line[max(0, start - first) : end]:
            yield session.messages[chain]

    def originals_up_to(self, session_id: str, key: bytes) -> Iterator[Message]:
        session = self._sessions.get(session_id)
        if session is not None:
            yield from map(session.messages.__getitem__, session.walked(key))

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        return {key: self._by_key[key] for key in keys if key in self._by_key}

    def commit(self, record: Record) -> Record:
        with self._lock:
            session = self._sessions.get(record.session_id)
            if session is None:
                raise HistoryGone(record.session_id, record.source_length)
            key = (record.source, record.policy_hash, record.revision)
            winner = self._committed.setdefault(key, record)
            if winner is record:
                session.records.append(record)
                session.updated_at = self._clock()
                for index in {record.source, record.output}:
                    self._by_key.setdefault(index, []).append(record)
                if record.handle:
                    self._by_handle.setdefault(record.handle, []).append(record)
            return winner

    def records(self, session_id: str, after: str | None = None) -> Sequence[Record]:
        session = self._sessions.get(session_id)
        if session is None:
            return ()
        newer: list[Record] = []
        for record in reversed(session.records):
            if record.id == after:
                break
            newer.append(record)
        return tuple(reversed(newer))

    def record_state(self, session_id: str) -> RecordState:
        records = self.records(session_id)
        undos = [record for record in records if record.revokes is not None]
        return RecordState(
            newest=records[-1].id if records else None,
            steps=max((record.step for record in records), default=0),
            revision=max((undo.revision for undo in undos), default=0),
            revoked=frozenset(undo.revokes for undo in undos if undo.revokes is not None),
            undone_version=max((undo.version for undo in undos), default=0),
            archived=next(filter(None, map(archived_step, reversed(records))), None),
        )

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        """Held until the block exits: no holder outlives this store, so none needs to be renewed."""
        with self._lock:
            granted = session_id not in self._leases
            self._leases.add(session_id)
        try:
            yield granted
        finally:
            if granted:
                self._leases.discard(session_id)

    # -- Searchable and Remembers --------------------------------------------------------------------------

    def search(self, session_id: str, query: str, limit: int = 5, after: int = -1) -> list[Hit]:
        """Originals by handle or by words, as a database finds them; every message is read."""
        session = self._sessions.get(session_id)
        return search(session, query, limit, after, self._replaced) if session is not None else []

    def _replaced(self, session: MemorySession, handle: str) -> list[Original]:
        """What the record with this handle replaced in this session, in order."""
        for record in reversed(self._by_handle.get(handle, ())):
            if record.source in session.messages:
                kept, line = kept_positions(record), session.walked(record.source)
                return [one for one in session.numbered(line) if one.position not in kept]
        return []

    def memory(self, session_id: str) -> SessionMemory:
        session = self._sessions.get(session_id)
        return session.memory if session is not None else SessionMemory()

    def remember(
        self,
        session_id: str,
        *,
        scale: float | None = None,
        retired_tools: Collection[str] | None = None,
        head: Sequence[Any] | None = None,
        note: tuple[bytes, str] | None = None,
    ) -> None:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                return
            before = session.memory
            session.memory = replace(
                before,
                scale=before.scale if scale is None else scale,
                retired_tools=before.retired_tools if retired_tools is None else frozenset(retired_tools),
                head=before.head if head is None else tuple(head),
                notes=before.notes if note is None else (*before.notes, note),
            )

    # -- Threads -------------------------------------------------------------------------------------------

    def session(self, session_id: str) -> Thread | None:
        session = self._sessions.get(session_id)
        return session.thread(session_id in self._leases) if session is not None else None

    def sessions(
        self,
        limit: int = 50,
        *,
        before: tuple[float, str] | None = None,
        space: str | None = None,
        query: str = "",
    ) -> list[Thread]:
        wanted, part = list(self._sessions.values()), query.casefold()
        if space is not None:
            wanted = [session for session in wanted if session.space == space]
        if part:
            wanted = [s for s in wanted if part in s.title.casefold() or part in s.id.casefold()]
        if before is not None:
            last = self._sessions.get(before[1])
            end = (before[0], last.number if last is not None else 0)
            wanted = [session for session in wanted if (session.updated_at, session.number) < end]
        wanted.sort(key=lambda session: (session.updated_at, session.number), reverse=True)
        return [session.thread(session.id in self._leases) for session in wanted[:limit]]

    def put_session(
        self,
        session_id: str,
        *,
        space: str | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        with self._lock:
            if space and space not in self._spaces:
                raise StoreError(
                    f"There is no space {space!r}. Nothing was changed; create it with put_space."
                )
            session = self._session(session_id)
            session.space = session.space if space is None else space or None
            session.title = session.title if title is None else title
            session.settings = session.settings if settings is None else dict(settings)

    def delete_session(self, session_id: str) -> bool:
        with self._lock:
            known = session_id in self._sessions
            if known:
                self._forget(session_id)
            return known

    def put_space(
        self,
        name: str,
        title: str = "",
        custom_instructions: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> Space:
        with self._lock:
            if settings is None:
                settings = self._spaces[name].settings if name in self._spaces else {}
            space = self._spaces[name] = Space(name, title, custom_instructions, dict(settings))
        return space

    def space(self, name: str) -> Space | None:
        return self._spaces.get(name)

    def spaces(self) -> list[Space]:
        return sorted(self._spaces.values(), key=lambda space: space.name)

    def delete_space(self, name: str) -> bool:
        with self._lock:
            for session in self._sessions.values():
                session.space = None if session.space == name else session.space
            return self._spaces.pop(name, None) is not None

    def add_event(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> int:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                return 0
            session.last_event += 1
            event = Event(name, session_id, session.last_event, self._clock(), dict(data))
            session.events.append(event)
            session.newest_events[name] = event
            return session.last_event

    def events(self, session_id: str, after: int = 0, limit: int = 1_000) -> Iterator[Event]:
        session = self._sessions.get(session_id)
        found = [event for event in session.events if event.sequence > after] if session is not None else []
        yield from found[:limit]

    def last_event(self, session_id: str, name: EventName) -> Event | None:
        session = self._sessions.get(session_id)
        return session.newest_events.get(name) if session is not None else None

    @contextmanager
    def exclusively(self, session_id: str, *, incarnation: str | None = None) -> Iterator[None]:
        with self._lock:
            before = self._sessions.get(session_id)
            if incarnation is not None and (before is None or before.incarnation != incarnation):
                raise HistoryGone(session_id, 0)
            kept = before.copy() if before is not None else None
            try:
                yield
            except BaseException:
                self._put_back(session_id, kept)
                raise

    def end(self, session_id: str) -> tuple[int, bytes]:
        session = self._sessions.get(session_id)
        return (session.end, session.head) if session is not None else (0, START)

    # ------------------------------------------------------------------------------------------------------

    def _session(self, session_id: str) -> MemorySession:
        session = self._sessions.get(session_id)
        if session is None:
            self._made += 1
            session = self._sessions[session_id] = MemorySession(session_id, self._made, self._clock())
        return session

    def _put_back(self, session_id: str, kept: MemorySession | None) -> None:
        now = self._sessions.get(session_id)
        known = {record.id for record in kept.records} if kept is not None else set()
        self._take_out(
            [record for record in now.records if record.id not in known] if now is not None else []
        )
        if kept is not None:
            self._sessions[session_id] = kept
        else:
            self._sessions.pop(session_id, None)

    def _forget(self, session_id: str) -> None:
        self._take_out(self._sessions.pop(session_id).records)

    def _take_out(self, records: Sequence[Record]) -> None:
        for record in records:
            self._committed.pop((record.source, record.policy_hash, record.revision), None)
            _drop(self._by_handle, record.handle, record)
            for key in {record.source, record.output}:
                _drop(self._by_key, key, record)


def _drop(index: dict[_Key, list[Record]], key: _Key, record: Record) -> None:
    left = [other for other in index.pop(key, ()) if other.id != record.id]
    if left:
        index[key] = left
