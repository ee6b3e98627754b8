"""Recall: originals by the handle of a cleared output, or by words, without looking at other sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, select

from compact.model.message import Message
from compact.ports import Hit
from compact.stores import fulltext
from compact.stores.schema import line_segments, message_parts, messages, sessions
from compact.stores.serialization import decode_rows
from compact.stores.words import HANDLE, closeness, terms_of, text_of, weighed

_LOOKED_AT = 40
"""So many of the best by words are read to be ranked by their text."""


def find_messages(
    connection: Connection, named: tuple[Any, ...], session_name: str, query: str, limit: int
) -> list[Hit]:
    session = connection.execute(select(sessions).where(*named)).first()
    if session is None:
        return []
    if HANDLE.fullmatch(query.strip()):
        return _by_handle(connection, session, session_name, query.strip(), limit)
    scores, rarest = _by_words(connection, session, query)
    best = sorted(scores, key=lambda id: (-scores[id], -id))
    hits = []
    for row in _rows(connection, session, best[: max(_LOOKED_AT, limit)], current=True):
        message = _message(connection, session.id, row, session_name)
        text = text_of(message)
        hits.append(Hit(row.position, message, scores[row.id] + closeness(query, text, rarest)))
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


def _by_handle(connection: Connection, session: Row[Any], name: str, handle: str, limit: int) -> list[Hit]:
    wanted = (
        select(message_parts.c.message_id)
        .where(message_parts.c.session_id == session.id, message_parts.c.handle == handle)
        .order_by(message_parts.c.message_id.desc())
        .limit(limit)
    )
    ids = list(connection.execute(wanted).scalars())
    # A handle was written down once, so it holds on a line that was left, too.
    rows = _rows(connection, session, ids, current=False)
    return [Hit(row.position, _message(connection, session.id, row, name), float("inf")) for row in rows]


def _rows(connection: Connection, session: Row[Any], ids: Sequence[int], current: bool) -> list[Row[Any]]:
    if not ids:
        return []
    wanted = select(messages).where(messages.c.id.in_(ids))
    if current:
        wanted = wanted.join(
            line_segments,
            and_(
                line_segments.c.session_id == messages.c.session_id,
                line_segments.c.line == session.line,
                line_segments.c.on_line == messages.c.line,
                line_segments.c.start <= messages.c.position,
                line_segments.c.stop > messages.c.position,
            ),
        )
    rows = {row.id: row for row in connection.execute(wanted)}
    return [rows[id] for id in ids if id in rows]


def _message(connection: Connection, session_id: int, row: Row[Any], name: str) -> Message:
    """One message; the JSON of its object may stand on an earlier row of the same line."""
    if row.raw is not None:
        return next(decode_rows([row], name))
    wanted = (
        select(messages)
        .where(
            messages.c.session_id == session_id,
            messages.c.line == row.line,
            messages.c.position.between(row.position - row.part, row.position),
        )
        .order_by(messages.c.position)
    )
    return list(decode_rows(connection.execute(wanted).all(), name))[-1]
