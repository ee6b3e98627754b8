"""Values that JSON cannot hold are refused by name, whoever reads them first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact import CompactConfig, CompactError, CompactManager, count_tokens, lint, summarize
from compact.errors import FormatError, MalformedMessage
from compact.formats.nesting import DEEPEST, is_too_deep


def nested(levels: int) -> dict[str, Any]:
    outer: dict[str, Any] = {}
    inner = outer
    for _ in range(levels):
        inner["a"] = {}
        inner = inner["a"]
    return outer


def holding_itself() -> dict[str, Any]:
    made: dict[str, Any] = {"items": []}
    made["items"].append(made)
    return made


def calling(arguments: Any) -> list[dict[str, Any]]:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]


def preflight(messages: Any, **more: Any) -> Any:
    manager = CompactManager(CompactConfig(archive={"adapter": "none"}, counter="chars4"))
    return manager.preflight("s", messages, **more)


def test_how_deep_is_too_deep() -> None:
    assert not is_too_deep(nested(DEEPEST - 1)) and is_too_deep(nested(DEEPEST))
    shared: Any = "leaf"
    for _ in range(60):
        shared = [shared, shared]
    assert not is_too_deep(shared) and is_too_deep(holding_itself())


@pytest.mark.parametrize("read", [preflight, lint, count_tokens])
@pytest.mark.parametrize("make", [lambda: nested(5_000), holding_itself])
def test_a_message_is_refused_with_its_index(read: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    with pytest.raises(MalformedMessage, match="nested more than") as refused:
        read(calling(make()))
    assert refused.value.index == 1


@pytest.mark.parametrize("make", [lambda: nested(5_000), holding_itself])
def test_also_in_a_field_that_nobody_knows(make: Callable[[], Any]) -> None:
    with pytest.raises(MalformedMessage, match="nested more than"):
        preflight([{"role": "user", "content": "hi", "x": make()}])


@pytest.mark.parametrize("read", [preflight, count_tokens])
@pytest.mark.parametrize("make", [lambda: nested(5_000), holding_itself])
def test_tools_and_system_are_named(read: Callable[..., Any], make: Callable[[], Any]) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": make()}}}}
    asked = [{"role": "user", "content": "hi"}]
    for name, value in (("tools", [tool]), ("system", [{"type": "other", "x": make()}])):
        with pytest.raises(FormatError, match=f"^{name}: .* nested more than"):
            read(asked, **{name: value})


@pytest.mark.parametrize(
    "value", [10**5_000, {1: "a", "b": 2}, {("a", "b"): 1}], ids=["huge", "mixed", "tuple"]
)
@pytest.mark.parametrize("read", [preflight, lint, count_tokens, lambda messages: summarize(messages, 200)])
def test_what_json_cannot_hold_is_refused_with_its_index(read: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(MalformedMessage, match="cannot be written as JSON") as refused:
        read(calling({"n": value}))
    assert refused.value.index == 1


@pytest.mark.parametrize("read", [preflight, count_tokens])
def test_a_huge_number_in_a_tool_is_refused_by_name(read: Callable[..., Any]) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"maximum": 10**5_000}}}
    with pytest.raises(FormatError, match=r"^tools: .* cannot be written as JSON"):
        read([{"role": "user", "content": "hi"}], tools=[tool])


def test_what_is_no_list_of_messages() -> None:
    for read in (lint, count_tokens):
        with pytest.raises(FormatError, match="messages must be a list"):
            read(None)  # type: ignore[operator]
    with pytest.raises(CompactError, match=r"config must be a CompactConfig.*CompactConfig\(\*\*settings\)"):
        CompactManager({"model": "gpt-4o"})  # type: ignore[arg-type]
