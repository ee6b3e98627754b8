"""Chat completions: what is sent, and what is made of a streamed reply."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from compact.errors import ChatError, ContextOverflow
from compact.model.chat import CallMade, FinishReason, ReasoningPiece, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall, Usage
from compact.models.openai_chat import OpenAIChatModel
from support.wire_servers import OpenAIWire, Server, as_event, dripping, events, serving, status
from unit.formats import samples

WIRE = OpenAIWire()
ASK = [{"role": "user", "content": "How is the lamp?"}]
TOOLS = [
    {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
]


def model(server: Server, **options: Any) -> OpenAIChatModel:
    return OpenAIChatModel("tiny", server.url, "sk-test-key-123456", **options)


def reply(*data: Any) -> list[ReplyPiece]:
    with serving(events(*data)) as server:
        return list(model(server).stream(ASK))


def end_of(*data: Any) -> ReplyEnd:
    end = reply(*data)[-1]
    assert isinstance(end, ReplyEnd)
    return end


def call(index: int | None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    delta = {**({} if index is None else {"index": index}), **fields, "function": function}
    return {"tool_calls": [delta]}


def test_text_comes_as_it_is_sent_and_the_message_is_the_whole() -> None:
    deltas = [{"role": "assistant", "content": ""}, {"content": "The lamp "}, {"content": "is on."}]
    assert reply(*WIRE.streamed(*deltas)) == [
        TextPiece("The lamp "),
        TextPiece("is on."),
        ReplyEnd(
            FinishReason.STOP,
            {"role": "assistant", "content": "The lamp is on."},
            Usage(input=120, output=34, cache_read=100),
        ),
    ]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_cuts_inside_characters_and_lines_change_nothing(newline: bytes, size: int) -> None:
    deltas = [
        {"content": "żółw 🐢"},
        call(0, id="c1", name="look", arguments='{"at": "漢'),
        call(0, arguments='字"}'),
    ]
    raw = b": wait\n\n" + b"".join(map(as_event, WIRE.streamed(*deltas, finish="tool_calls")))
    with serving(dripping(raw.replace(b"\n", newline), size)) as server:
        pieces = list(model(server).stream(ASK))
    assert pieces[:2] == [TextPiece("żółw 🐢"), CallMade(ToolCall("c1", "look", '{"at": "漢字"}'))]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_told_apart_from_the_answer(key: str) -> None:
    *pieces, end = reply(*WIRE.streamed({key: "Hm, "}, {key: "the lamp."}, {"content": "On."}))
    assert pieces == [ReasoningPiece("Hm, "), ReasoningPiece("the lamp."), TextPiece("On.")]
    assert isinstance(end, ReplyEnd)
    assert end.message == {"role": "assistant", "content": "On.", "reasoning_content": "Hm, the lamp."}


CALLS = {
    "by index, interleaved": [
        call(0, id="a", name="look", arguments=""),
        call(1, id="b", name="ring", arguments='{"n'),
        call(0, arguments="{}"),
        call(1, arguments='":2}'),
    ],
    "without an index": [
        call(None, id="a", name="look", arguments="{}"),
        call(None, id="b", name="ring", arguments='{"n'),
        call(None, arguments='":2}'),
    ],
    "all at index 0": [
        call(0, id="a", name="look", arguments="{}"),
        call(0, id="b", name="ring", arguments='{"n":2}'),
    ],
    "name and id repeated": [
        call(0, id="a", name="look", arguments="{"),
        call(0, id="a", name="look", arguments="}"),
        call(1, id="b", name="ring", arguments='{"n":2}'),
    ],
    "no arguments at all": [call(0, id="a", name="look"), call(1, id="b", name="ring", arguments='{"n":2}')],
    "arguments as an object": [
        call(0, id="a", name="look", arguments={}),
        call(1, id="b", name="ring", arguments='{"n":2}'),
    ],
}


@pytest.mark.parametrize("deltas", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_calls_are_gathered_however_they_are_split(deltas: list[Any], finish: str) -> None:
    *pieces, end = reply(*WIRE.streamed(*deltas, finish=finish))
    assert pieces == [CallMade(ToolCall("a", "look", "{}")), CallMade(ToolCall("b", "ring", '{"n":2}'))]
    assert isinstance(end, ReplyEnd)
    assert end.reason is FinishReason.TOOL_CALLS
    assert end.message["content"] is None
    made = [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in end.message["tool_calls"]]
    assert made == [("a", "look", "{}"), ("b", "ring", '{"n":2}')]


def test_a_call_without_an_id_gets_one() -> None:
    end = end_of(*WIRE.streamed(call(0, name="look", arguments="{}"), finish="tool_calls"))
    assert end.message["tool_calls"][0]["id"].startswith("call_")


def test_half_a_call_at_the_token_limit_is_left_out() -> None:
    deltas = [{"content": "Let me look."}, call(0, id="a", name="look", arguments='{"at": "ha')]
    *pieces, end = reply(*WIRE.streamed(*deltas, finish="length"))
    assert pieces == [TextPiece("Let me look.")]
    assert isinstance(end, ReplyEnd)
    assert (end.reason, end.message) == (
        FinishReason.LENGTH,
        {"role": "assistant", "content": "Let me look."},
    )


def test_a_call_with_broken_arguments_is_no_reply() -> None:
    bad = events(*WIRE.streamed(call(0, id="a", name="look", arguments='{"at": '), finish="tool_calls"))
    with (
        serving(bad) as server,
        pytest.raises(ChatError, match="called look with arguments that are not JSON"),
    ):
        list(model(server, retries=0).stream(ASK))


def test_a_refusal_is_text_with_its_reason() -> None:
    end = end_of(*WIRE.streamed({"refusal": "I can't "}, {"refusal": "do that."}))
    assert (end.reason, end.message["content"]) == (FinishReason.REFUSAL, "I can't do that.")


def test_a_content_filter_is_told() -> None:
    with serving(events(*WIRE.streamed({"content": "So "}, finish="content_filter"))) as server:
        got = model(server).stream(ASK)
        assert next(got) == TextPiece("So ")
        with pytest.raises(ChatError, match="content filter"):
            next(got)


def test_a_missing_end_mark_is_no_matter_after_the_finish() -> None:
    end = end_of(*WIRE.streamed({"content": "On."})[:2])
    assert (end.reason, end.message["content"], end.usage) == (FinishReason.STOP, "On.", None)


def test_a_missing_finish_is_no_matter_before_the_end_mark() -> None:
    assert end_of(*WIRE.streamed({"content": "On."}, finish=None)).reason is FinishReason.STOP


def test_a_server_that_does_not_stream_is_understood() -> None:
    with serving(WIRE.answer("On.", reasoning_content="Hm.")) as server:
        pieces = list(model(server).stream(ASK))
    assert pieces[:2] == [ReasoningPiece("Hm."), TextPiece("On.")]
    assert isinstance(pieces[-1], ReplyEnd)
    assert pieces[-1].usage == Usage(input=120, output=34, cache_read=100)


def test_what_is_sent() -> None:
    history = [
        {"role": "system", "content": "You keep a lighthouse.", "meta": {"protected": True}},
        {"role": "user", "content": "Is it on?", "timestamp": 7, "name": "ann"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", "thinking_blocks": []},
        {"role": "user", "content": "password=hunter2secret"},
    ]
    before = copy.deepcopy(history)
    with serving(WIRE.stream("Good.")) as server:
        list(model(server, extra={"temperature": 0}).stream(history, tools=TOOLS, max_tokens=9))
        request = server.received[0]
    assert history == before
    assert request.path == "/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-test-key-123456"
    assert request.body == {
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "You keep a lighthouse."},
            {"role": "user", "content": "Is it on?", "name": "ann"},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "password=hunter2secret"},
        ],
        "tools": TOOLS,
        "max_tokens": 9,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
    }


def test_the_request_is_one_that_the_official_package_would_send() -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    items = copy.deepcopy(samples.SAMPLES["openai-chat"]())
    for item in items:
        if isinstance(item.get("content"), list):
            item["content"] = [part for part in item["content"] if part["type"] != "hologram"]
    with serving(WIRE.stream("Good.")) as server:
        list(model(server).stream(items, tools=TOOLS, max_tokens=9))
        body = server.received[0].body
    TypeAdapter(CompletionCreateParamsStreaming).validate_json(json.dumps(body), strict=False)
    assert len(body["messages"]) == len(items)


def test_what_a_server_does_not_take_is_left_out_from_then_on() -> None:
    renamed = WIRE.error(
        400, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    unknown = WIRE.error(400, "Unrecognized request argument supplied: stream_options")
    with serving(renamed, unknown, WIRE.stream("Good."), WIRE.stream("Good.")) as server:
        client = model(server)
        list(client.stream(ASK, max_tokens=9))
        list(client.stream(ASK, max_tokens=8))
        bodies = [request.body for request in server.received]
    assert [("max_tokens" in body, "stream_options" in body) for body in bodies] == [
        (True, True),
        (False, True),
        (False, False),
        (False, False),
    ]
    assert bodies[-1]["max_completion_tokens"] == 8


OVERFLOWS = {
    "The maximum context length is 8192 tokens. However, your messages resulted in 9,001 tokens.": 9001,
    "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8901 in the "
    "messages, 100 in the completion).": 9001,
    "This endpoint's maximum context length is 8192 tokens. However, you requested about 9001 tokens.": 9001,
    "You passed 9001 input tokens and requested 1 output tokens. However, the model's maximum context "
    "length is only 8192 tokens.": 9001,
    "prompt is too long: 9001 tokens > 8192 maximum": 9001,
    "input length and `max_tokens` exceed context limit: 8001 + 1000 > 8192": 9001,
    "the request exceeds the available context size (8192)": None,
}


@pytest.mark.parametrize(("words", "tokens"), OVERFLOWS.items())
def test_an_overflow_is_told_with_the_server_s_counts(words: str, tokens: int | None) -> None:
    with serving(WIRE.error(400, words)) as server, pytest.raises(ContextOverflow) as caught:
        list(model(server).stream(ASK))
    assert (caught.value.tokens, caught.value.window) == (tokens, 8192)


def test_an_overflow_without_counts_is_one_too() -> None:
    said = {"error": {"code": "context_length_exceeded", "message": "Your input exceeds the context window."}}
    with serving(status(400, said)) as server, pytest.raises(ContextOverflow) as caught:
        list(model(server).stream(ASK))
    assert (caught.value.tokens, caught.value.window) == (None, None)


def test_an_emoji_cut_in_two_pieces_arrives_whole() -> None:
    # Servers that count UTF-16 units cut surrogate pairs; JSON carries each half by itself.
    deltas = [{"content": "a \ud83d"}, {"content": "\ude00 b"}, {"content": "\ud83d"}]
    raw = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in WIRE.streamed(*deltas)[:-1])
    with serving(dripping(raw + b"data: [DONE]\n\n", 4_096)) as server:
        *pieces, end = model(server).stream(ASK)
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == "a 😀 b\ufffd"
    assert isinstance(end, ReplyEnd) and end.message["content"] == "a 😀 b\ufffd"


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [{"delta": 5}]},
        {"choices": [5]},
        {"choices": [{"delta": {"tool_calls": 5}}]},
        {"choices": [{"delta": {"tool_calls": ["x"]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": [], "function": "x"}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": 5}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": {"a": 1}}]},
        {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": "x"}},
    ],
)
def test_an_event_of_no_known_form_is_a_chat_error_or_is_skipped(event: dict[str, Any]) -> None:
    first, *_ = WIRE.streamed({"content": "It began"})
    got: list[ReplyPiece] = []
    with serving(events(first, event)) as server, pytest.raises(ChatError) as caught:
        for piece in model(server).stream(ASK):
            got.append(piece)
        assert isinstance(got[-1], ReplyEnd)
        raise ChatError("none was needed")
    assert got[0] == TextPiece("It began")
    assert "\n" not in str(caught.value)
