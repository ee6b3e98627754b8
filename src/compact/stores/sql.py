"""Sessions in a database: SQLite on one machine, PostgreSQL for a team. The Store port, durable."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Row, Select, select, update

from compact.core.view import START, links
from compact.errors import StoreError
from compact.model.message import Message
from compact.ports import Hit
from compact.stores import fulltext
from compact.stores.database import Database
from compact.stores.finding import find_messages
from compact.stores.lines import on_current_line, place
from compact.stores.records import Records
from compact.stores.schema import line_segments, message_parts, messages, sessions
from compact.stores.serialization import decode_rows, message_rows, part_rows
from compact.stores.threads import free_lease
from compact.stores.words import words_of

_BATCH = 200
"""Rows written at a time."""
_PAGE_BYTES = 4_000_000
"""About so much is held in memory when a session is read."""


class SqlStore(Records):
    """The Store port on a database. One store serves many threads; every process opens its own.

    `clock` dates rows. Leases go by the database's time instead, so a wrong clock delays nobody.
    """

    def __init__(
        self,
        url: str,
        tenant: str = "default",
        *,
        wait_seconds: float = 15.0,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(Database(url, wait_seconds, monotonic), tenant, clock)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> SqlStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- originals -----------------------------------------------------------------------------------------

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
        chains = list(keys) or links(previous, messages)
        with self.database.writing() as connection:
            session = self.session_row(connection, session_id)
            assert session is not None
            placing = place(connection, session, start, previous, chains)
            known = placing.known
            tokens = self._insert(
                connection,
                (session.id, placing.line, start + known),
                messages[known:],
                chains[known:],
                sizes[known:],
                format,
            )
            if known == len(messages) and placing.line == session.line:
                return
            changes = {"line": placing.line, "updated_at": self._clock(), "tokens": session.tokens + tokens}
            if known < len(messages):
                changes["message_count"] = start + len(messages)
            connection.execute(update(sessions).where(sessions.c.id == session.id).values(**changes))

    def _insert(
        self,
        connection: Connection,
        at: tuple[int, int, int],
        fresh: Sequence[Message],
        chains: Sequence[bytes],
        sizes: Sequence[int],
        format: str,
    ) -> int:
        session_id, line, start = at
        now = self._clock()
        total = 0
        rows = message_rows(start, fresh, chains, sizes, format, now)
        for first in range(0, len(fresh), _BATCH):
            batch = fresh[first : first + _BATCH]
            values = [{"session_id": session_id, "line": line, **next(rows)} for _ in batch]
            total += sum(row["tokens"] or 0 for row in values)
            inserted = messages.insert().returning(messages.c.id, sort_by_parameter_order=True)
            ids = connection.execute(inserted, values).scalars().all()
            parts: list[dict[str, Any]] = []
            indexed: list[tuple[int, set[str]]] = []
            for id, message, row in zip(ids, batch, values, strict=True):
                own = list(part_rows(message, row["tokens"], now))
                parts += ({"message_id": id, "session_id": session_id, **part} for part in own)
                indexed.append((id, words_of("\n".join(part["content"] for part in own))))
            if parts:
                connection.execute(message_parts.insert(), parts)
            fulltext.index(connection, session_id, indexed)
        return total

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """The current line, in order; memory is bounded by a few megabytes and the largest message."""
        wanted = on_current_line(*_COLUMNS).where(*self._named(session_id))
        if stop is not None:
            wanted = wanted.where(messages.c.position < stop)
        return self._decoded(wanted, session_id, start)

    def end(self, session_id: str) -> tuple[int, bytes]:
        """Where the current line ends: the position of the next message, and the chain hash so far."""
        last = on_current_line(messages.c.position, messages.c.chain).where(*self._named(session_id))
        last = last.order_by(None).order_by(line_segments.c.start.desc(), messages.c.position.desc()).limit(1)
        with self.database.reading() as connection:
            row = connection.execute(last).first()
        return (0, START) if row is None else (int(row.position) + 1, bytes(row.chain))

    def since_last_compaction(self, session_id: str) -> list[Message]:
        """The originals that the last compaction left as they are, and all that came after it (S2.15)."""
        wanted = on_current_line(*_COLUMNS).where(
            *self._named(session_id), messages.c.position >= sessions.c.compacted_length
        )
        return list(self._decoded(wanted, session_id, 0))

    def _decoded(self, wanted: Select[Any], session_id: str, start: int) -> Iterator[Message]:
        group: list[Row[Any]] = []
        at = max(0, start - self._part_at(session_id, start)) if start else 0
        for row in self._pages(wanted, at):
            if group and row.part == 0:
                yield from _from(group, start, session_id)
                group = []
            group.append(row)
        yield from _from(group, start, session_id)

    def _part_at(self, session_id: str, position: int) -> int:
        """How far into its object a message stands: the object's JSON is on an earlier row."""
        wanted = on_current_line(messages.c.part).where(
            *self._named(session_id), messages.c.position == position
        )
        with self.database.reading() as connection:
            return connection.execute(wanted).scalar() or 0

    def _pages(self, wanted: Select[Any], at: int) -> Iterator[Row[Any]]:
        """Rows in short reads, so that a slow reader holds no transaction open."""
        count = 16
        while True:
            page = wanted.where(messages.c.position >= at).limit(count)
            with self.database.reading() as connection:
                rows = connection.execute(page).all()
            yield from rows
            if len(rows) < count:
                return
            at = rows[-1].position + 1
            size = sum(len(row.raw or "") for row in rows)
            count = max(1, min(1_000, count * _PAGE_BYTES // max(size, 1), count * 4))

    # -- leases and recall ---------------------------------------------------------------------------------

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        owner = uuid.uuid4().hex
        granted = self._take(session_id, owner, seconds)
        try:
            yield granted
        finally:
            if granted:
                # A lease that cannot be given back expires.
                with suppress(StoreError):
                    self._give_back(owner, session_id)

    def _take(self, session_id: str, owner: str, seconds: float) -> bool:
        with self.database.writing() as connection:
            session = self.session_row(connection, session_id)
            assert session is not None
            # Read under the lock: a lease taken while we waited for it would else begin in the future.
            now = self.database.now()
            values = {
                "currently_compacting": owner,
                "compacting_since": now,
                "compacting_until": now + seconds,
            }
            taken = update(sessions).where(sessions.c.id == session.id, free_lease(now)).values(**values)
            return connection.execute(taken).rowcount == 1

    def _give_back(self, owner: str, session_id: str) -> None:
        nobody = {"currently_compacting": None, "compacting_since": None, "compacting_until": None}
        mine = (*self._named(session_id), sessions.c.currently_compacting == owner)
        with self.database.writing() as connection:
            connection.execute(update(sessions).where(*mine).values(**nobody))

    def search(self, session_id: str, query: str, limit: int = 5, after: int = -1) -> list[Hit]:
        """Originals by handle or by words; by words only those of the current line."""
        with self.database.reading() as connection:
            row = connection.execute(select(sessions).where(*self._named(session_id))).first()
            return [] if row is None else find_messages(connection, row, query, limit, after)


_COLUMNS = (
    messages.c.id,
    messages.c.position,
    messages.c.digest,
    messages.c.format,
    messages.c.raw,
    messages.c.part,
)


def _from(group: Sequence[Row[Any]], start: int, session_id: str) -> Iterator[Message]:
    first = group[0].position if group else 0
    decoded = decode_rows(group, session_id)
    yield from (message for position, message in enumerate(decoded, first) if position >= start)
