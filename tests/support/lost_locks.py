"""A process with two stores on one file, while another process opens and closes it; then kill -9.

Run as `python -m support.lost_locks sessions|traces PATH`. It prints "ready" with both stores open, waits for
a line, writes something that is acknowledged, prints "written" and waits to be killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from compact.server.traces.database import TraceDatabase
from compact.stores import open_store
from compact.testing.stores import a_record, keep, talk


def sessions(path: str) -> None:
    first = open_store(f"sqlite:///{path}")
    keep(first, "s", 0, talk("one"), [])
    second = open_store(f"sqlite:///{path}")
    assert len(list(second.originals("s"))) == 1
    _wait_for_the_other_process()
    for number in range(1, 6):
        first.commit(a_record(f"r{number}"))


def traces(path: str) -> None:
    first, second = TraceDatabase(Path(path)), TraceDatabase(Path(path))
    with first.writing() as connection:
        connection.execute("CREATE TABLE written (n INTEGER)")
    with second.reading() as connection:
        connection.execute("SELECT * FROM written").fetchall()
    _wait_for_the_other_process()
    with first.writing() as connection:
        connection.execute("INSERT INTO written VALUES (1)")


def _wait_for_the_other_process() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    {"sessions": sessions, "traces": traces}[sys.argv[1]](sys.argv[2])
    print("written", flush=True)
    sys.stdin.readline()
