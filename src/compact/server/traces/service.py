"""What the routes use: the database, its writer and readers, and turning a body into rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from compact.redaction import Redactor
from compact.server.http.bell import Bell
from compact.server.http.bodies import parse_json
from compact.server.http.limits import Seats
from compact.server.traces.accepting import events_of
from compact.server.traces.database import TraceDatabase
from compact.server.traces.event import Row, TraceEvent, row_of
from compact.server.traces.fields import BadBody
from compact.server.traces.otlp import payload_of_protobuf
from compact.server.traces.reading import Reader
from compact.server.traces.settings import TraceSettings
from compact.server.traces.writing import Writer

_MOST_ERRORS = 100
_SHORT = 64
_T = TypeVar("_T")


@dataclass(frozen=True)
class Taken:
    """The result for a body: how many events were stored, which were not, and why."""

    count: int
    duplicates: int = 0
    rejected: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    """Only the first hundred."""


class RememberingRedactor(Redactor):
    """The same field names, kinds and names come by the thousand; each is checked once."""

    def __init__(self, settings: TraceSettings) -> None:
        super().__init__(settings.patterns, tuple(settings.pii), settings.redact)
        self._short = lru_cache(maxsize=4_096)(super().text)

    def text(self, text: str) -> str:
        return self._short(text) if len(text) <= _SHORT else super().text(text)


class TraceService:
    """Create it inside its event loop; `close` writes pending events."""

    def __init__(self, settings: TraceSettings, database: TraceDatabase, redactor: Redactor) -> None:
        self.settings = settings
        self.bell = Bell()
        self.readers = Seats(settings.max_readers, "readers follow")
        self._redactor = redactor
        self.database = database
        self.reader = Reader(self.database, settings.read_timeout)
        loop = asyncio.get_running_loop()
        self._writer = Writer(
            self.database, settings.retention, lambda: loop.call_soon_threadsafe(self.bell.ring)
        )
        # Senders delay neither readers nor each other.
        self._taking = ThreadPoolExecutor(2, "compact-traces-ingest")
        self._reading = ThreadPoolExecutor(4, "compact-traces-read")

    async def take(self, body: bytes, protobuf: bool = False) -> Taken:
        """Stores the events of a body; returns once they are on disk."""
        loop = asyncio.get_running_loop()
        rows, errors, rejected = await loop.run_in_executor(self._taking, self._rows, body, protobuf)
        new = await asyncio.wrap_future(self._writer.submit(rows)) if rows else 0
        return Taken(len(rows), len(rows) - new, rejected, errors)

    async def read(self, ask: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._reading, ask, *arguments)

    def close(self) -> None:
        self.bell.close()
        self._taking.shutdown()
        self._writer.close()
        self._reading.shutdown(cancel_futures=True)
        self.database.close()

    def _rows(self, body: bytes, protobuf: bool) -> tuple[list[Row], list[dict[str, Any]], int]:
        payload = payload_of_protobuf(body) if protobuf else parse_json(body)
        rows: list[Row] = []
        errors: list[dict[str, Any]] = []
        rejected = 0
        try:
            for index, event in events_of(payload, self.settings.max_depth):
                if isinstance(event, TraceEvent):
                    rows.append(row_of(event.redacted(self._redactor)))
                    continue
                rejected += 1
                if len(errors) < _MOST_ERRORS:
                    errors.append({"index": index, "error": event})
        except RecursionError:
            raise BadBody("The JSON is nested too deeply. Nothing was stored.") from None
        return rows, errors, rejected
