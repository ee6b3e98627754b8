"""PostgreSQL is brought up to date while other processes write to it, or do the same."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from compact.stores import open_store
from compact.stores.sql.database import _MIGRATION_LOCK
from compact.testing.stores import digests, keep, talk
from support.postgres import new_schema

OPENS = """
import sys
from compact.stores import open_store
open_store(sys.argv[1], wait_seconds=float(sys.argv[2])).close()
"""


@pytest.fixture
def old_url(postgres_server: str) -> str:
    """A database of version 0003 with one message."""
    url = new_schema(postgres_server)
    with open_store(url) as store:
        keep(store, "s", 0, talk("one"), [])
        with store.database.writing() as connection:
            for statement in (
                "ALTER TABLE message_search DROP COLUMN words",
                "ALTER TABLE message_search ADD COLUMN words TSVECTOR NOT NULL DEFAULT to_tsvector('one')",
                "UPDATE alembic_version SET version_num = '0003'",
            ):
                connection.execute(text(statement))
    return url


@contextmanager
def opening(url: str, wait_seconds: float = 15.0) -> Iterator[subprocess.Popen[str]]:
    """Another process that opens the database, which is a migration."""
    command = [sys.executable, "-c", OPENS, url, str(wait_seconds)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_a_waiter(watching: Any, own: int, process: subprocess.Popen[str]) -> None:
    """Until the other process waits for what the connection `own` holds."""
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    while process.poll() is None and not watching.execute(blocked, (own,)).fetchone()[0]:
        time.sleep(0.02)


def indexed(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        found = "SELECT m.position FROM messages m JOIN message_search s ON s.message_id = m.id ORDER BY 1"
        return connection.execute(found).fetchall()


def test_what_an_older_process_writes_meanwhile_is_migrated_too(old_url: str) -> None:
    second = talk("one", "two")[1]
    with psycopg.connect(old_url) as writer, psycopg.connect(old_url, autocommit=True) as watching:
        # As the store of version 0003 does it: session, message, index.
        session = writer.execute("SELECT id FROM sessions FOR UPDATE").fetchone()
        message = writer.execute(
            "INSERT INTO messages (session_id, line, position, chain, digest, role, format, raw, part, "
            "parts, created_at) "
            "SELECT session_id, line, 1, %s, %s, 'assistant', format, raw, 0, 1, created_at "
            "FROM messages RETURNING id",
            (b"chain", second.digest),
        ).fetchone()
        assert session is not None and message is not None
        with opening(old_url) as migrating:
            wait_for_a_waiter(watching, writer.info.backend_pid, migrating)
            writer.execute(
                "INSERT INTO message_search VALUES (%s, %s, to_tsvector('two'))", (message[0], session[0])
            )
            writer.commit()
            assert migrating.wait(timeout=60) == 0, migrating.stderr and migrating.stderr.read()
    assert indexed(old_url) == [(0,), (1,)]


def test_a_reader_in_the_way_is_waited_for_and_not_hurt(old_url: str) -> None:
    with psycopg.connect(old_url) as reader, psycopg.connect(old_url, autocommit=True) as watching:
        reader.execute("SELECT * FROM compaction_records").fetchall()
        with opening(old_url) as migrating:
            running = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND granted"
            while migrating.poll() is None and not _one(watching, running, _MIGRATION_LOCK):
                time.sleep(0.02)
            # It holds one table, and wants the other.
            reader.execute("SELECT * FROM messages JOIN sessions ON true").fetchall()
            reader.commit()
            assert migrating.wait(timeout=60) == 0, migrating.stderr and migrating.stderr.read()
    assert indexed(old_url) == [(0,)]


def test_a_long_migration_is_waited_for(old_url: str) -> None:
    """Longer than for a lock: a worker that starts meanwhile must not fail."""
    with psycopg.connect(old_url, autocommit=True) as migrating:
        migrating.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
        with opening(old_url, wait_seconds=0.1) as worker:
            wait_for_a_waiter(migrating, migrating.info.backend_pid, worker)
            time.sleep(0.3)
            assert worker.poll() is None, worker.stderr and worker.stderr.read()
            migrating.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))
            assert worker.wait(timeout=60) == 0, worker.stderr and worker.stderr.read()


def test_a_database_that_is_up_to_date_is_opened_without_waiting(old_url: str) -> None:
    with open_store(old_url) as store:
        said = digests(store.originals("s"))
    with psycopg.connect(old_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
        with open_store(old_url, wait_seconds=0.1) as store:
            assert digests(store.originals("s")) == said


def _one(connection: Any, query: str, *values: Any) -> Any:
    return connection.execute(query, values).fetchone()[0]
