"""Recall: originals by the handle of an output or a summary, or by words, in one session only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from compact.core.view import kept_positions
from compact.model.message import Message
from compact.ports import Hit
from compact.stores.serialization import decode_rows, record_from
from compact.stores.sql import fulltext
from compact.stores.sql.schema import line_segments, message_parts, messages, records
from compact.stores.words import HANDLE, SPAN, closeness, terms_of, text_of, weighed

_LOOKED_AT = 40
"""How many of the best by words are read, to be ranked by their text."""
_IDS = 400
"""Message ids in one query."""


def find_messages(
    connection: Connection, session: Row[Any], query: str, limit: int, after: int = -1
) -> list[Hit]:
    """Originals after position `after`: those of a summary's handle in order, others best first."""
    if HANDLE.fullmatch(query.strip()):
        return _by_handle(connection, session, query.strip(), limit)
    line, where = session.line, [messages.c.position > after]
    span = SPAN.match(query)
    if span is not None:
        found = _replaced(connection, session, span[1])
        if found is None:
            return []
        line, inside = found
        where += inside
        query = query[span.end() :].strip()
        if not query:
            rows = connection.execute(_on_line(session.id, line, where).limit(limit)).all()
            return [_hit(connection, session, row, float("inf")) for row in rows]
    scores, rarest = _by_words(connection, session, query)
    best = sorted(scores, key=lambda id: (-scores[id], -id))
    hits = []
    for row in _rows(connection, best, _on_line(session.id, line, where), max(_LOOKED_AT, limit)):
        hit = _hit(connection, session, row, scores[row.id])
        hits.append(
            Hit(hit.position, hit.message, hit.score + closeness(query, text_of(hit.message), rarest))
        )
    hits.sort(key=lambda hit: (-hit.score, -hit.position))
    return hits[:limit]


def _by_words(connection: Connection, session: Row[Any], query: str) -> tuple[dict[int, float], float]:
    found: dict[str, Sequence[int]] = {}
    for whole, *pieces in terms_of(query):
        found[whole] = fulltext.holding(connection, session.id, whole)
        if not found[whole]:
            found.update((piece, fulltext.holding(connection, session.id, piece)) for piece in pieces)
    scores = weighed(found, session.message_count)
    return scores, max(scores.values(), default=0.0)


def _by_handle(connection: Connection, session: Row[Any], handle: str, limit: int) -> list[Hit]:
    wanted = (
        select(message_parts.c.message_id)
        .where(message_parts.c.session_id == session.id, message_parts.c.handle == handle)
        .order_by(message_parts.c.message_id.desc())
        .limit(limit)
    )
    ids = list(connection.execute(wanted).scalars())
    # A handle was written down once, so it is valid on an abandoned line, too.
    rows = _rows(connection, ids, select(messages), limit)
    return [_hit(connection, session, row, float("inf")) for row in rows]


def _replaced(connection: Connection, session: Row[Any], handle: str) -> tuple[int, list[Any]] | None:
    """The line and the condition of what the record with this handle replaced in this session.

    The record may belong to another session that began with the same history; then the originals are this
    session's own. A session that never had that history finds nothing.
    """
    named = select(records).where(records.c.tenant == session.tenant, records.c.handle == handle)
    for row in connection.execute(named.order_by(records.c.sequence.desc())):
        record = record_from(row, session.name)
        last = select(messages.c.line).where(
            messages.c.session_id == session.id, messages.c.chain == record.source
        )
        line = connection.execute(last).scalar()
        if line is not None:
            before = messages.c.position < record.source_length
            return line, [before, messages.c.position.not_in(sorted(kept_positions(record)))]
    return None


def _on_line(session_id: int, line: int, where: Sequence[Any]) -> Select[Any]:
    """Messages of this line, in order."""
    through = and_(
        line_segments.c.session_id == messages.c.session_id,
        line_segments.c.line == line,
        line_segments.c.on_line == messages.c.line,
        line_segments.c.start <= messages.c.position,
        line_segments.c.stop > messages.c.position,
    )
    wanted = select(messages).join(line_segments, through).where(messages.c.session_id == session_id, *where)
    return wanted.order_by(messages.c.position)


def _rows(connection: Connection, ids: Sequence[int], wanted: Select[Any], most: int) -> list[Row[Any]]:
    """The first of the wanted ids, in the order of the ids."""
    among = wanted.with_only_columns(messages.c.id).order_by(None)
    found: list[int] = []
    for first in range(0, len(ids), _IDS):
        some = ids[first : first + _IDS]
        there = set(connection.execute(among.where(messages.c.id.in_(some))).scalars())
        found += (id for id in some if id in there)
        if len(found) >= most:
            break
    whole = select(messages).where(messages.c.id.in_(found[:most]))
    rows = {row.id: row for row in connection.execute(whole)}
    return [rows[id] for id in found[:most]]


def _hit(connection: Connection, session: Row[Any], row: Row[Any], score: float) -> Hit:
    return Hit(row.position, _message(connection, session, row), score)


def _message(connection: Connection, session: Row[Any], row: Row[Any]) -> Message:
    """One message; the JSON of its object may be on an earlier row of the same line."""
    if row.raw is not None:
        return next(decode_rows([row], session.name))
    wanted = (
        select(messages)
        .where(
            messages.c.session_id == session.id,
            messages.c.line == row.line,
            messages.c.position.between(row.position - row.part, row.position),
        )
        .order_by(messages.c.position)
    )
    return list(decode_rows(connection.execute(wanted).all(), session.name))[-1]
