"""Delete whole traces when there is too much, least recently active first."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable

from compact.errors import StoreError
from compact.server.http.settings import MEGABYTE
from compact.server.traces.database import TraceDatabase
from compact.server.traces.settings import DAY, Retention

_SLACK = 0.9
"""A full database is reduced to this share of its limit, so that most commits need no sweep."""
_AT_A_TIME = 20
_TRIMMED = 2_000
_PAGES = 2_000


class Keeper:
    """Sweeps on the writer's thread, a little at a time, so that writes do not wait long."""

    def __init__(
        self, database: TraceDatabase, retention: Retention, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._retention = retention
        self._clock = clock
        self._due = 0.0
        self._written = 0
        self._shrinking = False

    def wrote(self, count: int) -> None:
        """Sweeps early if many events arrive at once."""
        self._written += count
        if self._retention.megabytes and self._written > self._retention.megabytes * MEGABYTE / 20:
            self._due = 0.0

    def sweep_when_due(self) -> bool:
        """Whether to sweep again right away."""
        if time.monotonic() < self._due:
            return False
        try:
            more = self.sweep()
        except (StoreError, sqlite3.Error) as error:
            # The next round tries again; keeping something too long does no harm until then.
            print(f"[compact traces] {error}", file=sys.stderr)
            more = False
        if not more:
            self._written = 0
            self._due = time.monotonic() + self._retention.every_seconds
        return more

    def sweep(self) -> bool:
        """Deletes part of the excess; returns True while there may be more."""
        keep = self._retention
        gone = 0
        with self._database.writing() as connection:
            if keep.days:
                before = int((self._clock() - keep.days * DAY) * 1_000_000)
                gone += _drop(connection, "updated < ?", before)
            if keep.traces:
                [count] = connection.execute("SELECT count(*) FROM traces").fetchone()
                gone += _drop(connection, "true", limit=min(_AT_A_TIME, max(0, count - keep.traces)))
            if keep.megabytes:
                limit = keep.megabytes * MEGABYTE * (_SLACK if self._shrinking else 1)
                self._shrinking = _used(connection) > limit
                if self._shrinking:
                    gone += _shrink(connection)
        if gone:
            # What is deleted goes back to the disk in portions too. (`execute` would free a single page.)
            self._database.connection().executescript(f"PRAGMA incremental_vacuum({_PAGES})")
        return bool(gone)


def _used(connection: sqlite3.Connection) -> int:
    [pages], [free], [size] = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _shrink(connection: sqlite3.Connection) -> int:
    ids = [found["id"] for found in connection.execute("SELECT id FROM traces ORDER BY updated, id LIMIT 2")]
    if len(ids) != 1:
        return _drop(connection, "true", limit=1)
    # The only trace there is, and too large: it loses its beginning rather than everything.
    [trace] = ids
    [cut] = connection.execute(
        "SELECT max(seq) FROM (SELECT seq FROM events WHERE trace=? ORDER BY seq LIMIT ?)", (trace, _TRIMMED)
    ).fetchone()
    if cut is None:
        return 0
    connection.execute("DELETE FROM events WHERE trace=? AND seq<=?", (trace, cut))
    connection.execute("DELETE FROM spans WHERE trace=? AND last_seq<=?", (trace, cut))
    connection.execute(
        "UPDATE traces SET events=(SELECT count(*) FROM events WHERE trace=traces.id),"
        " (spans, errors, running)=(SELECT count(*), count(*) FILTER (WHERE status='error'),"
        " count(*) FILTER (WHERE started IS NOT NULL AND ended IS NULL) FROM spans WHERE trace=traces.id)"
        " WHERE id=?",
        (trace,),
    )
    return 1


def _drop(connection: sqlite3.Connection, which: str, *values: int, limit: int = _AT_A_TIME) -> int:
    ids = [
        (found["id"],)
        for found in connection.execute(
            f"SELECT id FROM traces WHERE {which} ORDER BY updated, id LIMIT ?", (*values, limit)
        )
    ]
    connection.executemany("DELETE FROM events WHERE trace=?", ids)
    connection.executemany("DELETE FROM spans WHERE trace=?", ids)
    connection.executemany("DELETE FROM traces WHERE id=?", ids)
    return len(ids)
