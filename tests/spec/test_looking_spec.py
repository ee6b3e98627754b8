"""Looking never writes: plan, usage, overflow, observe, records and recall, in every store (S5.1)."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import MetaData, create_engine, select

from compact.ports import Store
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from support.raw import Desk, assistant, pairs, summaries, system, tool, user

HISTORY = [system(), *pairs(36), user("new")]
SKETCH = [{"role": "user", "content": "a sketch"}]
LOOKS: dict[str, Callable[[Desk, list[Any]], Any]] = {
    "plan": lambda desk, messages: desk.manager.plan("s", messages, tools=[tool("look")]),
    "usage": lambda desk, messages: desk.manager.usage("s", messages, system="Another prompt."),
    "overflow": lambda desk, messages: desk.manager.overflow("s", messages),
    "observe": lambda desk, messages: desk.manager.observe("s", messages, 90_000),
    "records": lambda desk, messages: desk.manager.records("s"),
    "recall": lambda desk, messages: desk.manager.recall("s", "question 3"),
}


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def stored(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Callable[[], Any]]]:
    """A store, and what it holds, byte by byte."""
    if request.param == "memory":
        memory = MemoryStore()
        yield memory, lambda: {name: _frozen(value) for name, value in vars(memory).items()}
        return
    url = request.getfixturevalue("new_database")(request.param)
    store = open_store(url)
    # A connection of its own: what the store has not committed is not written either.
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    tables = MetaData()
    tables.reflect(engine)

    def rows() -> dict[str, list[bytes]]:
        with engine.connect() as connection:
            return {
                name: sorted(pickle.dumps(tuple(row)) for row in connection.execute(select(table)))
                for name, table in tables.tables.items()
                if name != "message_search"  # keeps its rows in tables beside it
            }

    yield store, rows
    store.close()
    engine.dispose()


def _frozen(value: Any) -> str:
    if isinstance(value, dict):
        return repr([(key, _frozen(item)) for key, item in value.items()])
    if hasattr(value, "originals"):
        return repr((value.originals, value.line, value.head, value.memory))
    return repr(value)


@pytest.mark.spec("S5.1")
@pytest.mark.parametrize("look", LOOKS)
def test_looking_leaves_every_row_as_it_was(look: str, stored: tuple[Store, Callable[[], Any]]) -> None:
    store, rows = stored
    desk = Desk(store=store)
    compacted = desk.preflight(HISTORY)
    assert len(summaries(compacted)) == 1
    grown = [*HISTORY, assistant("answer"), user("more")]
    before = rows()
    lists = [SKETCH, HISTORY[:9], HISTORY, grown, [*compacted, assistant("answer")], [*HISTORY[:9], *SKETCH]]
    for messages in lists:
        LOOKS[look](desk, messages)
        assert rows() == before
        # Nor does a process that has just begun.
        LOOKS[look](Desk(store=store), messages)
        assert rows() == before
    assert desk.manager.restore("s", 1) == HISTORY


@pytest.mark.spec("S5.1")
def test_what_was_only_looked_at_is_stored_by_the_next_call_that_stores(
    stored: tuple[Store, Callable[[], Any]],
) -> None:
    store, _ = stored
    desk = Desk(store=store)
    history = pairs(3)
    desk.preflight(history)
    for number in range(4, 8):
        history = [*history, *pairs(1, first=number)]
        desk.manager.usage("s", history)
        desk.manager.plan("s", [*history, user("a draft")])
    assert len(list(store.originals("s"))) == 6
    desk.manager.append("s", history)
    assert [message.text for message in store.originals("s")] == [one["content"] for one in history]


@pytest.mark.spec("S5.1")
def test_a_correction_is_kept_by_the_next_call_that_stores(stored: tuple[Store, Callable[[], Any]]) -> None:
    store, _ = stored
    desk = Desk(store=store)
    desk.preflight(pairs(20))
    desk.manager.observe("s", pairs(20), 3_004)
    assert Desk(store=store).manager.usage("s", pairs(20)).tokens == 2_003
    desk.preflight(pairs(20))
    assert Desk(store=store).manager.usage("s", pairs(20)).tokens == 3_004


@pytest.mark.spec("S5.1")
def test_a_look_does_not_push_out_what_the_session_knows() -> None:
    desk = Desk()
    desk.preflight(HISTORY)
    for number in range(6):
        desk.manager.usage("s", [{"role": "user", "content": f"sketch {number}"}])
    (session,) = desk.manager._engine.reader._sessions.values()
    assert session._histories[0].originals.length == len(HISTORY) - 1
