"""Sessions in memory, until the process ends. Originals are the caller's own objects, not copies."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from threading import Lock

from compact.model.message import Message
from compact.model.record import Record


class MemoryStore:
    """The Store port on dictionaries; the oldest sessions are forgotten beyond `max_sessions`."""

    def __init__(self, max_sessions: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_sessions = max_sessions
        self._clock = clock
        self._lock = Lock()
        self._originals: OrderedDict[str, dict[int, Message]] = OrderedDict()
        self._records: dict[str, list[Record]] = {}
        self._by_key: dict[bytes, list[Record]] = {}
        self._committed: dict[tuple[bytes, str, int], Record] = {}
        self._leases: dict[str, float] = {}

    def append(self, session_id: str, start: int, messages: Sequence[Message]) -> None:
        with self._lock:
            kept = self._originals.setdefault(session_id, {})
            self._originals.move_to_end(session_id)
            for position, message in enumerate(messages, start):
                kept[position] = message
            while len(self._originals) > self._max_sessions:
                self._forget(next(iter(self._originals)))

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        kept = self._originals.get(session_id, {})
        positions = sorted(position for position in kept if position >= start)
        yield from (kept[n] for n in islice(positions, None if stop is None else max(0, stop - start)))

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
            return winner

    def records(self, session_id: str) -> Sequence[Record]:
        return tuple(self._records.get(session_id, ()))

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        granted = self._take(session_id, seconds)
        try:
            yield granted
        finally:
            if granted:
                self._leases.pop(session_id, None)

    def _take(self, session_id: str, seconds: float) -> bool:
        with self._lock:
            now = self._clock()
            if self._leases.get(session_id, 0.0) > now:
                return False
            self._leases[session_id] = now + seconds
            return True

    def _forget(self, session_id: str) -> None:
        del self._originals[session_id]
        for record in self._records.pop(session_id, ()):
            self._committed.pop((record.source, record.policy_hash, record.revision), None)
            for key in {record.source, record.output}:
                left = [other for other in self._by_key.get(key, ()) if other.id != record.id]
                if left:
                    self._by_key[key] = left
                else:
                    self._by_key.pop(key, None)
