from __future__ import annotations

import pytest

from compact.errors import SummarizerError, SummaryRefused
from compact.model.message import Usage
from compact.model.summary import RefusalReason
from compact.summarizers._http import InputTooLong
from compact.summarizers.anthropic import AnthropicSummarizer
from support.conversations import asking, lighthouse
from support.wire_servers import AnthropicWire, Server, serving

WIRE = AnthropicWire()
SUMMARY = "The lamp schedule is in the right zone now; relay 3 does not answer [m6]."
SYSTEM = [{"type": "text", "text": "You keep lighthouses.", "cache_control": {"type": "ephemeral"}}]
PREFIX = ({"role": "user", "content": "Repair the lamp.", "meta": {"protected": True}},)
TOOLS = ({"name": "run", "input_schema": {"type": "object"}},)
TOOL_USE = {"type": "tool_use", "id": "t", "name": "run", "input": {}}


def client(server: Server, **options: object) -> AnthropicSummarizer:
    settings: dict = {"api_key": "sk-ant-test-123456", "timeout": 20.0, "retries": 0} | options
    return AnthropicSummarizer("claude-tiny", server.url, **settings)


def test_one_request_and_its_summary() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        summary = client(server).summarize(asking(*lighthouse(), max_tokens=300))

    assert summary.text == SUMMARY
    assert (summary.model, summary.strategy, summary.tokens) == ("served-claude", "task_state", 34)
    assert summary.usage == Usage(input=120, output=34, cache_read=100, cache_write=7)
    [sent] = server.received
    assert sent.path == WIRE.path
    assert sent.headers["x-api-key"] == "sk-ant-test-123456"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.body["model"] == "claude-tiny"
    assert (sent.body["max_tokens"], sent.body["temperature"]) == (300, 0.0)
    assert "seed" not in sent.body
    assert "at most 300 tokens" in sent.body["system"]
    [transcript] = sent.body["messages"]
    assert transcript["role"] == "user" and transcript["content"].startswith("<transcript>\n[m0] user: ")


def test_an_address_with_or_without_its_version() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        AnthropicSummarizer("claude-tiny", server.url + "/v1/").summarize(asking(*lighthouse()))
    assert server.received[0].path == "/v1/messages"


async def test_asynchronously() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        assert (await client(server).asummarize(asking(*lighthouse()))).text == SUMMARY


def test_streaming_gives_the_same() -> None:
    with serving(WIRE.stream(SUMMARY)) as server:
        summary = client(server, extra={"stream": True}).summarize(asking(*lighthouse()))
    assert summary.text == SUMMARY
    assert summary.usage == Usage(input=120, output=34, cache_read=100, cache_write=7)
    assert summary.model == "served-claude"


@pytest.mark.spec("S4.18")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (WIRE.answer("It goes on and", stop="max_tokens"), RefusalReason.TOO_LONG),
        (WIRE.stream("It goes on and", stop="max_tokens"), RefusalReason.TOO_LONG),
        (WIRE.answer("I", stop="refusal"), RefusalReason.REFUSAL),
        (WIRE.answer(None, stop="refusal"), RefusalReason.REFUSAL),
        (WIRE.answer(None, stop="tool_use", blocks=[TOOL_USE]), RefusalReason.TOOL_CALL),
        (WIRE.answer("Let me see.", blocks=[TOOL_USE]), RefusalReason.TOOL_CALL),
        (WIRE.answer("  "), RefusalReason.EMPTY),
        (WIRE.answer(None), RefusalReason.EMPTY),
        (WIRE.answer(None, blocks=[{"type": "thinking", "thinking": "Hm."}]), RefusalReason.REASONING_ONLY),
    ],
)
def test_answers_that_are_no_summary(answer: object, reason: RefusalReason) -> None:
    with serving(answer) as server, pytest.raises(SummaryRefused) as caught:
        client(server).summarize(asking(*lighthouse()))
    assert caught.value.reason == reason


def test_a_turn_that_is_paused_is_no_whole_answer() -> None:
    for answer in (WIRE.answer(SUMMARY, stop="pause_turn"), WIRE.stream(SUMMARY, stop="pause_turn")):
        with serving(answer) as server, pytest.raises(SummarizerError, match="in the middle") as caught:
            client(server).summarize(asking(*lighthouse()))
        assert caught.value.retryable


def test_thinking_is_not_part_of_the_summary() -> None:
    with serving(WIRE.answer(SUMMARY, blocks=[{"type": "thinking", "thinking": "Hm."}])) as server:
        assert client(server).summarize(asking(*lighthouse())).text == SUMMARY


@pytest.mark.parametrize(
    "answer",
    [
        WIRE.error(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        WIRE.error(413, "Request exceeds the maximum size", kind="request_too_large"),
        WIRE.answer("I", stop="model_context_window_exceeded"),
    ],
)
def test_input_that_does_not_fit(answer: object) -> None:
    with serving(answer) as server, pytest.raises(InputTooLong):
        client(server, retries=3).summarize(asking(*lighthouse()))
    assert len(server.received) == 1


def test_a_model_that_takes_no_temperature() -> None:
    complaint = WIRE.error(400, "`temperature` is deprecated for this model.")
    with serving(complaint, WIRE.answer(SUMMARY)) as server:
        assert client(server).summarize(asking(*lighthouse())).text == SUMMARY
    assert "temperature" not in server.received[1].body


def test_the_cached_prefix_is_tried_first() -> None:
    request = asking(*lighthouse(), prefix_messages=PREFIX, prefix_tools=TOOLS, prefix_system=SYSTEM)
    with serving(WIRE.answer("Lamp repaired [m3].")) as server:
        summary = client(server, reuse_prefix=True).summarize(request)

    body = server.received[0].body
    assert body["system"] == SYSTEM
    assert body["tools"] == list(TOOLS)
    assert body["messages"][0] == {"role": "user", "content": "Repair the lamp."}
    [asked] = body["messages"][1]["content"]
    assert "Set the task aside" in asked["text"] and asked["cache_control"] == {"type": "ephemeral"}
    assert summary.text == "Lamp repaired."


def test_the_cold_request_is_the_fall_back() -> None:
    request = asking(*lighthouse(), prefix_messages=PREFIX, prefix_tools=TOOLS, prefix_system=SYSTEM)
    tool_use = WIRE.answer(None, stop="tool_use", blocks=[TOOL_USE])
    with serving(tool_use, WIRE.answer(SUMMARY)) as server:
        assert client(server, reuse_prefix=True).summarize(request).text == SUMMARY
    assert "tools" not in server.received[1].body
