"""What a database is asked for one more turn and one more compaction does not grow with the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event

from compact.core.view import START, links
from compact.model.event import EventName
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.testing.stores import a_record, talk


@contextmanager
def statements(store: SqlStore) -> Iterator[list[str]]:
    asked: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(store.database.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(store.database.engine, "before_cursor_execute", note)


def test_one_more_turn_and_compaction_ask_the_same_however_long_the_session_is(store_url: str) -> None:
    messages = talk(*(f"message {n}" for n in range(120)))
    keys = links(START, messages)
    asked: dict[int, list[str]] = {}
    with open_store(store_url) as store:
        for turn in range(60):
            at = 2 * turn
            with statements(store) as asked[turn]:
                before = keys[at - 1] if at else START
                store.append(
                    "s",
                    at,
                    messages[at : at + 2],
                    previous=before,
                    format="openai-chat",
                    keys=keys[at : at + 2],
                )
                store.commit(a_record(f"r{turn}", step=turn + 1))
                store.add_event("s", EventName.COMPLETE, {"step": turn})
                newer = store.records("s", after=f"r{turn - 1}")
                with store.lease("s", 60) as granted:
                    assert granted
            assert [record.id for record in newer] == [f"r{turn}"]
        assert asked[2] == asked[59]
