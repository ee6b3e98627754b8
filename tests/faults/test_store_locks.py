"""Several stores on one SQLite file in one process: what was acknowledged is there after kill -9."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from compact.stores import open_store
from compact.stores.private_file import make_private

TESTS = Path(__file__).parents[1]
OPEN_AND_CLOSE = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
    "c.execute('SELECT * FROM sqlite_master').fetchall(); c.close()"
)


def killed_after_another_process_came_and_went(kind: str, path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "support.lost_locks", kind, str(path)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        subprocess.run([sys.executable, "-c", OPEN_AND_CLOSE, str(path)], check=True)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "written\n"
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_two_stores_in_one_process_lose_no_acknowledged_commit(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    killed_after_another_process_came_and_went("sessions", path)
    with open_store(f"sqlite:///{path}") as store:
        assert [record.id for record in store.records("s")] == ["r1", "r2", "r3", "r4", "r5"]
        assert [message.text for message in store.originals("s")] == ["one"]


def test_two_trace_databases_in_one_process_lose_no_acknowledged_write(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    killed_after_another_process_came_and_went("traces", path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT n FROM written").fetchall() == [(1,)]
    connection.close()


def test_a_new_file_is_its_owners_alone_and_an_old_one_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "sessions.db"
    make_private(path)
    assert path.stat().st_mode & 0o777 == 0o600 and list(path.parent.iterdir()) == [path]
    path.write_bytes(b"content")
    path.chmod(0o640)
    make_private(path)
    assert path.read_bytes() == b"content" and path.stat().st_mode & 0o777 == 0o640


def test_where_files_cannot_be_linked_the_file_is_made_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refused)
    make_private(tmp_path / "sessions.db")
    assert [entry.name for entry in tmp_path.iterdir()] == ["sessions.db"]


def test_several_threads_make_one_file(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    threads = [threading.Thread(target=make_private, args=(path,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.name for entry in tmp_path.iterdir()] == ["sessions.db"]
