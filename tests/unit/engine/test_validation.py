"""Arguments of a wrong type are refused by name, before anything is stored."""

from __future__ import annotations

from collections import UserList, deque
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from compact import CompactConfig
from compact.errors import CompactError, ConfigError, FormatError
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore
from support.raw import Desk, pairs, user


@pytest.mark.parametrize("session_id", [None, 5, b"x", ["s"]])
def test_a_session_id_is_text(session_id: Any) -> None:
    manager = Desk().manager
    for call in (manager.preflight, manager.usage, manager.manual_compact, manager.plan, manager.overflow):
        with pytest.raises(FormatError, match="session_id must be text, not"):
            call(session_id, [user("hi")])


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": None},
        {"messages": "hi"},
        {"messages": {"role": "user", "content": "hi"}},
        {"messages": (message for message in pairs(2))},
        {"messages": np.array(pairs(2))},
        {"messages": np.array([1, 2])},
        {"messages": iter(pairs(2))},
        {"tools": np.array([{}])},
        {"system": np.array(["x"])},
        {"system": 5},
        {"system": b"Be kind."},
        {"tools": 5},
        {"tools": "read_file"},
        {"context": 5},
    ],
)
def test_what_is_no_list_or_text_is_refused_by_name(wrong: dict[str, Any]) -> None:
    desk = Desk()
    asked = {"messages": pairs(2), **wrong}
    with pytest.raises(FormatError, match=f"{next(iter(wrong))} must be .*Nothing was changed"):
        desk.manager.prepare("s", asked.pop("messages"), **asked)
    assert list(desk.manager._engine.store.originals("s")) == []


def test_other_arrays_are_taken() -> None:
    history = pairs(2)
    manager = Desk().manager
    assert manager.preflight("s", tuple(history), system=("Be kind.",), tools={}) == tuple(history)
    assert manager.preflight("s", dict(enumerate(history)).values()) == history  # type: ignore[arg-type]
    long = [*pairs(40), user("new")]
    for other in (deque(long), UserList(long), dict(enumerate(long)).values()):
        out = Desk().preflight(other)  # type: ignore[arg-type]
        assert isinstance(out, list) and len(out) < len(long) and out[-1] == long[-1]


@pytest.mark.parametrize("where", ["item", "content", "arguments", "system", "tools"])
def test_arrays_of_numbers_within_are_refused_or_read_never_a_raw_error(where: str) -> None:
    array = np.arange(3)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"x": array}}}
    messages: list[Any] = {
        "item": [user("hi"), array],
        "content": [user("hi"), {"role": "user", "content": array}],
        "arguments": [user("hi"), {"role": "assistant", "content": None, "tool_calls": [call]}],
    }.get(where, [user("hi")])
    more = {"system": [{"type": "text", "text": array}]} if where == "system" else {}
    more |= (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": array}}]}
        if where == "tools"
        else {}
    )
    desk = Desk()
    for _ in range(3):
        with suppress(CompactError):
            desk.preflight(messages, **more)
            desk.manager.usage("s", messages, **more)
        messages = [*messages, user("again")]


@pytest.mark.parametrize("limit", [-1, None, 2.5, "3", True])
def test_what_is_no_limit_is_refused_whatever_the_store(limit: Any) -> None:
    for store in (MemoryStore(), SqlStore("sqlite://")):
        manager = Desk(store=store).manager
        manager.preflight("s", pairs(2))
        with pytest.raises(FormatError, match="limit must be a whole number, 0 or more"):
            manager.recall("s", "question", limit)
        assert manager.recall("s", "question", 0) == [] and len(manager.recall("s", "question", 2)) == 2


@pytest.mark.parametrize("wrong", [None, 2.5, "3", True])
def test_what_is_no_position_or_step_is_refused_whatever_the_store(wrong: Any) -> None:
    for store in (MemoryStore(), SqlStore("sqlite://")):
        manager = Desk(store=store).manager
        manager.preflight("s", pairs(2))
        with pytest.raises(FormatError, match="after must be a position"):
            manager.recall("s", "question", after=wrong)
        with pytest.raises(FormatError, match="step must be the number of a compaction"):
            manager.restore("s", wrong)


def test_numbers_without_end_are_taken_as_all_whatever_the_store() -> None:
    for store in (MemoryStore(), SqlStore("sqlite://")):
        manager = Desk(store=store).manager
        manager.preflight("s", pairs(2))
        whole = manager.recall("s", "question", 10)
        assert manager.recall("s", "question", 10**400) == whole
        assert manager.recall("s", "question", 10, after=-(10**400)) == whole
        assert manager.recall("s", "question", 10, after=10**400) == []


def test_an_error_shows_only_the_beginning_of_a_long_wrong_value() -> None:
    long = "x" * 5_000
    for messages in ([{"role": long, "content": "hi"}], [{long: 1, "content": "hi"}]):
        with pytest.raises(FormatError, match="Nothing was changed") as caught:
            Desk().preflight(messages)
        assert len(str(caught.value)) < 1_000
    with pytest.raises(ConfigError) as refused:
        CompactConfig(preset=long)
    assert len(str(refused.value)) < 500
