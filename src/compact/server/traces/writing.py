"""The one thread that writes: pending events are committed together, and only then acknowledged."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from compact.errors import StoreError
from compact.server.traces.database import TraceDatabase
from compact.server.traces.event import Row, TraceEvent, to_json
from compact.server.traces.merging import is_running, merged
from compact.server.traces.retention import Keeper
from compact.server.traces.settings import Retention

_GROUP = 2_000
"""The most events per transaction, unless a single request has more."""
_IDLE_SECONDS = 5.0


class Writer:
    """`submit` returns at once; its future has the number of new events once they are on disk."""

    def __init__(
        self, database: TraceDatabase, retention: Retention, wake: Callable[[], object] = lambda: None
    ) -> None:
        self._database = database
        self._keeper = Keeper(database, retention)
        self._wake = wake
        # Bounded by the number of requests that are read at a time: each waits for its answer.
        self._waiting: queue.SimpleQueue[tuple[Sequence[Row], Future[int]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="compact-traces-writer", daemon=True)
        self._thread.start()

    def submit(self, rows: Sequence[Row]) -> Future[int]:
        done: Future[int] = Future()
        self._waiting.put((rows, done))
        return done

    def close(self) -> None:
        """Runs after all earlier submissions are written."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        ended = more = False
        while not ended:
            group: list[tuple[Sequence[Row], Future[int]]] = []
            try:
                item = self._waiting.get(timeout=0 if more else _IDLE_SECONDS)
                while item is not None:
                    group.append(item)
                    if sum(len(rows) for rows, _ in group) >= _GROUP:
                        break
                    item = self._waiting.get_nowait()
                ended = item is None
            except queue.Empty:
                pass
            if group:
                self._commit(group)
            if not ended:
                more = self._keeper.sweep_when_due()

    def _commit(self, group: Sequence[tuple[Sequence[Row], Future[int]]]) -> None:
        try:
            with self._database.writing() as connection:
                batch = _Batch(connection)
                news = [sum(batch.add(row) for row in rows) for rows, _ in group]
                batch.finish()
        except Exception as error:
            problem = error if isinstance(error, StoreError) else StoreError(f"Not written: {error}")
            for _, done in group:
                done.set_exception(problem)
            return
        self._keeper.wrote(sum(len(row.body) for rows, _ in group for row in rows))
        self._wake()
        for (_, done), new in zip(group, news, strict=True):
            done.set_result(new)


@dataclass(slots=True)
class _Trace:
    id: int
    name: str | None
    root_name: str | None
    group_id: str | None
    metadata: dict[str, Any]
    started: int | None
    ended: int | None
    status: str | None
    events: int
    spans: int
    errors: int
    running: int
    updated: int = 0
    last_seq: int = 0


@dataclass(slots=True)
class _Span:
    id: int
    merged: TraceEvent | None
    last_seq: int = 0


class _Batch:
    """The rows of one transaction: each is read once, changed here, and written once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._traces: dict[str, _Trace] = {}
        self._spans: dict[tuple[int, str], _Span] = {}
        self._now = time.time_ns() // 1000

    def add(self, row: Row) -> bool:
        """Whether the event is new."""
        event = row.event
        trace = self._trace(event)
        span = None if event.span_id is None else self._span(trace.id, event.span_id)
        at = event.ended or event.started or self._now
        values = (trace.id, span.id if span else 0, row.digest, event.kind, at, self._now, row.body)
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO events (trace, span, digest, kind, at, received, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        if cursor.rowcount == 0:
            return False
        trace.events += 1
        trace.updated = self._now
        trace.last_seq = cursor.lastrowid or 0
        trace.group_id = trace.group_id or event.group_id
        if event.started is not None:
            trace.started = event.started if trace.started is None else min(trace.started, event.started)
        if event.ended is not None:
            trace.ended = event.ended if trace.ended is None else max(trace.ended, event.ended)
        if span is None:
            trace.name = event.name or trace.name
            trace.group_id = event.group_id or trace.group_id
            trace.status = event.status or trace.status
            trace.metadata |= event.data or {}
        else:
            self._count(trace, span, event)
            span.last_seq = trace.last_seq
        return True

    def _count(self, trace: _Trace, span: _Span, event: TraceEvent) -> None:
        before, after = span.merged, merged(span.merged, event)
        trace.spans += before is None
        trace.errors += (after.status == "error") - (before is not None and before.status == "error")
        trace.running += is_running(after) - is_running(before)
        if after.parent_id is None and trace.root_name is None:
            trace.root_name = after.name
        span.merged = after

    def finish(self) -> None:
        run = self._connection.executemany
        run(
            "UPDATE spans SET parent_id=?, kind=?, name=?, started=?, ended=?, status=?, last_seq=?"
            " WHERE id=?",
            [
                (m.parent_id, m.kind, m.name, m.started, m.ended, m.status, span.last_seq, span.id)
                for span in self._spans.values()
                if span.last_seq and (m := span.merged)
            ],
        )
        run(
            "UPDATE traces SET name=?, root_name=?, group_id=?, metadata=?, started=?, ended=?, status=?,"
            " events=?, spans=?, errors=?, running=?, sort=coalesce(?, sort), updated=?, last_seq=?"
            " WHERE id=?",
            [
                (t.name, t.root_name, t.group_id, to_json(t.metadata) if t.metadata else None, t.started,
                 t.ended, t.status, t.events, t.spans, t.errors, t.running, t.started, t.updated,
                 t.last_seq, t.id)
                for t in self._traces.values()
                if t.last_seq
            ],
        )  # fmt: skip

    def _trace(self, event: TraceEvent) -> _Trace:
        trace = self._traces.get(event.trace_id)
        if trace is None:
            found = self._connection.execute(
                "SELECT id, name, root_name, group_id, metadata, started, ended, status, events, spans,"
                " errors, running FROM traces WHERE trace_id=?",
                (event.trace_id,),
            ).fetchone()
            if found is None:
                made = self._connection.execute(
                    "INSERT INTO traces (trace_id, sort, updated) VALUES (?, ?, ?)",
                    (event.trace_id, self._now, self._now),
                )
                trace = _Trace(made.lastrowid or 0, None, None, None, {}, None, None, None, 0, 0, 0, 0)
            else:
                trace = _Trace(*found)
                trace.metadata = json.loads(found["metadata"] or "{}")
            self._traces[event.trace_id] = trace
        return trace

    def _span(self, trace: int, span_id: str) -> _Span:
        span = self._spans.get((trace, span_id))
        if span is None:
            found = self._connection.execute(
                "SELECT id, parent_id, kind, name, started, ended, status FROM spans"
                " WHERE trace=? AND span_id=?",
                (trace, span_id),
            ).fetchone()
            if found is None:
                made = self._connection.execute(
                    "INSERT INTO spans (trace, span_id) VALUES (?, ?)", (trace, span_id)
                )
                span = _Span(made.lastrowid or 0, None)
            else:
                id, parent, kind, name, started, ended, status = found
                span = _Span(id, TraceEvent("", span_id, parent, kind, name, None, started, ended, status))
            self._spans[trace, span_id] = span
        return span
