"""Originals in a database: appended, read in order, searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select, update

from compact.core.view import START, links
from compact.model.message import Message
from compact.ports import Hit
from compact.stores.serialization import decode_rows, message_rows, part_rows
from compact.stores.sql import fulltext
from compact.stores.sql.finding import find_messages
from compact.stores.sql.lines import on_line, place
from compact.stores.sql.schema import line_segments, message_parts, messages, sessions
from compact.stores.sql.session_rows import SessionRows
from compact.stores.words import words_of

_BATCH = 200
"""Rows written at a time."""
_PAGE_BYTES = 4_000_000
"""About this much is held in memory when a session is read."""

# Built once: a chat runs it several times per turn, and building it takes longer than running it.
_END = (
    on_line(messages.c.position, messages.c.chain)
    .where(sessions.c.tenant == bindparam("tenant"), sessions.c.name == bindparam("name"))
    .order_by(None)
    .order_by(line_segments.c.start.desc(), messages.c.position.desc())
    .limit(1)
)


class SqlOriginals:
    """The originals of the `Store` port, and the `Searchable` port."""

    def __init__(self, rows: SessionRows) -> None:
        self._rows = rows
        self._database = rows.database

    def append(
        self,
        session_id: str,
        start: int,
        messages: Sequence[Message],
        previous: bytes,
        format: str,
        sizes: Sequence[int],
        keys: Sequence[bytes],
        detached: bool,
    ) -> None:
        chains = list(keys) or links(previous, messages)
        with self._database.writing() as connection:
            session = self._rows.locked(connection, session_id)
            placing = place(connection, session, start, previous, chains, detached)
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
            changes = {
                "line": placing.line,
                "updated_at": self._rows.clock(),
                "tokens": session.tokens + tokens,
            }
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
        now = self._rows.clock()
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

    def originals(self, session_id: str, start: int, stop: int | None) -> Iterator[Message]:
        """The current line, in order; memory is bounded by a few megabytes and the largest message."""
        wanted = on_line(*_COLUMNS).where(*self._rows.named(session_id))
        if stop is not None:
            wanted = wanted.where(messages.c.position < stop)
        return self._decoded(wanted, session_id, start)

    def originals_up_to(self, session_id: str, key: bytes) -> Iterator[Message]:
        """The line that holds the message with this chain hash, up to that message."""
        held = select(messages.c.line, messages.c.position).join(sessions)
        held = held.where(*self._rows.named(session_id), messages.c.chain == key)
        with self._database.reading() as connection:
            last = connection.execute(held).first()
        if last is None:
            return iter(())
        wanted = on_line(*_COLUMNS, line=last.line).where(
            *self._rows.named(session_id), messages.c.position <= last.position
        )
        return self._decoded(wanted, session_id, 0)

    def end(self, session_id: str) -> tuple[int, bytes]:
        """Where the current line ends: the position of the next message, and the chain hash so far."""
        with self._database.reading() as connection:
            row = connection.execute(_END, {"tenant": self._rows.tenant, "name": session_id}).first()
        return (0, START) if row is None else (int(row.position) + 1, bytes(row.chain))

    def since_last_compaction(self, session_id: str) -> list[Message]:
        """The originals that the last compaction left unchanged, and everything after it (S2.15)."""
        wanted = on_line(*_COLUMNS).where(
            *self._rows.named(session_id), messages.c.position >= sessions.c.compacted_length
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
        """A message's offset in its object: the object's JSON is on an earlier row."""
        wanted = on_line(messages.c.part).where(
            *self._rows.named(session_id), messages.c.position == position
        )
        with self._database.reading() as connection:
            return connection.execute(wanted).scalar() or 0

    def _pages(self, wanted: Select[Any], at: int) -> Iterator[Row[Any]]:
        """Rows in short reads, so that a slow reader holds no transaction open."""
        count = 16
        while True:
            page = wanted.where(messages.c.position >= at).limit(count)
            with self._database.reading() as connection:
                rows = connection.execute(page).all()
            yield from rows
            if len(rows) < count:
                return
            at = rows[-1].position + 1
            size = sum(len(row.raw or "") for row in rows)
            count = max(1, min(1_000, count * _PAGE_BYTES // max(size, 1), count * 4))

    def search(self, session_id: str, query: str, limit: int, after: int) -> list[Hit]:
        """Originals by handle or by words; by words only those of the current line."""
        with self._database.reading() as connection:
            row = connection.execute(select(sessions).where(*self._rows.named(session_id))).first()
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
