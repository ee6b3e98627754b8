"""Sessions in memory, until the process ends. Originals are the caller's own objects, not copies."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from compact.core.view import START, handle, kept_positions, links
from compact.model.message import Message
from compact.model.record import Record
from compact.ports import Hit, SessionMemory
from compact.stores.words import HANDLE, SPAN, closeness, terms_of, text_of, weighed, words_of

_Key = TypeVar("_Key", str, bytes)


class _Original(NamedTuple):
    position: int
    previous: bytes
    message: Message


class _Session:
    """Originals by chain hash: a fork is another chain, and overwrites nothing."""

    def __init__(self) -> None:
        self.originals: dict[bytes, _Original] = {}
        self.line: list[_Original] = []
        """The current line, in order of position."""
        self.head = START
        self.memory = SessionMemory()


class MemoryStore:
    """The Store port on dictionaries; the oldest sessions are forgotten beyond `max_sessions`."""

    def __init__(self, max_sessions: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_sessions = max_sessions
        self._clock = clock
        self._lock = Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._records: dict[str, list[Record]] = {}
        self._by_key: dict[bytes, list[Record]] = {}
        self._committed: dict[tuple[bytes, str, int], Record] = {}
        self._by_handle: dict[str, list[Record]] = {}
        self._leases: dict[str, tuple[float, object]] = {}

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
    ) -> None:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                session = self._sessions[session_id] = _Session()
            self._sessions.move_to_end(session_id)
            originals, before = session.originals, previous
            for message, chain in zip(messages, keys or links(previous, messages), strict=True):
                found = originals.get(chain)
                if found is None:
                    found = originals[chain] = _Original(start, before, message)
                if before == session.head:
                    session.line.append(found)
                    session.head = chain
                before = chain
                start += 1
            if before != session.head and not _passes(session, before):
                session.line, session.head = _walked(session, before), before
            while len(self._sessions) > self._max_sessions:
                self._forget(next(iter(self._sessions)))

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        session = self._sessions.get(session_id)
        line = list(session.line) if session is not None else []
        for original in line:
            if original.position >= start and (stop is None or original.position < stop):
                yield original.message

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        return {key: self._by_key[key] for key in keys if key in self._by_key}

    def commit(self, record: Record) -> Record:
        with self._lock:
            key = (record.source, record.policy_hash, record.revision)
            winner = self._committed.setdefault(key, record)
            if winner is record:
                self._records.setdefault(record.session_id, []).append(record)
                for index in {record.source, record.output}:
                    self._by_key.setdefault(index, []).append(record)
                if record.handle:
                    self._by_handle.setdefault(record.handle, []).append(record)
            return winner

    def records(self, session_id: str) -> Sequence[Record]:
        return tuple(self._records.get(session_id, ()))

    def search(self, session_id: str, query: str, limit: int = 5, after: int = -1) -> list[Hit]:
        """Originals by handle or by words, as a database finds them; every message is looked at."""
        session = self._sessions.get(session_id)
        if session is None:
            return []
        wanted = query.strip()
        if HANDLE.fullmatch(wanted):
            named = [
                one
                for one in session.originals.values()
                if any(handle(result) == wanted for result in one.message.results)
            ]
            return [Hit(one.position, one.message, float("inf")) for one in reversed(named)][:limit]
        line, span = list(session.line), SPAN.match(query)
        if span is not None:
            line = self._replaced(session, span[1])
            query = query[span.end() :].strip()
        line = [one for one in line if one.position > after]
        if span is not None and not query:
            return [Hit(one.position, one.message, float("inf")) for one in line[:limit]]
        texts = [text_of(original.message) for original in line]
        indexed = [words_of(text) for text in texts]
        found: dict[str, list[int]] = {}
        for whole, *pieces in terms_of(query):
            found[whole] = _holding(indexed, whole)
            if not found[whole]:
                found.update((piece, _holding(indexed, piece)) for piece in pieces)
        scores = weighed(found, len(line))
        best = max(scores.values(), default=0.0)
        hits = [
            Hit(line[n].position, line[n].message, score + closeness(query, texts[n], best))
            for n, score in scores.items()
        ]
        hits.sort(key=lambda hit: (-hit.score, -hit.position))
        return hits[:limit]

    def _replaced(self, session: _Session, handle: str) -> list[_Original]:
        """What the record with this handle replaced in this session, in order."""
        for record in reversed(self._by_handle.get(handle, ())):
            if record.source in session.originals:
                kept = kept_positions(record)
                return [one for one in _walked(session, record.source) if one.position not in kept]
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
            session = self._sessions.setdefault(session_id, _Session())
            before = session.memory
            session.memory = replace(
                before,
                scale=before.scale if scale is None else scale,
                retired_tools=before.retired_tools if retired_tools is None else frozenset(retired_tools),
                head=before.head if head is None else tuple(head),
                notes=before.notes if note is None else (*before.notes, note),
            )

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        owner = object()
        granted = self._take(session_id, owner, seconds)
        try:
            yield granted
        finally:
            if granted:
                self._give_back(session_id, owner)

    def _take(self, session_id: str, owner: object, seconds: float) -> bool:
        with self._lock:
            now = self._clock()
            if session_id in self._leases and self._leases[session_id][0] > now:
                return False
            self._leases[session_id] = (now + seconds, owner)
            return True

    def _give_back(self, session_id: str, owner: object) -> None:
        with self._lock:
            # A lease that ran out may be another's by now.
            if session_id in self._leases and self._leases[session_id][1] is owner:
                del self._leases[session_id]

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with its originals and records; says whether it was there."""
        with self._lock:
            known = session_id in self._sessions
            if known:
                self._forget(session_id)
            return known

    def _forget(self, session_id: str) -> None:
        del self._sessions[session_id]
        for record in self._records.pop(session_id, ()):
            self._committed.pop((record.source, record.policy_hash, record.revision), None)
            _take_out(self._by_handle, record.handle, record)
            for key in {record.source, record.output}:
                _take_out(self._by_key, key, record)


def _take_out(index: dict[_Key, list[Record]], key: _Key, record: Record) -> None:
    left = [other for other in index.pop(key, ()) if other.id != record.id]
    if left:
        index[key] = left


def _holding(indexed: Sequence[set[str]], word: str) -> list[int]:
    return [n for n, words in enumerate(indexed) if word in words]


def _passes(session: _Session, chain: bytes) -> bool:
    """Whether the current line runs through this message, so that it stays the current one."""
    found = session.originals.get(chain)
    if found is None:
        return True
    at = found.position - session.line[0].position if session.line else -1
    return 0 <= at < len(session.line) and session.line[at] is found


def _walked(session: _Session, chain: bytes) -> list[_Original]:
    line = []
    found = session.originals.get(chain)
    while found is not None:
        line.append(found)
        found = session.originals.get(found.previous)
    line.reverse()
    return line
