"""The Messages API: histories of OpenAI's format translated, and replies translated back."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from compact import lint
from compact.errors import ChatError
from compact.model.chat import CallMade, FinishReason, ReasoningPiece, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall, Usage
from compact.models._to_anthropic import translated, translated_tools
from compact.models.anthropic_chat import AnthropicChatModel
from support.wire_servers import AnthropicWire, Server, as_event, dripping, events, serving
from unit.formats import samples

WIRE = AnthropicWire()
ASK = [{"role": "user", "content": "How is the lamp?"}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
TEXT = (
    {"type": "text", "text": ""},
    [{"type": "text_delta", "text": "The lamp "}, {"type": "text_delta", "text": "is on."}],
)
USE = (
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
    [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"at": "漢', '字"}')],
)
THOUGHT = (
    {"type": "thinking", "thinking": "", "signature": ""},
    [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "sig=="}],
)


def model(server: Server, **options: Any) -> AnthropicChatModel:
    return AnthropicChatModel("claude-x", server.url, "sk-ant-test-123456", **options)


def reply(*data: Any) -> list[ReplyPiece]:
    with serving(events(*data, named=True)) as server:
        return list(model(server).stream(ASK))


def test_text_usage_and_the_message_back_in_openai_s_format() -> None:
    assert reply(*WIRE.streamed(TEXT)) == [
        TextPiece("The lamp "),
        TextPiece("is on."),
        ReplyEnd(
            FinishReason.STOP,
            {"role": "assistant", "content": "The lamp is on."},
            Usage(input=227, output=34, cache_read=100, cache_write=7),
        ),
    ]


@pytest.mark.parametrize("size", [1, 5])
def test_a_call_is_whole_wherever_the_stream_was_cut(size: int) -> None:
    raw = b"".join(as_event(event, named=True) for event in WIRE.streamed(TEXT, USE, stop="tool_use"))
    with serving(dripping(raw.replace(b"\n", b"\r\n"), size)) as server:
        *_, made, end = model(server).stream(ASK)
    assert made == CallMade(ToolCall("toolu_1", "look", '{"at": "漢字"}'))
    assert isinstance(end, ReplyEnd)
    assert end.reason is FinishReason.TOOL_CALLS
    function = {"name": "look", "arguments": '{"at": "漢字"}'}
    assert end.message["tool_calls"] == [{"id": "toolu_1", "type": "function", "function": function}]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    *_, made, _ = reply(
        *WIRE.streamed(({"type": "tool_use", "id": "t", "name": "look", "input": {}}, []), stop="tool_use")
    )
    assert made == CallMade(ToolCall("t", "look", "{}"))


def test_half_a_call_at_the_token_limit_is_left_out() -> None:
    *pieces, end = reply(*WIRE.streamed(TEXT, (USE[0], USE[1][:2]), stop="max_tokens"))
    assert all(isinstance(piece, TextPiece) for piece in pieces)
    assert isinstance(end, ReplyEnd)
    assert (end.reason, end.message.get("tool_calls")) == (FinishReason.LENGTH, None)


def test_a_call_with_broken_arguments_is_no_reply() -> None:
    bad = events(*WIRE.streamed((USE[0], USE[1][:2]), stop="tool_use"), named=True)
    with (
        serving(bad) as server,
        pytest.raises(ChatError, match="called look with arguments that are not JSON"),
    ):
        list(model(server, retries=0).stream(ASK))


def test_signed_thinking_goes_back_as_it_came() -> None:
    hidden = ({"type": "redacted_thinking", "data": "opaque=="}, [])
    with serving(
        events(*WIRE.streamed(THOUGHT, hidden, USE, stop="tool_use"), named=True),
        WIRE.stream("On."),
        WIRE.stream("On."),
    ) as server:
        thinking = model(server, extra={"thinking": {"type": "enabled", "budget_tokens": 1024}})
        first, *_, end = thinking.stream(ASK)
        assert first == ReasoningPiece("Hm.")
        assert isinstance(end, ReplyEnd)
        assert end.message["reasoning_content"] == "Hm."
        result = {"role": "tool", "tool_call_id": "toolu_1", "content": "on"}
        list(thinking.stream([*ASK, end.message, result]))
        list(model(server).stream([*ASK, end.message, result]))
        again, without = (request.body["messages"][1]["content"] for request in server.received[1:])
    assert again[:2] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "opaque=="},
    ]
    assert [block["type"] for block in again] == ["thinking", "redacted_thinking", "tool_use"]
    assert [block["type"] for block in without] == ["tool_use"], "a request without thinking gets none"


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("refusal", FinishReason.REFUSAL),
        ("stop_sequence", FinishReason.STOP),
        ("model_context_window_exceeded", FinishReason.LENGTH),
    ],
)
def test_reasons_to_stop(stop: str, reason: FinishReason) -> None:
    end = reply(*WIRE.streamed(TEXT, stop=stop))[-1]
    assert isinstance(end, ReplyEnd)
    assert end.reason is reason


def test_a_reply_that_was_not_streamed_is_told() -> None:
    with serving(WIRE.answer("On.")) as server, pytest.raises(ChatError, match="did not stream"):
        list(model(server).stream(ASK))


HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "You keep a lighthouse.", "meta": {"protected": True}},
    {"role": "developer", "content": [{"type": "text", "text": "Answer briefly."}]},
    {"role": "assistant", "content": "Summary so far."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/lamp.png"}},
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
            },
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call:1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
            {"id": "c2", "type": "function", "function": {"name": "ring", "arguments": "not json"}},
        ],
    },
    {"role": "tool", "tool_call_id": "call:1", "content": "on"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "system", "content": "The tide is high."},
    {"role": "user", "content": "And now?"},
    {"role": "user", "content": "   "},
]


def test_a_history_is_translated() -> None:
    before = copy.deepcopy(HISTORY)
    system, messages = translated(HISTORY)
    assert before == HISTORY
    assert [block["text"] for block in system] == ["You keep a lighthouse.", "Answer briefly."]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[0]["content"] == [{"type": "text", "text": "Continue."}]
    assert [block["type"] for block in messages[2]["content"]] == [
        "text",
        "image",
        "image",
        "document",
        "text",
    ]
    assert messages[2]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": PIXEL}
    assert messages[2]["content"][2]["source"] == {"type": "url", "url": "https://example.com/lamp.png"}
    assert "input_audio left out" in messages[2]["content"][4]["text"]
    assert messages[3]["content"] == [
        {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": 1}},
        {"type": "tool_use", "id": "c2", "name": "ring", "input": {"arguments": "not json"}},
    ]
    assert messages[4]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "on"},
        {"type": "tool_result", "tool_use_id": "c2"},
        {"type": "text", "text": "The tide is high."},
        {"type": "text", "text": "And now?"},
        {"type": "text", "text": "(nothing)"},
    ]
    assert lint(messages, provider="anthropic") == []


def test_results_come_first_whatever_stands_between_them() -> None:
    between = {"role": "system", "content": "The tide is high."}
    _, messages = translated([HISTORY[3], HISTORY[4], HISTORY[5], between, HISTORY[6]])
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert lint(messages, provider="anthropic") == []


def test_cache_breakpoints_stand_where_the_next_request_will_look() -> None:
    tools = [{"type": "function", "function": {"name": "look", "description": "Look."}}]
    with serving(WIRE.stream("On.")) as server:
        list(model(server).stream(HISTORY, tools=tools))
        body = server.received[0].body
        headers = server.received[0].headers
    marked = {"type": "ephemeral"}
    assert [block.get("cache_control") for block in body["system"]] == [None, marked]
    assert body["tools"][-1]["cache_control"] == marked
    assert body["tools"][0]["input_schema"] == {"type": "object", "properties": {}}
    marks = [[block.get("cache_control") for block in message["content"]] for message in body["messages"]]
    assert [any(row) for row in marks] == [False, False, True, False, True]
    assert marks[-1][-1] == marked
    assert (body["stream"], body["max_tokens"], body["model"]) == (True, 8_192, "claude-x")
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-ant-test-123456", "2023-06-01")


def test_the_request_is_one_that_the_official_package_would_send() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    items = samples.SAMPLES["openai-chat"]()
    tools = [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    ]
    for history in (items, HISTORY):
        with serving(WIRE.stream("Good.")) as server:
            list(model(server).stream(history, tools=tools, max_tokens=9))
            body = server.received[0].body
        TypeAdapter(MessageCreateParamsStreaming).validate_json(json.dumps(body), strict=False)
        assert lint(body["messages"], provider="anthropic") == []


def test_tools_may_come_without_their_wrapping() -> None:
    assert translated_tools([{"name": "look", "parameters": {"type": "object", "required": ["at"]}}]) == [
        {"name": "look", "input_schema": {"type": "object", "properties": {}, "required": ["at"]}}
    ]
