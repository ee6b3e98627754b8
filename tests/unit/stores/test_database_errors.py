"""A database that cannot be used: the error names the cause, what is unchanged, and what to do about it."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, TimeoutError

from compact.errors import ConfigError, StoreError
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.testing.stores import talk
from support.closed_port import closed_port


def _text(path: Path) -> None:
    path.write_text("not a database " * 1_000)


def _other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sessions (x)")


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        (_text, "Restore it from a backup, or name another database."),
        (Path.mkdir, "Make the file and its folder writable, or name another database."),
        (_other_program, "Another program uses this file. Name another database."),
    ],
)
def test_a_file_that_is_no_store(tmp_path: Path, made: Callable[[Path], Any], advice: str) -> None:
    path = tmp_path / "s.db"
    made(path)
    with pytest.raises(StoreError) as caught:
        open_store(f"sqlite:///{path}")
    said = str(caught.value)
    assert str(path) in said and "is unchanged" in said and said.endswith(advice)


def test_a_full_disk(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 's.db'}")
    store.append("s", 0, talk("the lamp is lit"), format="openai-chat")

    @event.listens_for(store.database.engine, "begin")
    def no_room(connection: Any) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count=1")

    with pytest.raises(
        StoreError, match=r"full\. The session is unchanged\. Free some space and try again\."
    ):
        store.append("t", 0, talk("word " * 50_000), format="openai-chat")
    assert [message.text for message in store.originals("s")] == ["the lamp is lit"]


def test_a_disk_that_does_not_work(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 's.db'}")
    # What SQLite says where no byte more can be written.
    broken = DBAPIError("INSERT", {}, sqlite3.OperationalError("disk I/O error"))
    advice = r"Check that the disk works and has room, then try again\.$"
    with pytest.raises(StoreError, match=advice), store.database.writing():
        raise broken


def test_a_lock_that_somebody_holds(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 's.db'}", wait_seconds=0.01)
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreError, match=r"Another process is writing to it\. Try again\."):
            store.append("s", 0, talk("the lamp is lit"), format="openai-chat")
    finally:
        other.close()


@pytest.mark.parametrize("url", [None, 3, b"sqlite://", Path("s.db")])
def test_what_is_no_url_is_refused_by_name(url: Any) -> None:
    with pytest.raises(ConfigError, match=r"storage\.url must be a database URL"):
        open_store(url)


def _refuse(listener: socket.socket, code: str, message: str) -> None:
    """A PostgreSQL server that refuses whoever connects."""
    fields = f"SFATAL\0C{code}\0M{message}\0\0".encode()
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            # What asks for encryption is eight bytes long; a startup message is longer.
            while len(connection.recv(4_096)) == 8:
                connection.sendall(b"N")
            connection.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)


@pytest.mark.parametrize(
    ("code", "message", "advice"),
    [
        ("28P01", 'password authentication failed for user "ines"', "Check the user and the password"),
        ("28000", 'role "ines" does not exist', "Check the user and the password"),
        ("3D000", 'database "cottages" does not exist', "Create the database, or check its name"),
    ],
)
def test_a_server_that_refuses_the_user_or_has_no_such_database(code: str, message: str, advice: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=_refuse, args=(listener, code, message), daemon=True)
        server.start()
        port = listener.getsockname()[1]
        with pytest.raises(StoreError) as caught:
            open_store(f"postgresql://ines:hunter2@127.0.0.1:{port}/cottages")
        listener.shutdown(socket.SHUT_RDWR)  # Closing alone does not wake a thread that waits for a client.
    server.join(60)
    assert not server.is_alive()
    said = str(caught.value)
    assert message in said and said.endswith(f"{advice} in the database URL.")
    assert "hunter2" not in said


def test_a_host_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    # No name server is asked: one that does not answer would hold the test up.
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(StoreError, match=r"Check the host name in the database URL\.$"):
        open_store("postgresql://ines@no-such-host.invalid/cottages")


def test_a_port_where_nobody_answers() -> None:
    with (
        closed_port() as port,
        pytest.raises(StoreError, match=r"Start the database, or check the host and port in its URL\.$"),
    ):
        open_store(f"postgresql://ines@127.0.0.1:{port}/cottages")


@pytest.mark.parametrize(
    "raised",
    [
        TimeoutError("QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 30.00"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        DBAPIError("SELECT", {}, sqlite3.OperationalError("disk I/O error")),
    ],
)
def test_a_discreet_database_says_nothing_about_itself(tmp_path: Path, raised: Exception) -> None:
    store = SqlStore(f"sqlite:///{tmp_path / 's.db'}")
    for discreet in (False, True):
        store.database.is_discreet = discreet
        with pytest.raises(StoreError, match="changed") as caught, store.database.reading():
            raise raised
        assert (str(tmp_path) in str(caught.value)) == (not discreet)
        assert caught.value.__cause__ is raised


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite://sessions.db", "must have three slashes before a path"),
        ("sqlite://me:secret-word@host/x.db", "must have three slashes before a path"),
        ("sqlite+pysqlcipher:///x.db", "must begin with sqlite:/// (got sqlite+pysqlcipher://)"),
        ("postgresql://host:port/name", "must be a database URL"),
    ],
)
def test_a_url_that_its_own_library_rejects_is_refused_by_name(url: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        open_store(url)
    assert str(refused.value).startswith(f"storage.url {told}") and refused.value.path == "storage.url"
    assert "secret-word" not in str(refused.value)


def test_the_url_of_an_asynchronous_program_opens_the_same_file(tmp_path: Path) -> None:
    open_store(f"sqlite+aiosqlite:///{tmp_path / 's.db'}").append("s", 0, talk("lit"), format="openai-chat")
    assert open_store(f"sqlite:///{tmp_path / 's.db'}").originals("s")
