"""The SQLite file of the trace service: events as a log, and the spans and traces merged from it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compact.errors import StoreError
from compact.stores.private_file import make_private

_VERSION = 1
COMPACTED = "compact.pruned_messages"
"""The name of the span for each compaction that changed the prompt."""
_SCHEMA = """
CREATE TABLE traces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    trace_id TEXT NOT NULL UNIQUE,
    name TEXT, root_name TEXT, group_id TEXT, metadata TEXT,
    started INTEGER, ended INTEGER,
    status TEXT,
    events INTEGER NOT NULL DEFAULT 0, spans INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0, running INTEGER NOT NULL DEFAULT 0,
    sort INTEGER NOT NULL, updated INTEGER NOT NULL, last_seq INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX traces_by_start ON traces (sort, id);
CREATE INDEX traces_by_update ON traces (updated);
CREATE INDEX traces_by_group ON traces (group_id);
CREATE TABLE spans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    trace INTEGER NOT NULL, span_id TEXT NOT NULL,
    parent_id TEXT, kind TEXT, name TEXT, started INTEGER, ended INTEGER, status TEXT,
    last_seq INTEGER NOT NULL DEFAULT 0,
    UNIQUE (trace, span_id)
);
CREATE INDEX spans_by_id ON spans (span_id);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    trace INTEGER NOT NULL,
    span INTEGER NOT NULL,
    digest BLOB NOT NULL,
    kind TEXT, at INTEGER NOT NULL, received INTEGER NOT NULL, body TEXT NOT NULL,
    UNIQUE (trace, span, digest)
);
CREATE INDEX events_by_trace ON events (trace, seq);
"""


class TraceDatabase:
    """Opens the file, created if missing; one connection per thread."""

    def __init__(self, path: Path, wait_seconds: float = 15.0) -> None:
        self.path = path
        self._wait = wait_seconds
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        with self.translating_errors("opened"):
            # Traces hold what was said: only their owner may read them.
            make_private(self.path)
            connection = self.connection()
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._make_tables(connection)
                # Files made before this index get it here; it needs no other version of the schema.
                connection.execute(
                    f"CREATE INDEX IF NOT EXISTS spans_compacted ON spans (trace) WHERE name = '{COMPACTED}'"
                )
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                self.close()
                raise

    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = sqlite3.connect(
                self.path,
                timeout=self._wait,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=64,
            )
            found.row_factory = sqlite3.Row
            # A commit is with the system when it returns: it survives the process, but not a power failure.
            for pragma in ("synchronous=NORMAL", "journal_size_limit=67108864", "temp_store=MEMORY"):
                found.execute(f"PRAGMA {pragma}").fetchall()
            self._local.connection = found
            with self._lock:
                self._open.append(found)
        return found

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """All statements inside see the same state of the database."""
        with self.translating_errors("read"):
            connection = self.connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; on disk when it exits."""
        with self.translating_errors("written"):
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def translating_errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The trace database {self.path} could not be {done}: {error}. What was stored before is "
                "unchanged; see that the file is a trace database and the disk has room."
            ) from error

    def close(self) -> None:
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise StoreError(
                f"The trace database {self.path} has schema {version}; this Compact knows {_VERSION}. "
                "Nothing was changed. Install the version of Compact that made it, or name another file."
            )
        if version == _VERSION:
            return
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise StoreError(
                f"{self.path} is a database of something else. Nothing was changed; name another with --db."
            )
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={_VERSION}")
