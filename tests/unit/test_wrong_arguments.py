"""Arguments of a wrong type or size: every public method takes them, or refuses them with our error."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest

import compact
from compact import CompactConfig, CompactError, CompactManager
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore


class Unspeakable:
    """Can be neither shown nor compared nor hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise ValueError("no words")

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


HUGE = 10**5_000  # more digits than Python writes
SAID = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
ODD: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "a large number": 10**400,
    "a huge number": HUGE,
    "a fraction": math.nan,
    "bytes": b"x",
    "no text": "",
    "half a character": "\ud800",
    "an object": object(),
    "a class": int,
    "unspeakable": Unspeakable(),
    "a mapping": {5: 6},
    "a set": {1},
    "a list of them": [Unspeakable()],
    "nested": nested(3_000),
    "a usage": {"prompt_tokens": 10**400, "input_tokens": "x"},
    "a message without": [{"role": "user"}],
    "a message of numbers": [{"role": "user", "content": 5, 5: 6}],
    "a message of objects": [{"role": "user", "content": "q", "x": Unspeakable()}],
    "a call of numbers": [{"role": "assistant", "tool_calls": [{"id": 5, "function": 5}]}],
    "a huge argument": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": HUGE}}]},
    ],
}
USUAL = {
    "session_id": "s",
    "messages": SAID,
    "usage": {"prompt_tokens": 5},
    "query_or_handle": "hello",
    "step": 1,
    "message": "m",
    "model": "gpt-4o",
    "max_tokens": 200,
}
METHODS = sorted(
    name
    for name, member in vars(CompactManager).items()
    if inspect.isfunction(member) and not name.startswith("_") and not inspect.iscoroutinefunction(member)
    if name not in ("close", "flush")
)


def refuses_only_as_ours(call: Callable[..., Any]) -> list[str]:
    """What came out otherwise, for each argument and each odd value."""
    asked = [one for one in inspect.signature(call).parameters.values() if one.kind is not one.VAR_KEYWORD]
    wrong = []
    for argument in asked:
        for what, odd in ODD.items():
            given = {one.name: USUAL[one.name] for one in asked if one.default is one.empty}
            try:
                call(**{**given, argument.name: odd})
            except CompactError:
                continue
            except Exception as error:
                wrong.append(f"{argument.name} = {what}: {type(error).__name__}")
    return wrong


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_of_a_manager(method: str, kind: str) -> None:
    store: Any = MemoryStore() if kind == "memory" else SqlStore("sqlite://")
    config = CompactConfig(archive={"adapter": "none"}, counter="chars4")  # type: ignore[arg-type]
    manager = CompactManager(config, store=store)
    assert refuses_only_as_ours(getattr(manager, method)) == []
    # And the next call is none the worse for it.
    assert manager.preflight("another", SAID) == SAID


@pytest.mark.parametrize("name", ["count_tokens", "lint", "summarize"])
def test_of_a_function(name: str) -> None:
    assert refuses_only_as_ours(getattr(compact, name)) == []
