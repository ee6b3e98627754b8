"""Leases in other processes, and the time that passes for them.

Run as `python -m support.lease_holder URL SESSION SECONDS`, it holds a session's lease until it is killed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import select, update

from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.stores.sql.schema import sessions

TESTS = Path(__file__).parents[1]


@contextmanager
def held_elsewhere(url: str, session: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease inside the block; kill it to see what happens then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "support.lease_holder", url, session, str(seconds)],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "True\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def let_pass(store: SqlStore, seconds: float) -> None:
    """Let this time pass for the lease, whatever the clock of the store shows."""
    begun, ends = sessions.c.compacting_since, sessions.c.compacting_until
    with store.database.writing() as connection:
        connection.execute(
            update(sessions).values(compacting_since=begun - seconds, compacting_until=ends - seconds)
        )


def ends_at(store: SqlStore) -> float:
    with store.database.reading() as connection:
        return float(connection.execute(select(sessions.c.compacting_until)).scalar_one())


def wait_for_renewal(store: SqlStore) -> None:
    before, patience = ends_at(store), time.monotonic() + 60
    while ends_at(store) == before:
        assert time.monotonic() < patience, "the lease was not renewed"
        time.sleep(0.01)


if __name__ == "__main__":
    with open_store(sys.argv[1]).lease(sys.argv[2], float(sys.argv[3])) as granted:
        print(granted, flush=True)
        time.sleep(600)
