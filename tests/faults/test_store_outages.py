"""Locked, missing, corrupt, at the wrong time: the store says so, and the session stays as it was."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text

from compact.errors import ConfigError, StoreError
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.testing.scripted import EchoSummarizer, ScriptedSummarizer
from compact.testing.stores import a_record, begun, digests, keep, talk
from support.lease_holder import let_pass, wait_for_renewal
from support.raw import Desk, assistant, pairs, summaries, user

LONG = [*pairs(16), user("the newest")]


@pytest.fixture
def sqlite_url(new_database: Callable[[str], str]) -> str:
    return new_database("sqlite")


class Locked:
    """Another program that holds the write lock."""

    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._connection.rollback()
        self._connection.close()


def test_a_database_that_is_locked_for_ten_seconds_is_only_waited_for(sqlite_url: str) -> None:
    # The settings of every user; the lock goes well before the patience does.
    with open_store(sqlite_url) as store:
        assert store.database.wait_seconds > 12
        desk, sent = Desk("chat", 2_000, store=store), []
        locked = Locked(sqlite_url)
        waiting = threading.Thread(target=lambda: sent.append(desk.preflight(LONG)))
        waiting.start()
        waiting.join(timeout=10)
        assert waiting.is_alive() and sent == []
        locked.release()
        waiting.join(timeout=30)
        assert len(list(store.originals("s"))) == len(LONG) and len(store.records("s")) == 1
        assert sent == [desk.preflight(LONG)]


def test_a_lock_that_stays_is_an_error_and_the_session_is_as_it_was(sqlite_url: str) -> None:
    with open_store(sqlite_url, wait_seconds=0.1) as store:
        desk = Desk("chat", 2_000, store=store)
        sent = desk.preflight(LONG)
        later = [*LONG, assistant("fine"), user("go on")]
        locked = Locked(sqlite_url)
        with pytest.raises(StoreError, match=r"database is locked.*The session is unchanged"):
            desk.preflight(later)
        # Reading goes on.
        assert len(list(store.originals("s"))) == len(LONG) and len(store.records("s")) == 1
        locked.release()
        assert desk.preflight(later) == [*sent, *later[-2:]]
        assert [m.origin.source for m in store.originals("s") if m.origin] == later


def test_a_lock_at_the_commit_leaves_the_session_uncompacted(sqlite_url: str) -> None:
    held: list[Locked] = []

    class Locking(EchoSummarizer):
        def summarize(self, request: object) -> str:
            held.append(Locked(sqlite_url))
            return super().summarize(request)  # type: ignore[arg-type]

    with open_store(sqlite_url, wait_seconds=0.1) as store:
        desk = Desk("chat", 2_000, Locking(), store=store)
        assert desk.preflight(LONG) == LONG
        held[0].release()
        assert list(store.records("s")) == [] and len(list(store.originals("s"))) == len(LONG)


def test_an_error_behind_the_stored_messages_says_that_they_are_stored(sqlite_url: str) -> None:
    """The system prompt is remembered apart from the messages, and after them."""
    messages = [{"role": "system", "content": "Be brief."}, user("hello")]
    with open_store(sqlite_url) as store:
        desk = Desk("chat", 2_000, store=store)
        with store.database.writing() as connection:
            full = (
                "CREATE TRIGGER full BEFORE UPDATE OF head ON sessions BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
            connection.execute(text(full))
        with pytest.raises(StoreError, match="full") as failed:
            desk.preflight(messages)
        assert len(list(store.originals("s"))) == 1
        assert "unchanged" not in str(failed.value) and "Messages and compactions are stored" in str(
            failed.value
        )
        with store.database.writing() as connection:
            connection.execute(text("DROP TRIGGER full"))
        desk.preflight(messages)
        assert store.memory("s").head == (messages[0],)


def test_a_list_that_comes_again_needs_no_store(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether another process undid its compaction is asked; without an answer, what is known counts."""
    with open_store(sqlite_url) as store:
        desk = Desk("chat", 2_000, store=store)
        sent = desk.preflight(LONG)
        assert len(sent) < len(LONG) and desk.preflight(LONG) == sent
        asked = []

        def find(keys: object) -> object:
            asked.append(keys)
            raise StoreError("The database is down.")

        monkeypatch.setattr(store, "find", find)
        assert desk.preflight(LONG) == sent and asked
        with pytest.raises(StoreError):
            desk.preflight([*LONG, assistant("done"), user("go on")])


def test_a_row_lock_in_postgresql_is_waited_for_and_then_told(new_database: Callable[[str], str]) -> None:
    url = new_database("postgresql")
    with open_store(url, wait_seconds=0.2) as store, open_store(url) as other:
        keep(store, "s", 0, talk("one"), [])
        with other.exclusively("s"):
            with pytest.raises(StoreError, match=r"lock timeout.*The session is unchanged"):
                keep(store, "s", 1, talk("two"), talk("one"))
            keep(store, "another", 0, talk("free"), [])
        keep(store, "s", 1, talk("two"), talk("one"))
        assert len(list(store.originals("s"))) == 2


def test_a_lost_server_connection_is_made_again(new_database: Callable[[str], str]) -> None:
    # Named, so that the connections of other tests on this server stay.
    name = f"outage-{uuid4().hex}"
    url = f"{new_database('postgresql')}&application_name={name}"
    with open_store(url) as store, open_store(url) as other:
        keep(store, "s", 0, talk("one"), [])
        with other.database.writing() as connection:
            ended = connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    f"WHERE pid <> pg_backend_pid() AND application_name = '{name}'"
                )
            ).all()
        assert ended
        assert digests(store.originals("s")) == digests(talk("one"))


def test_no_database_to_be_had(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "text.db").write_text("not a database, but long enough to look like one " * 100)
    with pytest.raises(StoreError, match="could not be opened"):
        open_store(f"sqlite:///{tmp_path}/file/x.db")
    with pytest.raises(StoreError, match="file is not a database"):
        open_store(f"sqlite:///{tmp_path}/text.db")
    with pytest.raises(StoreError, match="could not be opened"):
        open_store(f"postgresql://nobody:secret@/x?host={tmp_path}")
    for wrong in ("mysql://host/x", "no url", "sqlite-like://x"):
        with pytest.raises(ConfigError, match=r"storage\.url"):
            open_store(wrong)


def test_a_damaged_schema_is_named(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    whole = path.read_bytes()
    for damage in (b"CREATE T\xff\xfeLE sessions", b"CREATE TABLE se\xff\xfeions"):
        path.write_bytes(whole.replace(b"CREATE TABLE sessions", damage))
        with pytest.raises(StoreError, match="could not be opened"):
            open_store(sqlite_url)


def test_a_password_is_not_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as told_error:
        open_store(f"postgresql://nobody:hunter2@/x?host={tmp_path}")
    assert "hunter2" not in str(told_error.value)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_an_hour_off_changes_no_lease(
    store_url: str, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lease of 15 seconds is renewed ten times a second, so that no machine is too slow for it.
    monkeypatch.setattr("compact.stores.sql.renewing._SHARE", 150)
    with (
        open_store(store_url) as right,
        open_store(store_url, clock=lambda: time.time() + 3_600 * hours) as wrong,
    ):
        begun(right)
        with right.lease("s", 60) as first, wrong.lease("s", 60) as second:
            assert (first, second) == (True, False)
        with wrong.lease("s", 15) as first:
            for _ in range(2):
                let_pass(wrong, 10)
                wait_for_renewal(wrong)
            with right.lease("s", 60) as second:
                assert first and not second


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_jumps_changes_no_order(store_url: str, hours: int) -> None:
    with open_store(store_url) as store, open_store(store_url) as restarted:
        desk = Desk("chat", 2_000, store=store)
        desk.preflight(LONG)
        desk.manager._engine.clock = lambda: time.time() + 3_600 * hours
        history = list(LONG)
        while len(store.records("s")) < 2:
            history += [assistant("fine"), user("go on")]
            out = desk.preflight(history)
        assert [record.version for record in restarted.records("s")] == [1, 2]
        back = Desk("chat", 2_000, ScriptedSummarizer(), store=restarted)
        assert back.preflight(history) == out and "v2" in summaries(out)[0]["content"]


def test_a_machine_that_was_restarted_frees_its_leases(sqlite_url: str) -> None:
    with open_store(sqlite_url, monotonic=lambda: 90_000.0) as before:
        lease = begun(before).lease("s", 60)
        assert lease.__enter__()
        assert shown(before)
    with open_store(sqlite_url, monotonic=lambda: 30.0) as after:
        assert not shown(after)
        with after.lease("s", 60) as granted:
            assert granted and shown(after)
    lease.__exit__(None, None, None)


def shown(store: SqlStore) -> bool:
    thread = store.session("s")
    assert thread is not None
    return thread.currently_compacting


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE messages SET raw = '{\"role\": ' WHERE position = 1", "messages row"),
        (
            'UPDATE messages SET raw = \'{"role":"user","content":"forged"}\' WHERE position = 1',
            "messages row",
        ),
        ("UPDATE messages SET raw = NULL WHERE position = 1", "messages row"),
        ("UPDATE messages SET format = 'unheard-of' WHERE position = 1", "messages row"),
    ],
)
def test_a_corrupt_message_is_named_and_the_others_are_readable(
    store_url: str, damage: str, named: str
) -> None:
    with open_store(store_url) as store:
        messages = talk("one", "two", "three")
        keep(store, "s", 0, messages, [])
        keep(store, "t", 0, messages[:1], [])
        run(store, damage)
        with pytest.raises(StoreError, match=rf"{named} \d+ of session 's'.*position 1"):
            list(store.originals("s"))
        assert digests(store.originals("s", 0, 1)) == digests(messages[:1])
        assert digests(store.originals("s", 2)) == digests(messages[2:])
        assert digests(store.originals("t")) == digests(messages[:1])


@pytest.mark.parametrize("column", ["entries", "evidence", "kind"])
def test_a_corrupt_record_is_named_and_the_others_are_readable(store_url: str, column: str) -> None:
    with open_store(store_url) as store:
        begun(store, "s", "t")
        store.commit(a_record("r1"))
        store.commit(a_record("r2", "t"))
        run(store, f"UPDATE compaction_records SET {column} = '[[7]]' WHERE id = 'r1'")
        for read in (lambda: store.records("s"), lambda: store.find([b"source-r1"])):
            with pytest.raises(StoreError, match="compaction_records row r1 of session 's'"):
                read()
        assert [record.id for record in store.records("t")] == ["r2"]


def run(store: SqlStore, statement: str) -> None:
    with store.database.writing() as connection:
        connection.exec_driver_sql(statement)


STREAMED = """
import resource, sys
from compact.core.view import chain
from compact.formats import by_name
from compact.stores import open_store

format, block = by_name("openai-chat"), "lorem ipsum dolor sit amet " * 37_000
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
with open_store(sys.argv[1]) as store:
    start, previous = peak(), chain([])
    for first in range(0, 200, 5):
        raw = [{"role": "user", "content": f"{n} {block}"} for n in range(first, first + 5)]
        messages = [message for n, item in enumerate(raw) for message in format.decode(item, n)]
        store.append("s", first, messages, previous=previous, format="openai-chat")
        previous = chain(messages, previous)
    size = sum(len(message.text) for message in store.originals("s"))
    print(size, peak() - start)
"""


def test_a_session_of_200_megabytes_streams_in_and_out(sqlite_url: str) -> None:
    # A process of its own: the peak of this one is that of all tests before.
    done = subprocess.run(
        [sys.executable, "-c", STREAMED, sqlite_url], capture_output=True, text=True, check=True
    )
    size, megabytes = map(int, done.stdout.split())
    assert size > 199_000_000
    assert megabytes < 100
