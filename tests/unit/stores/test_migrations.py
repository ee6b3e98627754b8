"""The migrations make what the code expects, once, whoever comes first."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

import compact.stores.sql
from compact.config import CompactConfig
from compact.errors import StoreError
from compact.stores import open_store, store_for
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore
from compact.stores.sql.database import HEAD
from compact.stores.sql.schema import metadata
from compact.stores.words import words_of
from compact.testing.stores import digests, keep, talk
from support.postgres import new_schema
from support.raw import Desk, pairs, user


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without a single table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new/folder/sessions.db"
    return new_schema(request.getfixturevalue("postgres_server"))


def test_a_migrated_database_is_what_the_code_describes(empty_url: str) -> None:
    with open_store(empty_url) as store, store.database.reading() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    # The full-text index is each database's own.
    unexpected = [change for change in found if "message_search" not in str(change)]
    assert unexpected == []


def test_the_newest_migration_is_the_one_the_code_asks_for() -> None:
    folder = Path(compact.stores.sql.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_heads() == [HEAD]


def test_two_who_open_a_new_database_at_once(empty_url: str) -> None:
    barrier, failed = threading.Barrier(3), list[BaseException]()

    def come() -> None:
        barrier.wait()
        try:
            with open_store(empty_url) as store:
                keep(store, "s", 0, talk("one"), [])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=come) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failed == []
    with open_store(empty_url) as store:
        assert digests(store.originals("s")) == digests(talk("one"))


def test_a_migration_that_fails_leaves_nothing(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import compact.stores.sql.migrating

    real = compact.stores.sql.migrating.upgrade

    def halfway(connection: object) -> None:
        real(connection)  # type: ignore[arg-type]
        raise RuntimeError("the power went")

    monkeypatch.setattr(compact.stores.sql.migrating, "upgrade", halfway)
    with pytest.raises(RuntimeError):
        open_store(empty_url)
    monkeypatch.undo()
    # All of it is made now, which would fail if some of it were there.
    with open_store(empty_url) as store:
        assert "sessions" in inspect(store.database.engine).get_table_names()


def test_a_database_of_a_newer_version_is_left_alone(store_url: str) -> None:
    with open_store(store_url) as store, store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        with pytest.raises(StoreError, match=r"schema 9999.*Nothing was changed"):
            open_store(store_url)
    finally:
        with store.database.engine.connect() as connection:
            connection = connection.execution_options(compact_write=True)
            connection.execute(text("UPDATE alembic_version SET version_num = :head"), {"head": HEAD})
            connection.commit()
        store.close()


def test_the_settings_choose_the_store(tmp_path: Path) -> None:
    assert isinstance(store_for(CompactConfig()), MemoryStore)
    url = f"sqlite:///{tmp_path}/sessions.db"
    store = store_for(CompactConfig(storage={"url": url}, tenant="team"))  # type: ignore[arg-type]
    assert isinstance(store, SqlStore) and store.tenant == "team"
    store.close()
    with open_store("sqlite://") as memory:
        keep(memory, "s", 0, talk("one"), [])
        assert digests(memory.originals("s")) == digests(talk("one"))


def test_a_database_of_the_first_version_keeps_all_that_it_holds(empty_url: str) -> None:
    """Back to 0001 by hand, compacted session and all; whoever opens it next goes on where it stood."""
    history = [*pairs(16), user("the newest")]
    with open_store(empty_url) as store:
        before = Desk("chat", 2_000, store=store).preflight(history, "talk")
        originals, [record] = digests(store.originals("talk")), store.records("talk")
        with store.database.writing() as connection:
            for statement in (
                "ALTER TABLE sessions DROP COLUMN settings",
                "ALTER TABLE spaces DROP COLUMN settings",
                "ALTER TABLE compaction_records DROP COLUMN reached",
                "ALTER TABLE compaction_records DROP COLUMN reached_key",
                "DROP TABLE notes",
                "DROP INDEX ix_compaction_records_tenant_handle",
                "ALTER TABLE compaction_records DROP COLUMN handle",
                "ALTER TABLE sessions DROP COLUMN calibration",
                "ALTER TABLE sessions DROP COLUMN retired_tools",
                "ALTER TABLE sessions DROP COLUMN head",
                "UPDATE alembic_version SET version_num = '0001'",
            ):
                connection.execute(text(statement))
            if connection.dialect.name == "postgresql":
                _words_as_lexemes(connection)
    with open_store(empty_url) as store:
        assert digests(store.originals("talk")) == originals
        [kept] = store.records("talk")
        assert (kept.id, kept.source, kept.summary) == (record.id, record.source, record.summary)
        desk = Desk("chat", 2_000, store=store)
        assert desk.preflight(history, "talk") == before and not desk.summarizer.requests
        assert desk.manager.recall("talk", history[0]["content"], 1)[0].position == 0
        assert desk.manager.restore("talk", 1) == history


def _words_as_lexemes(connection: Connection) -> None:
    """The full-text table of PostgreSQL as it was before 0004."""
    connection.execute(text("ALTER TABLE message_search DROP COLUMN words"))
    connection.execute(text("ALTER TABLE message_search ADD COLUMN words TSVECTOR NOT NULL DEFAULT ''"))
    fill = text(
        "UPDATE message_search SET words = array_to_tsvector(CAST(:words AS text[])) WHERE message_id = :id"
    )
    for id, content in connection.execute(text("SELECT message_id, content FROM message_parts")).all():
        connection.execute(fill, {"id": id, "words": sorted(words_of(content))})
