"""What the formats encode passes the official packages' own request types."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from compact.formats import by_name, decode_all
from compact.formats.anthropic import with_cache_breakpoints
from compact.model.message import Message, MessageKind, Role, make
from compact.testing.formats import CLEARED, INTERRUPTED, cleared, interrupted, without_steps
from unit.formats import samples

CHAT, RESPONSES, ANTHROPIC = "openai-chat", "openai-responses", "anthropic"
NAMES = (CHAT, RESPONSES, ANTHROPIC)


@pytest.fixture(scope="module")
def adapters() -> dict[str, TypeAdapter[Any]]:
    from agents import TResponseInputItem
    from anthropic.types import MessageParam
    from openai.types.chat import ChatCompletionMessageParam

    return {
        CHAT: TypeAdapter(ChatCompletionMessageParam),
        RESPONSES: TypeAdapter(TResponseInputItem),
        ANTHROPIC: TypeAdapter(MessageParam),
    }


def sample(name: str) -> list[dict[str, Any]]:
    """The rich sample without what no SDK type allows: part types and fields that are unknown on purpose."""
    items = copy.deepcopy(samples.SAMPLES[name]())
    for item in items:
        if isinstance(item.get("content"), list):
            item["content"] = [part for part in item["content"] if part["type"] != "hologram"]
    return items


def unchanged(messages: list[Message]) -> list[Message]:
    return messages


def all_cleared(messages: list[Message]) -> list[Message]:
    return [cleared(message) if message.results else message for message in messages]


def steps_dropped(messages: list[Message]) -> list[Message]:
    return without_steps(messages, {"c1", "c2"})


def compacted(messages: list[Message]) -> list[Message]:
    lead = [message for message in messages if message.role in (Role.SYSTEM, Role.DEVELOPER)]
    own = [
        make(MessageKind.SUMMARY_TRIGGER, Role.USER, "What have we accomplished?"),
        make(MessageKind.SUMMARY, Role.ASSISTANT, "A summary."),
        make(MessageKind.CONTEXT, Role.SYSTEM, "Some context."),
        make(MessageKind.BRIDGE, Role.USER, "Continue."),
    ]
    return [*lead, *own, *all_cleared(steps_dropped(messages[len(lead) :]))]


def all_interrupted(messages: list[Message]) -> list[Message]:
    return interrupted(messages, {call.call_id for message in messages for call in message.calls})


def validate(adapter: TypeAdapter[Any], item: Any) -> None:
    """Check, and walk into what pydantic validates only when it is read (`Iterable` fields)."""
    _drain(adapter.validate_python(item))


def _drain(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _drain(inner)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for inner in value:
            _drain(inner)


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [unchanged, all_cleared, steps_dropped, compacted, all_interrupted])
def test_encoded_messages_pass_the_official_request_types(
    adapters: dict[str, TypeAdapter[Any]],
    name: str,
    change: Callable[[list[Message]], list[Message]],
) -> None:
    format = by_name(name)
    encoded = format.encode(change(decode_all(sample(name), format)))
    assert encoded
    for item in encoded:
        validate(adapters[name], item)


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c", "name": "look", "input": "x"},
        {"type": "computer_call", "call_id": "c", "action": {"type": "screenshot"}},
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "mcp_approval_request", "id": "c", "name": "look", "arguments": "{}"},
        {"type": "program", "call_id": "c", "code": "1"},
        {"type": "tool_search_call", "call_id": "c", "arguments": {}},
    ],
    ids=lambda call: str(call["type"]),
)
def test_every_kind_of_call_can_be_answered(adapters: dict[str, TypeAdapter[Any]], call: Any) -> None:
    format = by_name(RESPONSES)
    given, answer = format.encode(all_interrupted(decode_all([call], format)))
    assert given is call
    validate(adapters[RESPONSES], answer)
    ((result,),) = (message.results for message in format.decode(answer, 1))
    assert result.call_id == "c" and result.text in (INTERRUPTED, "")


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        (CHAT, {"role": "tool", "content": CLEARED}),
        (CHAT, {"role": "nobody", "content": "x"}),
        (CHAT, {"role": "user", "content": [{"type": "text"}]}),
        (RESPONSES, {"type": "function_call_output", "call_id": "c"}),
        (RESPONSES, {"type": "computer_call_output", "call_id": "c", "output": CLEARED}),
        (RESPONSES, {"type": "shell_call_output", "call_id": "c", "output": CLEARED}),
        (ANTHROPIC, {"role": "tool", "content": "x"}),
        (ANTHROPIC, {"role": "user", "content": [{"type": "tool_result", "content": CLEARED}]}),
        (ANTHROPIC, {"role": "user", "content": [{"type": "text", "text": 3}]}),
    ],
)
def test_the_check_can_fail(adapters: dict[str, TypeAdapter[Any]], name: str, broken: Any) -> None:
    with pytest.raises(ValidationError):
        validate(adapters[name], broken)


@pytest.mark.spec("S2.14")
def test_marked_requests_pass_anthropics_types(adapters: dict[str, TypeAdapter[Any]]) -> None:
    from anthropic.types import TextBlockParam, ToolUnionParam

    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    system, marked_tools, messages = with_cache_breakpoints("Be careful.", tools, sample(ANTHROPIC), [1, 4])
    validate(TypeAdapter(list[TextBlockParam]), system)
    validate(TypeAdapter(list[ToolUnionParam]), marked_tools)
    for message in messages:
        validate(adapters[ANTHROPIC], message)


def test_sdk_objects_decode_and_come_back_as_themselves() -> None:
    from anthropic.types import TextBlock, ToolUseBlock
    from openai.types.chat import ChatCompletionMessage
    from openai.types.responses import ResponseFunctionToolCall

    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    reply = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]})
    chat = by_name(CHAT)
    (message,) = chat.decode(reply, 0)
    assert [(found.call_id, found.name) for found in message.calls] == [("c1", "look")]
    assert chat.encode([message]) == [reply] and chat.encode([message])[0] is reply
    as_dict = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert message.digest == chat.decode(as_dict, 0)[0].digest

    item = ResponseFunctionToolCall(type="function_call", call_id="c1", name="look", arguments="{}")
    responses = by_name(RESPONSES)
    (message,) = responses.decode(item, 0)
    assert message.calls[0].name == "look" and responses.encode([message])[0] is item

    blocks = [
        TextBlock(type="text", text="Hm."),
        ToolUseBlock(type="tool_use", id="c1", name="look", input={}),
    ]
    anthropic = by_name(ANTHROPIC)
    (message,) = anthropic.decode({"role": "assistant", "content": blocks}, 0)
    assert message.text == "Hm." and message.calls[0].call_id == "c1"
