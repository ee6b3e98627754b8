"""A database that cannot be used: the error names the cause, what is unchanged, and what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from compact.errors import ConfigError, StoreError
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.testing.stores import talk


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
