"""What the specification demands of messages in every format."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import CachePoint

from compact.formats import FORMAT_NAMES, by_name, decode_all
from compact.formats.recognition import PREFERENCE
from compact.model.message import (
    CompactionMarker,
    Message,
    MessageKind,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    make,
)
from compact.testing.formats import CLEARED, cleared
from unit.formats.samples import SAMPLES


def found_parts(name: str) -> set[type]:
    return {type(part) for message in decode_all(SAMPLES[name](), by_name(name)) for part in message.parts}


@pytest.mark.spec("S2.1")
@pytest.mark.parametrize("name", PREFERENCE)
def test_messages_are_made_of_typed_parts(name: str) -> None:
    assert found_parts(name) >= {Text, ToolCall, ToolResult, Reasoning}
    assert (StepStart in found_parts(name)) == (name == "ai-sdk-ui")


@pytest.mark.spec("S2.1")
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_part_carries_its_count_and_a_cleared_result_when_and_how_much(name: str) -> None:
    """Counts are notes of ours: with them a message is still the caller's object."""
    format, items = by_name(name), SAMPLES[name]()
    counted = [
        replace(message, tokens=9, parts=tuple(replace(part, tokens=3) for part in message.parts))
        for message in decode_all(items, format)
    ]
    assert all(out is given for out, given in zip(format.encode(counted), items, strict=True))

    at = next(at for at, message in enumerate(counted) if message.results)
    pruned = cleared(counted[at])
    noted = tuple(
        replace(part, original_tokens=3) if isinstance(part, ToolResult) else part for part in pruned.parts
    )
    counted[at] = replace(pruned, parts=noted)
    assert {result.original_tokens for result in counted[at].results} == {3}
    again = decode_all(format.encode(counted), format)
    assert {result.text for result in again[at].results} == {CLEARED}


@pytest.mark.spec("S2.1")
def test_a_message_carries_what_its_source_says_of_it() -> None:
    item = {
        "role": "assistant",
        "content": "",
        "id": "m1",
        "created_at": 1700000000,
        "model": "claude-x",
        "stop_reason": "max_tokens",
        "error": "overloaded",
        "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3},
    }
    (message,) = by_name("anthropic").decode(item, 0)
    assert (message.id, message.created, message.model) == ("m1", 1700000000.0, "claude-x")
    assert (message.finish_reason, message.error) == ("max_tokens", "overloaded")
    assert message.usage == Usage(input=4, output=2, cache_read=3)


@pytest.mark.spec("S2.1")
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_marker_goes_out_as_its_summary(name: str) -> None:
    marker = CompactionMarker("8 turns went.", compacted_at=1.0, messages_replaced=8, tokens_replaced=900)
    own = Message(Role.USER, (marker,), b"x", kind=MessageKind.MARKER)
    format = by_name(name)
    (message,) = decode_all(format.encode([own]), format)
    assert (message.role, message.text) == (Role.USER, "8 turns went.")


ROLE_FIELDS = {
    "gemini": ("role", "user", "model"),
    "langchain": ("type", "human", "ai"),
    "pydantic-ai": ("kind", "request", "response"),
}
"""Where the role stands, and what the two are called, where it is not `role`, `user`, `assistant`."""


@pytest.mark.spec("S1.2")
@pytest.mark.parametrize("name", PREFERENCE)
def test_all_turns_go_out_in_order_each_with_its_role(name: str) -> None:
    format = by_name(name)
    turns = [(Role.USER if n % 2 == 0 else Role.ASSISTANT, f"turn {n}") for n in range(20)]
    encoded = format.encode([make(MessageKind.BRIDGE, role, text) for role, text in turns])
    field, user, assistant = ROLE_FIELDS.get(name, ("role", "user", "assistant"))
    assert [item[field] for item in encoded] == [user, assistant] * 10
    again = decode_all(encoded, format)
    assert [(message.role, message.text) for message in again] == turns


VOLATILE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "openai-chat",
        {"role": "user", "content": "x"},
        {"id": "m1", "timestamp": 5, "refusal": None, "meta": {}},
    ),
    ("openai-responses", {"role": "user", "content": "x"}, {"id": "m1", "status": "completed"}),
    (
        "openai-responses",
        {"type": "web_search_call", "action": {"query": "q"}},
        {"id": "ws", "status": "completed", "created_by": "x", "error": None},
    ),
    ("anthropic", {"role": "assistant", "content": "x"}, {"id": "m1", "model": "m", "stop_reason": None}),
    ("ai-sdk-ui", {"role": "user", "parts": []}, {"id": "m1", "metadata": {"createdAt": 5}}),
    ("ai-sdk-model", {"role": "user", "content": "x"}, {"providerOptions": {"a": {"cacheControl": {}}}}),
]


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize(("name", "item", "extra"), VOLATILE)
def test_volatile_fields_do_not_count_in_prefix_comparison(
    name: str, item: dict[str, Any], extra: dict[str, Any]
) -> None:
    format = by_name(name)
    assert format.decode({**item, **extra}, 0)[0].digest == format.decode(item, 0)[0].digest


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize("name", PREFERENCE)
def test_cache_marks_anywhere_do_not_count_in_prefix_comparison(name: str) -> None:
    format, items = by_name(name), SAMPLES[name]()
    marked = copy.deepcopy(items)
    assert _mark(marked)
    before, after = decode_all(items, format), decode_all(marked, format)
    assert [message.digest for message in after] == [message.digest for message in before]


def _mark(value: Any) -> int:
    """Put a cache mark on every message and every typed part, however deep; say on how many."""
    if isinstance(value, list):
        return sum(_mark(inner) for inner in value)
    if not isinstance(value, dict):
        return 0
    # What a tool was asked or answered is content: a mark in there would be the caller's data.
    skipped = ("input", "output", "action", "operation", "value")
    inner = sum(_mark(held) for key, held in value.items() if key not in skipped)
    if not value.keys().isdisjoint(("type", "role", "kind", "part_kind")):
        value["cache_control"] = {"type": "ephemeral"}
        return inner + 1
    return inner


@pytest.mark.spec("S2.14")
def test_a_cache_point_of_its_own_does_not_count_either() -> None:
    """Bedrock and Pydantic AI have no mark on a part; they put an entry between the parts."""
    bedrock = by_name("bedrock")
    said = {"role": "user", "content": [{"text": "x"}]}
    marked = {**said, "content": [{"text": "x"}, {"cachePoint": {"type": "default"}}]}
    assert bedrock.decode(marked, 0)[0].digest == bedrock.decode(said, 0)[0].digest

    pydantic_ai = by_name("pydantic-ai")
    for point in (CachePoint(), {"kind": "cache-point", "ttl": "5m"}):
        plain, with_point = (
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": content}]}
            for content in (["x"], ["x", point])
        )
        assert pydantic_ai.decode(with_point, 0)[0].digest == pydantic_ai.decode(plain, 0)[0].digest


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_what_is_said_does_count(name: str) -> None:
    format, items = by_name(name), SAMPLES[name]()
    digests = [message.digest for message in decode_all(items, format)]
    assert len(set(digests)) == len(digests)
