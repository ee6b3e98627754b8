"""Where new originals go: on the line that they continue, or on a new one if the history forks.

The chain hash of a message identifies it together with everything before it. So a message that is already
stored is recognized wherever it is, and one that differs can never take another's place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, func, select

from compact.core.view import START
from compact.errors import HistoryGone
from compact.stores.sql.schema import OPEN, line_segments, messages, sessions

# Built once: every stored message uses both.
_AT = select(messages.c.line, messages.c.position).where(
    messages.c.session_id == bindparam("session"), messages.c.chain == bindparam("chain")
)
_TAKEN = select(messages.c.id).where(
    messages.c.session_id == bindparam("session"),
    messages.c.line == bindparam("line"),
    messages.c.position == bindparam("position"),
)


@dataclass(frozen=True, slots=True)
class Placing:
    """How many of the messages are new, and which line they go on."""

    known: int
    line: int


def place(
    connection: Connection,
    session: Row[Any],
    start: int,
    previous: bytes,
    chains: Sequence[bytes],
    detached: bool = False,
) -> Placing:
    """Find the line for originals from `start` on, whose chain so far is `previous`; create it if needed.

    Raises HistoryGone if the session does not hold what comes before them, unless `detached`.
    """
    last = _at(connection, session.id, chains[-1]) if chains else None
    if last is not None:
        return Placing(len(chains), _holding(connection, session, last))
    # A prefix of them may be stored: chains that exist come before those that do not.
    known = bisect_left(
        range(max(0, len(chains) - 1)), 1, key=lambda n: _at(connection, session.id, chains[n]) is None
    )
    anchor = _at(connection, session.id, chains[known - 1] if known else previous)
    position = start + known
    if anchor is None and previous != START and not detached:
        raise HistoryGone(session.name, start)
    if not chains:
        return Placing(0, session.line)
    if anchor is None:
        return Placing(known, _new_line(connection, session.id, position, None))
    if _taken(connection, session.id, anchor.line, position):
        return Placing(known, _new_line(connection, session.id, position, anchor.line))
    return Placing(known, anchor.line)


def _at(connection: Connection, session_id: int, chain: bytes) -> Row[Any, Any] | None:
    return connection.execute(_AT, {"session": session_id, "chain": chain}).first()


def _taken(connection: Connection, session_id: int, line: int, position: int) -> bool:
    where = {"session": session_id, "line": line, "position": position}
    return connection.execute(_TAKEN, where).first() is not None


def _holding(connection: Connection, session: Row[Any], message: Row[Any, Any]) -> int:
    """The current line if it runs through this message, else the one that the message was first stored on."""
    through = select(line_segments.c.line).where(
        line_segments.c.session_id == session.id,
        line_segments.c.line == session.line,
        line_segments.c.on_line == message.line,
        line_segments.c.start <= message.position,
        line_segments.c.stop > message.position,
    )
    return int(session.line if connection.execute(through).first() is not None else message.line)


def _new_line(connection: Connection, session_id: int, position: int, parent: int | None) -> int:
    of_session = line_segments.c.session_id == session_id
    newest = connection.execute(select(func.max(line_segments.c.line)).where(of_session)).scalar()
    line = 0 if newest is None else int(newest) + 1
    segments = []
    if parent is not None:
        shared = (
            select(line_segments)
            .where(of_session, line_segments.c.line == parent, line_segments.c.start < position)
            .order_by(line_segments.c.start)
        )
        segments = [
            {"start": part.start, "stop": min(part.stop, position), "on_line": part.on_line}
            for part in connection.execute(shared)
        ]
    segments.append({"start": position, "stop": OPEN, "on_line": line})
    rows = [{"session_id": session_id, "line": line, **segment} for segment in segments]
    connection.execute(line_segments.insert(), rows)
    return line


def on_line(*columns: Any, line: Any = sessions.c.line) -> Select[Any]:
    """Messages of a line of a session, by default the current one; one query, however often it forked."""
    joined = sessions.join(
        line_segments,
        and_(line_segments.c.session_id == sessions.c.id, line_segments.c.line == line),
    ).join(
        messages,
        and_(
            messages.c.session_id == line_segments.c.session_id,
            messages.c.line == line_segments.c.on_line,
            messages.c.position >= line_segments.c.start,
            messages.c.position < line_segments.c.stop,
        ),
    )
    return select(*columns).select_from(joined).order_by(line_segments.c.start, messages.c.position)
