"""Queries of the trace database: traces, one trace as a tree, a span, the log from a position on."""

from __future__ import annotations

import base64
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from compact.server.http.settings import MEGABYTE
from compact.server.traces.database import COMPACTED, TraceDatabase
from compact.server.traces.event import TraceEvent
from compact.server.traces.merging import merged
from compact.server.traces.showing import event_of_body, light, shown_place, shown_span, shown_trace
from compact.server.traces.tree import in_order

_PAGE_EVENTS = 500
_PAGE_BYTES = MEGABYTE
_TREE_BYTES = 32 * MEGABYTE
MAX_SPANS = 20_000


class TooSlow(Exception):
    """The query takes too long."""


@dataclass(frozen=True, kw_only=True)
class TraceQuery:
    limit: int = 50
    cursor: str | None = None
    name: str | None = None
    group: str | None = None
    status: str | None = None
    since: int | None = None
    until: int | None = None
    text: str | None = None
    min_ms: float = 0
    compacted: bool = False


@dataclass(frozen=True, kw_only=True)
class Follow:
    """Which events a reader wants. Kinds are kinds of spans; events about traces are always included."""

    trace_id: str | None = None
    kinds: frozenset[str] = frozenset()
    since: int | None = None


class Reader:
    def __init__(self, database: TraceDatabase, patience: float = 30.0) -> None:
        self._database = database
        self._patience = patience

    def last_seq(self) -> int:
        with self._database.reading() as connection:
            return _last_seq(connection)

    def counts(self) -> dict[str, int]:
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT count(*) AS traces, coalesce(sum(spans), 0) AS spans,"
                " coalesce(sum(events), 0) AS events FROM traces"
            ).fetchone()
            return dict(row)

    def page(self, after: int, follow: Follow) -> tuple[list[tuple[int, str]], int]:
        """The next events as (sequence, JSON), and the sequence up to which everything has been read."""
        where = ["e.seq > ?"]
        values: list[str | float] = [after]
        if follow.trace_id is not None:
            where.append("e.trace = (SELECT id FROM traces WHERE trace_id = ?)")
            values.append(follow.trace_id)
        if follow.kinds:
            where.append(f"(e.span = 0 OR e.kind IN ({_marks(follow.kinds)}))")
            values += follow.kinds
        if follow.since is not None:
            where.append("e.at >= ?")
            values.append(follow.since)
        sql = f"SELECT seq, body FROM events e WHERE {' AND '.join(where)} ORDER BY seq LIMIT {_PAGE_EVENTS}"
        with self._database.reading() as connection:
            newest = _last_seq(connection)
            found: list[tuple[int, str]] = []
            size = 0
            cursor = connection.execute(sql, values)
            for seq, body in cursor:
                found.append((seq, body))
                size += len(body)
                if size >= _PAGE_BYTES:
                    break
            cursor.close()
        full = size >= _PAGE_BYTES or len(found) == _PAGE_EVENTS
        return found, found[-1][0] if full else max(newest, after)

    def traces(self, query: TraceQuery) -> dict[str, Any]:
        where, values = _conditions(query)
        counted, counted_values = " AND ".join(where) or "true", list(values)
        if query.cursor:
            where.append("(sort, id) < (?, ?)")
            values += _place(query.cursor)
        sql = (
            f"SELECT * FROM traces WHERE {' AND '.join(where) or 'true'} ORDER BY sort DESC, id DESC LIMIT ?"
        )
        with self._patiently() as connection:
            rows = connection.execute(sql, (*values, query.limit + 1)).fetchall()
            total = None
            if not query.text:
                [total] = connection.execute(
                    f"SELECT count(*) FROM traces WHERE {counted}", counted_values
                ).fetchone()
            shown = rows[: query.limit]
            compactions = _compactions(connection, shown)
        more = len(rows) > query.limit
        return {
            "traces": [shown_trace(row, compactions.get(row["id"], 0)) for row in shown],
            "next_cursor": _cursor(shown[-1]) if more else None,
            "total": total,
        }

    def trace(self, trace_id: str, with_data: bool = True, limit: int = MAX_SPANS) -> dict[str, Any] | None:
        """A trace and its spans, in the order of its tree."""
        with self._patiently() as connection:
            row = connection.execute("SELECT * FROM traces WHERE trace_id = ?", (trace_id,)).fetchone()
            if row is None:
                return None
            spans = {
                found["span_id"]: light(trace_id, found)
                for found in connection.execute(
                    "SELECT * FROM spans WHERE trace = ? ORDER BY id LIMIT ?", (row["id"], limit)
                )
            }
            data, whole = _data(connection, row["id"]) if with_data else ({}, True)
            compactions = _compactions(connection, [row])
        placed = list(in_order(spans))
        return {
            **shown_trace(row, compactions.get(row["id"], 0)),
            "spans": [shown_place(place, row["started"], data if with_data else None) for place in placed],
            "truncated": row["spans"] > len(spans),
            "data_complete": whole and with_data,
        }

    def spans(self, span_id: str, trace_id: str | None = None) -> list[dict[str, Any]]:
        """The spans with this id, newest first: an id is unique only within its trace."""
        with self._patiently() as connection:
            rows = connection.execute(
                "SELECT s.*, t.trace_id, t.started AS trace_started"
                " FROM spans s JOIN traces t ON t.id = s.trace WHERE s.span_id = ?"
                " AND (? IS NULL OR t.trace_id = ?) ORDER BY s.id DESC LIMIT 20",
                (span_id, trace_id, trace_id),
            ).fetchall()
            made = []
            for row in rows:
                span: TraceEvent | None = None
                for event in connection.execute(
                    "SELECT body FROM events WHERE trace = ? AND span = ? ORDER BY seq",
                    (row["trace"], row["id"]),
                ):
                    span = merged(span, event_of_body(event["body"]))
                [children] = connection.execute(
                    "SELECT count(*) FROM spans WHERE trace = ? AND parent_id = ?", (row["trace"], span_id)
                ).fetchone()
                found = span or light(row["trace_id"], row)
                made.append(
                    {
                        "trace_id": row["trace_id"],
                        **shown_span(found, row["trace_started"]),
                        "children": children,
                        "data": found.data or {},
                    }
                )
            return made

    @contextmanager
    def _patiently(self) -> Iterator[sqlite3.Connection]:
        """A search over everything must not hold a thread forever."""
        deadline = time.monotonic() + self._patience
        with self._database.reading() as connection:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 1_000)
            try:
                yield connection
            except sqlite3.OperationalError as error:
                if "interrupted" in str(error):
                    raise TooSlow from error
                raise
            finally:
                connection.set_progress_handler(None, 0)


def _conditions(query: TraceQuery) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    if query.name:
        where.append("coalesce(name, root_name, '') LIKE ? ESCAPE '\\'")
        values.append(_like(query.name))
    if query.group:
        where.append("group_id = ?")
        values.append(query.group)
    if query.status == "error":
        where.append("(errors > 0 OR status = 'error')")
    elif query.status == "running":
        where.append("running > 0 AND errors = 0 AND status IS NOT 'error'")
    elif query.status == "ok":
        where.append("running = 0 AND errors = 0 AND status IS NOT 'error'")
    if query.since is not None:
        where.append("coalesce(ended, updated) >= ?")
        values.append(query.since)
    if query.until is not None:
        where.append("sort <= ?")
        values.append(query.until)
    if query.text:
        where.append(
            "EXISTS (SELECT 1 FROM events e WHERE e.trace = traces.id AND e.body LIKE ? ESCAPE '\\')"
        )
        values.append(_like(json.dumps(query.text, ensure_ascii=False)[1:-1]))
    if query.min_ms:
        where.append("ended - started >= ?")
        values.append(round(query.min_ms * 1000))
    if query.compacted:
        where.append(f"EXISTS (SELECT 1 FROM spans s WHERE s.trace = traces.id AND s.name = '{COMPACTED}')")
    return where, values


def _compactions(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> dict[int, int]:
    """The number of compactions in each of these traces."""
    sql = (
        f"SELECT trace, count(*) FROM spans WHERE name = '{COMPACTED}'"
        f" AND trace IN ({_marks(rows)}) GROUP BY trace"
    )
    return dict(connection.execute(sql, [row["id"] for row in rows]).fetchall())


def _like(text: str) -> str:
    for special in "\\%_":
        text = text.replace(special, "\\" + special)
    return f"%{text}%"


def _marks(values: Sequence[Any] | frozenset[Any]) -> str:
    return ",".join("?" * len(values))


def _last_seq(connection: sqlite3.Connection) -> int:
    # Of all that were ever given, also where the newest events are deleted.
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    return int(found[0]) if found else 0


def _data(connection: sqlite3.Connection, trace: int) -> tuple[dict[str, Any], bool]:
    """The merged data of each span, and whether all of it fit."""
    spans: dict[str, TraceEvent] = {}
    size = 0
    for [body] in connection.execute(
        "SELECT body FROM events WHERE trace = ? AND span > 0 ORDER BY seq", (trace,)
    ):
        size += len(body)
        if size > _TREE_BYTES:
            return {span_id: span.data for span_id, span in spans.items()}, False
        event = event_of_body(body)
        assert event.span_id is not None
        spans[event.span_id] = merged(spans.get(event.span_id), event)
    return {span_id: span.data for span_id, span in spans.items()}, True


def _cursor(row: sqlite3.Row) -> str:
    return base64.urlsafe_b64encode(f"{row['sort']}.{row['id']}".encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[int, int]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        sort, _, id = base64.urlsafe_b64decode(padded.encode()).decode().partition(".")
        place = int(sort), int(id)
        if not all(abs(number) < 2**63 for number in place):
            raise ValueError("too large")
        return place
    except ValueError:
        raise ValueError("The cursor is not valid; start without one.") from None
