"""OpenAI chat: what is read, what is refused, how a changed message is rebuilt."""

from __future__ import annotations

from typing import Any

import pytest

from compact.errors import FormatError, MalformedMessage
from compact.formats import by_name
from compact.formats.openai_chat import OpenAIChat
from compact.model.message import (
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    with_parts,
)
from unit.formats.samples import PNG, chat

FORMAT = by_name("openai-chat")
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def parts(item: Any) -> tuple[Any, ...]:
    (message,) = FORMAT.decode(item, 0)
    return message.parts


def test_content_arrays_become_typed_parts() -> None:
    text, picture, sound, document, unknown = parts(chat()[2])
    assert text == Text("What is in these?")
    assert picture == Image(f"data:image/png;base64,{PNG}", "image/png", 3, 2, "low")
    assert sound == File("UklGRg==", media_type="audio/wav")
    assert document == File("data:application/pdf;base64,AAAA", "a.pdf")
    assert unknown == Opaque("hologram", '{"beam":7,"type":"hologram"}')


def test_an_assistant_message_with_calls_only() -> None:
    assert parts(chat()[3]) == (
        Reasoning("Look at both."),
        ToolCall("c1", "look", '{"at": 1}'),
        ToolCall("c2", "grep", "needle"),
    )


def test_the_callers_own_strings_are_referred_to() -> None:
    item = {"role": "user", "content": "x" * 1000}
    assert parts(item)[0].text is item["content"]


def test_legacy_function_calls_pair_by_name() -> None:
    (asked,) = FORMAT.decode(chat()[6], 0)
    (answer,) = FORMAT.decode(chat()[7], 1)
    assert asked.calls[0].call_id == answer.results[0].call_id == "function:read"
    assert answer.role is Role.TOOL


@pytest.mark.parametrize("content", [None, "", []])
def test_an_aborted_reply_is_empty_but_sound(content: Any) -> None:
    assert parts({"role": "assistant", "content": content}) == ()


def test_what_a_message_says_about_itself() -> None:
    (message,) = FORMAT.decode(
        {
            "role": "assistant",
            "content": "Hi.",
            "id": "m1",
            "name": "bot",
            "created_at": "2024-01-01T00:00:00Z",
            "model": "gpt-4o",
            "finish_reason": "length",
            "error": {"message": "cut off"},
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
        },
        0,
    )
    told = (message.id, message.name, message.created, message.model, message.finish_reason, message.error)
    assert told == ("m1", "bot", 1704067200.0, "gpt-4o", "length", "cut off")
    assert message.usage == Usage(input=10, output=2, cache_read=8)


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"content": "x"}, "no role"),
        ({"role": "human", "content": "x"}, "unknown role 'human'"),
        ({"role": ["user"], "content": "x"}, "unknown role"),
        ({"role": "user"}, "content must be a string or an array of parts, but is missing or null"),
        ({"role": "user", "content": 5}, "got number"),
        ({"role": "user", "content": {"text": "x"}}, "got object"),
        ({"role": "user", "content": ["x"]}, "content[0] must be an object, got string"),
        ({"role": "user", "content": [{"text": "x"}]}, "content[0] has no type"),
        ({"role": "user", "content": [{"type": "text"}]}, "content[0] has no text"),
        ({"role": "user", "content": [{"type": "text", "text": 1}]}, "must be a string, got number"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "has no url"),
        ({"role": "tool", "content": "x"}, "the tool message has no tool_call_id"),
        ({"role": "tool", "content": "x", "tool_call_id": ""}, "empty tool_call_id"),
        ({"role": "tool", "content": None, "tool_call_id": "c"}, "but is missing or null"),
        ({"role": "function", "content": "x"}, "the function message has no name"),
        ({"role": "assistant", "tool_calls": "c1"}, "tool_calls must be an array, got string"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "tool_calls[0] has no id"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, "tool_calls[0].function must be an object"),
        ({"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": ""}}]}, "has no name"),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": 3}}]},
            "arguments must be a string or an object, got number",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
            "tool_calls[0].function has no arguments",
        ),
    ],
)
def test_broken_messages_are_refused_with_index_and_reason(item: Any, problem: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        FORMAT.decode(item, 7)
    assert caught.value.index == 7
    assert problem in caught.value.problem


def test_a_cleared_result_keeps_every_other_field() -> None:
    item = {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "long", "x": 1, "meta": {"a": 1}}
    (message,) = FORMAT.decode(item, 0)
    (encoded,) = FORMAT.encode([with_parts(message, (ToolResult("c1", "gone", cleared_at=1.0),))])
    assert encoded == {**item, "content": "gone"}
    assert item["content"] == "long"


def test_calls_can_go_while_the_text_stays() -> None:
    item = {"role": "assistant", "content": "Looking.", "tool_calls": [CALL], "x": 1}
    (message,) = FORMAT.decode(item, 0)
    assert FORMAT.encode([with_parts(message, (Text("Looking."),))]) == [
        {"role": "assistant", "content": "Looking.", "x": 1}
    ]


def test_one_of_two_parallel_calls_can_go() -> None:
    item = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]}
    (message,) = FORMAT.decode(item, 0)
    (encoded,) = FORMAT.encode([with_parts(message, message.parts[1:])])
    assert encoded == {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "c2"}]}


def test_text_can_take_the_place_of_calls() -> None:
    item = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    (message,) = FORMAT.decode(item, 0)
    assert FORMAT.encode([with_parts(message, (Text("(looked)"),))]) == [
        {"role": "assistant", "content": "(looked)"}
    ]


def test_parts_of_an_array_go_one_by_one() -> None:
    item = chat()[2]
    (message,) = FORMAT.decode(item, 0)
    (encoded,) = FORMAT.encode([with_parts(message, (message.parts[0], Text("new"), message.parts[4]))])
    assert encoded["content"] == [
        item["content"][0],
        {"type": "text", "text": "new"},
        item["content"][4],
    ]


def test_a_part_from_nowhere_is_refused() -> None:
    (message,) = FORMAT.decode({"role": "assistant", "content": "x"}, 0)
    with pytest.raises(FormatError, match="ToolCall"):
        FORMAT.encode([with_parts(message, (ToolCall("c9", "f", "{}"),))])


def test_only_text_can_be_created() -> None:
    from compact.model.message import Message, MessageKind

    with pytest.raises(FormatError, match="StepStart"):
        FORMAT.encode([Message(Role.USER, (StepStart(),), b"", kind=MessageKind.BRIDGE)])


def test_the_same_object_twice_stays_twice() -> None:
    item = {"role": "user", "content": "again"}
    messages = [message for index in range(2) for message in FORMAT.decode(item, index)]
    assert FORMAT.encode(messages) == [item, item]


def test_every_field_of_a_reply_can_go() -> None:
    item = {
        "role": "assistant",
        "content": "Hi.",
        "refusal": "No.",
        "audio": {"id": "a1"},
        "reasoning_content": "Hm.",
        "function_call": {"name": "f", "arguments": "{}"},
    }
    (message,) = FORMAT.decode(item, 0)
    assert [type(part).__name__ for part in message.parts] == [
        "Reasoning",
        "Text",
        "Text",
        "Opaque",
        "ToolCall",
    ]
    assert FORMAT.encode([with_parts(message, (Text("Hi."),))]) == [{"role": "assistant", "content": "Hi."}]
    assert FORMAT.encode([with_parts(message, ())]) == [{"role": "assistant", "content": ""}]


def test_pictures_in_a_tool_output_are_media() -> None:
    picture = {"type": "image_url", "image_url": "https://e.org/a.png"}
    item = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "a"}, picture]}
    (message,) = FORMAT.decode(item, 0)
    assert message.results == (ToolResult("c", "a", media=(Image("https://e.org/a.png"),)),)


_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "user", "content": "hello"},
        {"role": "developer", "content": "hello"},
        {"role": "assistant", "content": "hello"},
        {"role": "assistant", "content": ""},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**_CALL, "function": {"name": "n", "arguments": {}}}],
        },
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": None, "name": "ann"},
        {"role": "user", "content": "hello", "name": "ann"},
    ],
)
def test_common_shapes_are_read_as_all_others_are(raw: dict[str, Any]) -> None:
    format = by_name("openai-chat")
    [quick], [usual] = format.decode(raw, 3), super(OpenAIChat, format).decode(raw, 3)  # type: ignore[misc]
    for name in Message.__slots__:
        assert getattr(quick, name) == getattr(usual, name), name
