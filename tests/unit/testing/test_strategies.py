"""Generated conversations are valid, recognized, and hold what they promise."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compact.core.lint import lint_messages
from compact.errors import ConfigError
from compact.formats import by_name, decode_all
from compact.model.message import Image, Message, Reasoning, Role
from compact.testing.strategies import FORMATS, PROVIDERS, conversations, plans, protect_some
from compact.testing.wire import render

FEW = settings(max_examples=40)


def decoded(messages: list[Any], format: str) -> list[Message]:
    return decode_all(messages, by_name(format))


@pytest.mark.parametrize("format", FORMATS)
@FEW
@given(data=st.data())
def test_valid_for_its_own_provider_with_unique_call_ids(format: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(format, assistant_first=True, protected=True))
    assert by_name(format).recognizes(messages)
    read = decoded(messages, format)
    assert lint_messages(read, PROVIDERS[format]) == []
    ids = [call.call_id for message in read for call in message.calls]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("format", FORMATS)
@FEW
@given(data=st.data())
def test_valid_for_both_without_what_one_refuses(format: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(format, developer=False))
    for provider in ("openai", "anthropic"):
        assert lint_messages(decoded(messages, format), provider) == []


@FEW
@given(plan=plans())
def test_the_same_plan_gives_the_same_bytes(plan: Any) -> None:
    for format in FORMATS:
        first = json.dumps(render(plan, format))
        assert json.dumps(render(plan, format)) == first


def holds_parallel_calls(messages: list[Message]) -> bool:
    """Two calls in a row, in one message (chat) or in items that follow each other (Responses)."""
    run = 0
    for message in messages:
        run = run + len(message.calls) if message.role is Role.ASSISTANT else 0
        if run > 1:
            return True
    return False


def steps_in_a_turn(messages: list[Message]) -> int:
    most = now = 0
    for message in messages:
        now = 0 if message.role is Role.USER else now + (message.role is Role.TOOL)
        most = max(most, now)
    return most


FEATURES = {
    "parallel calls": holds_parallel_calls,
    "several steps in one turn": lambda messages: steps_in_a_turn(messages) >= 3,
    "signed reasoning": lambda messages: any(
        isinstance(part, Reasoning) and part.signature for m in messages for part in m.parts
    ),
    "images": lambda messages: any(isinstance(part, Image) for m in messages for part in m.parts),
    "a long output": lambda messages: any(len(r.text) > 8_000 for m in messages for r in m.results),
    "an empty output": lambda messages: any(r.text == "" for m in messages for r in m.results),
    "ends with the user": lambda messages: messages[-1].role is Role.USER,
    "ends with results": lambda messages: messages[-1].role is Role.TOOL,
    "ends with an answer": lambda messages: messages[-1].role is Role.ASSISTANT,
}


SAMPLE = settings(max_examples=120, database=None)


@cache
def sample(format: str) -> list[list[dict[str, Any]]]:
    drawn: list[list[dict[str, Any]]] = []

    @SAMPLE
    @given(conversations(format, assistant_first=True))
    def collect(messages: list[dict[str, Any]]) -> None:
        drawn.append(messages)

    collect()
    return drawn


@pytest.mark.parametrize("format", FORMATS)
def test_every_feature_turns_up(format: str) -> None:
    drawn = [decoded(messages, format) for messages in sample(format)]
    missing = {name for name, holds in FEATURES.items() if not any(holds(messages) for messages in drawn)}
    # Reasoning in chat messages has no signature.
    assert missing == ({"signed reasoning"} if format == "openai-chat" else set())


@pytest.mark.parametrize("format", [name for name in FORMATS if PROVIDERS[name] != "anthropic"])
def test_roles_that_not_everyone_takes(format: str) -> None:
    drawn = sample(format)
    assert any(decoded(messages, format)[0].role is Role.ASSISTANT for messages in drawn)
    roles = {message.get("role") for messages in drawn for message in messages}
    assert ("developer" in roles) == format.startswith(("openai", "llama-index"))


@FEW
@given(
    messages=conversations("openai-chat", tools=False, images=False, developer=False, unknown_fields=False)
)
def test_switches_switch_off(messages: list[dict[str, Any]]) -> None:
    assert all(isinstance(m["content"], str) for m in messages)
    assert {m["role"] for m in messages} <= {"system", "user", "assistant"}
    assert all("x_trace" not in m and "tool_calls" not in m for m in messages)


@FEW
@given(data=st.data())
def test_protect_some_leaves_the_given_list_alone(data: st.DataObject) -> None:
    messages = data.draw(conversations("openai-chat", max_turns=3))
    before = json.dumps(messages)
    marked = data.draw(protect_some(messages, at_most=2))
    assert json.dumps(messages) == before
    changed = [new for old, new in zip(messages, marked, strict=True) if new is not old]
    assert len(changed) <= 2 and all(m["meta"] == {"protected": True} for m in changed)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigError, match="openai-chat"):
        conversations("telegram")
