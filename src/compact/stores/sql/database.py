"""A database connection pool with the transactions, timeouts and errors that the store relies on."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Double, Engine, cast, create_engine, event, extract, func, literal, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import StaticPool
from sqlalchemy.sql import ColumnElement

from compact.errors import ConfigError, MissingExtra, StoreError
from compact.stores.private_file import make_private

HEAD = "0004"
"""The newest migration; an existing database at this version need not read the migrations."""

_MIGRATION_LOCK = 0x636F6D70
_WRITE = "compact_write"
_UNCHANGED = "The session is unchanged"
ASK_THE_OWNER = "Try again, or ask whoever runs the server; its log has the reason."
"""What an error advises that must not say more."""
_SQLITE_DRIVERS = ("sqlite", "sqlite+pysqlite", "sqlite+aiosqlite")
"""All for the same files, so that a URL of another program can be copied."""
_AGAIN_SECONDS = 0.01
_PAGE_BYTES = 8_192
"""For a new file. Messages of 2 to 4 kB, like most tool outputs, leave much of a 4 kB page empty."""


class Database:
    """SQLite or PostgreSQL, opened and migrated to the newest schema.

    SQLite runs in WAL mode with one writer at a time: a write transaction takes the lock when it begins, so
    it never fails halfway. `wait_seconds` is how long to wait for somebody else's lock.
    """

    def __init__(
        self, url: str, wait_seconds: float = 15.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.url = database_url(url)
        self.wait_seconds = wait_seconds
        self._monotonic = monotonic
        self._joined = threading.local()
        self._turn = threading.Lock()
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.is_private = self.is_sqlite and self.url.database in (None, "", ":memory:")
        """Whether it is in this process's memory, behind one connection."""
        self.shown = self.url.render_as_string(hide_password=True)
        self.is_discreet = False
        """Errors say neither where the database is nor what it said: others than its owner read them."""
        self.engine = self._sqlite() if self.is_sqlite else self._postgresql()
        try:
            self._migrate()
        except BaseException:
            self.engine.dispose()
            raise

    def now(self) -> ColumnElement[float]:
        """The time by which leases expire; setting a machine's clock does not change it.

        PostgreSQL: the server's own. SQLite: the machine's time since boot, which all its processes share.
        """
        if self.is_sqlite:
            return literal(self._monotonic())
        return cast(extract("epoch", func.clock_timestamp()), Double())

    def holds(self, column: ColumnElement[str], part: str) -> ColumnElement[bool]:
        """Whether a text contains this part, ignoring case in any script."""
        if self.is_sqlite:
            return func.compact_folded(column).contains(_folded(part), autoescape=True)
        return func.lower(column).contains(part.lower(), autoescape=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        open: Connection | None = getattr(self._joined, "connection", None)
        if open is not None:
            yield open
            return
        with self._translating_errors("read"), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, otherwise: str = _UNCHANGED) -> Iterator[Connection]:
        """All or nothing, and visible to everybody when it exits.

        What the same thread reads and writes inside is part of it. `otherwise` says what state things are in
        if it fails.
        """
        open: Connection | None = getattr(self._joined, "connection", None)
        if open is not None:
            yield open
            return
        with self._translating_errors("written", otherwise), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITE: True})
            with connection.begin():
                self._joined.connection = connection
                try:
                    yield connection
                finally:
                    self._joined.connection = None

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _translating_errors(self, done: str, otherwise: str = _UNCHANGED) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            cause = _cause(error)
            raise self._failed(done, cause, otherwise, _advice(cause)) from error
        except UnicodeDecodeError as error:
            # The driver's own error, for a schema that is no longer text.
            damaged = f"the file is damaged ({error})"
            advice = "Restore it from a backup, or name another database"
            raise self._failed(done, damaged, "Nothing was changed", advice) from error
        except SQLAlchemyError as error:
            cause = str(error).rstrip(".")
            raise self._failed(done, cause, otherwise, _advice(cause)) from error

    def _failed(self, done: str, cause: str, otherwise: str, advice: str) -> StoreError:
        if self.is_discreet:
            return StoreError(f"The session store could not be {done}. {otherwise}. {ASK_THE_OWNER}")
        return StoreError(
            f"The session store {self.shown} could not be {done}: {cause}. {otherwise}. {advice}."
        )

    def _sqlite(self) -> Engine:
        options: dict[str, Any] = {"connect_args": {"timeout": self.wait_seconds, "check_same_thread": False}}
        if self.is_private:
            options["poolclass"] = StaticPool
        else:
            self._make_file(str(self.url.database))
        engine = create_engine(self.url, **options)

        @event.listens_for(engine, "connect")
        def configure(connection: Any, _: Any) -> None:
            # The driver's own transactions begin too late and unlocked; `begin` below does it instead.
            connection.isolation_level = None
            # Its own `lower` handles only ASCII.
            connection.create_function("compact_folded", 1, _folded, deterministic=True)
            self._begin_log(connection)
            for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "temp_store=MEMORY"):
                connection.execute(f"PRAGMA {pragma}").fetchall()

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            write = connection.get_execution_options().get(_WRITE, False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def _make_file(self, name: str) -> None:
        # Originals hold what was said. If the file cannot be created, opening it reports that; a file: URI is
        # SQLite's own to read.
        if not name.startswith("file:"):
            with suppress(OSError):
                make_private(Path(name))

    def _begin_log(self, connection: Any) -> None:
        """Switch to the write-ahead log; SQLite does not wait for this if others open the file too."""
        last = time.monotonic() + self.wait_seconds
        while True:
            try:
                connection.execute(f"PRAGMA page_size={_PAGE_BYTES}").fetchall()
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > last:
                    raise
            time.sleep(_AGAIN_SECONDS)

    def _postgresql(self) -> Engine:
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise MissingExtra("psycopg", "postgres") from None
        engine = create_engine(self.url, pool_pre_ping=True)

        @event.listens_for(engine, "connect")
        def configure(connection: Any, _: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = {int(self.wait_seconds * 1000)}")
            connection.commit()

        return engine

    def _migrate(self) -> None:
        with self._translating_errors("opened"), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITE: True})
            with connection.begin():
                version = self._version(connection)
                if version != HEAD and not self.is_sqlite:
                    version = self._alone(connection)
                if version == HEAD:
                    return
                if version is not None and version > HEAD:
                    raise StoreError(
                        f"The session store {self.shown} has schema {version}; this version of Compact knows "
                        f"{HEAD}. Nothing was changed. Install the newer version of Compact that made it."
                    )
                from compact.stores.sql.migrating import lock_tables, upgrade

                lock_tables(connection, self.wait_seconds)
                upgrade(connection)

    def _alone(self, connection: Connection) -> str | None:
        """The version, once nobody else is migrating; this waits however long that takes, since it does
        end."""
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        connection.execute(text(f"SET LOCAL lock_timeout = {int(self.wait_seconds * 1000)}"))
        return self._version(connection)

    def _version(self, connection: Connection) -> str | None:
        if not self.engine.dialect.has_table(connection, "alembic_version"):
            return None
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return None if found is None else str(found)


def database_url(url: str) -> URL:
    """The URL to connect to; ConfigError if no store can be there."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Not repeated: it may contain a password.
        raise ConfigError(
            "storage.url must be a database URL, such as sqlite:///sessions.db or postgresql://host/name.",
            "storage.url",
        ) from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        if parsed.host or parsed.username or parsed.password or parsed.port:
            raise ConfigError(
                "storage.url must have three slashes before a path, such as sqlite:///sessions.db, four if "
                "it begins at the root: sqlite:////var/lib/sessions.db.",
                "storage.url",
            )
        if parsed.drivername not in _SQLITE_DRIVERS:
            raise ConfigError(
                f"storage.url must begin with sqlite:/// (got {parsed.drivername}://): only Python's own "
                "driver is used.",
                "storage.url",
            )
        return parsed.set(drivername="sqlite")
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise ConfigError(
        f"storage.url must be a sqlite:/// or postgresql:// URL (got {backend}://).", "storage.url"
    )


def _folded(text: str | None) -> str:
    return (text or "").casefold()


def _cause(error: DBAPIError) -> str:
    return " ".join(str(error.orig).split()).rstrip(".?")


_ADVICE = {
    ("disk is full", "No space left"): "Free some space and try again",
    ("disk I/O error",): "Check that the disk works and has room, then try again",
    ("is locked", "lock timeout"): "Another process is writing to it. Try again",
    ("not a database", "malformed"): "Restore it from a backup, or name another database",
    ("unable to open", "readonly"): "Make the file and its folder writable, or name another database",
    ("table sessions already exists",): "Another program uses this file. Name another database",
    ("failed to resolve", "could not translate host"): "Check the host name in the database URL",
    (
        "password authentication failed",
        "no password supplied",
        'FATAL: role "',
    ): "Check the user and the password in the database URL",
    ('FATAL: database "',): "Create the database, or check its name in the database URL",
    ("Connection refused",): "Start the database, or check the host and port in its URL",
}
"""What to do, by what SQLite or PostgreSQL says."""


def _advice(cause: str) -> str:
    for phrases, advice in _ADVICE.items():
        if any(phrase in cause for phrase in phrases):
            return advice
    return "Try again when the database answers"
