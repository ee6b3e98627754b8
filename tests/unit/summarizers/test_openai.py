from __future__ import annotations

import pytest

from compact.errors import SummarizerError, SummaryRefused
from compact.model.message import Usage
from compact.model.summary import RefusalReason
from compact.summarizers._http import InputTooLong
from compact.summarizers.openai import OpenAISummarizer
from support.conversations import asking, lighthouse
from support.wire_servers import OpenAIWire, Server, serving, status

WIRE = OpenAIWire()
SUMMARY = "The lamp schedule is in the right zone now; relay 3 does not answer [m6]."
PREFIX = (
    {"role": "system", "content": "You keep lighthouses."},
    {"role": "user", "content": "Repair the lamp.", "meta": {"protected": True}},
)
TOOLS = ({"type": "function", "function": {"name": "run", "parameters": {}}},)


def client(server: Server, **options: object) -> OpenAISummarizer:
    settings: dict = {"api_key": "sk-test-123456", "timeout": 20.0, "retries": 0} | options
    return OpenAISummarizer("tiny", server.url, **settings)


def refusal_of(server: Server, **options: object) -> str:
    with pytest.raises(SummaryRefused) as caught:
        client(server, **options).summarize(asking(*lighthouse()))
    return caught.value.reason


def test_one_request_and_its_summary() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        summary = client(server).summarize(asking(*lighthouse(), max_tokens=300, first_position=40))

    assert summary.text == SUMMARY
    assert (summary.model, summary.strategy, summary.tokens) == ("served-model", "task_state", 34)
    assert summary.usage == Usage(input=120, output=34, cache_read=100)
    [sent] = server.received
    assert sent.path == WIRE.path
    assert sent.headers["authorization"] == "Bearer sk-test-123456"
    assert sent.body["model"] == "tiny"
    assert sent.body["max_tokens"] == 300
    system, transcript = sent.body["messages"]
    assert system["role"] == "system" and "at most 300 tokens" in system["content"]
    assert transcript["role"] == "user" and transcript["content"].startswith("<transcript>\n[m40] user: ")


@pytest.mark.spec("S4.5")
def test_seed_and_temperature_are_passed_on() -> None:
    with serving(WIRE.answer(SUMMARY), WIRE.answer(SUMMARY)) as server:
        client(server).summarize(asking(*lighthouse()))
        client(server).summarize(asking(*lighthouse(), seed=7, temperature=0.3))

    first, second = (received.body for received in server.received)
    assert (first["seed"], first["temperature"]) == (42, 0.0)
    assert (second["seed"], second["temperature"]) == (7, 0.3)


async def test_asynchronously() -> None:
    with serving(WIRE.answer(SUMMARY), WIRE.answer(SUMMARY)) as server:
        assert (await client(server).asummarize(asking(*lighthouse()))).text == SUMMARY
        # Also a sync call inside a running loop must work, though it blocks it.
        assert client(server).summarize(asking(*lighthouse())).text == SUMMARY


def test_without_a_key_no_authorization_is_sent() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        client(server, api_key=None).summarize(asking(*lighthouse()))
    assert "authorization" not in server.received[0].headers


def test_streaming_gives_the_same() -> None:
    with serving(WIRE.stream(SUMMARY)) as server:
        summary = client(server, extra={"stream": True}).summarize(asking(*lighthouse()))

    assert summary.text == SUMMARY
    assert summary.usage == Usage(input=120, output=34)
    assert server.received[0].body["stream"] is True


def test_a_server_that_does_not_stream_is_understood_as_well() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        assert client(server, extra={"stream": True}).summarize(asking(*lighthouse())).text == SUMMARY


CALL = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}


@pytest.mark.spec("S4.18")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (WIRE.answer("It goes on and", finish="length"), RefusalReason.TOO_LONG),
        (WIRE.stream("It goes on and", finish="length"), RefusalReason.TOO_LONG),
        (WIRE.answer(None, refusal="I won't."), RefusalReason.REFUSAL),
        (WIRE.answer("", finish="content_filter"), RefusalReason.REFUSAL),
        (WIRE.answer(None, finish="tool_calls", tool_calls=[CALL]), RefusalReason.TOOL_CALL),
        (WIRE.answer("Let me see.", tool_calls=[CALL]), RefusalReason.TOOL_CALL),
        (WIRE.answer("  "), RefusalReason.EMPTY),
        (WIRE.answer(None), RefusalReason.EMPTY),
        (WIRE.answer("", reasoning_content="Hm."), RefusalReason.REASONING_ONLY),
        (WIRE.answer("", finish="length", reasoning_content="Hm."), RefusalReason.REASONING_ONLY),
    ],
)
def test_answers_that_are_no_summary(answer: object, reason: RefusalReason) -> None:
    with serving(answer) as server:
        assert refusal_of(server) == reason


@pytest.mark.parametrize("finish", ["error", "abort", "cancelled"])
def test_an_answer_that_the_server_broke_off_is_none(finish: str) -> None:
    for answer in (WIRE.answer(SUMMARY, finish=finish), WIRE.stream(SUMMARY, finish=finish)):
        with serving(answer) as server, pytest.raises(SummarizerError, match="in the middle") as caught:
            client(server).summarize(asking(*lighthouse()))
        assert caught.value.retryable


def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "The lamp "}, {"type": "text", "text": "is repaired."}]
    message = {"role": "assistant", "content": parts}
    with serving(status(200, {"choices": [{"message": message, "finish_reason": "stop"}]})) as server:
        summary = client(server).summarize(asking(*lighthouse()))
    assert summary.text == "The lamp is repaired."
    assert (summary.model, summary.usage) == ("tiny", None)


@pytest.mark.parametrize(
    ("message", "gone", "there"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature", "seed"),
        ("Unrecognized request argument supplied: seed", "seed", "temperature"),
        (
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
    ],
)
def test_a_parameter_that_the_model_does_not_take_is_left_out(message: str, gone: str, there: str) -> None:
    with serving(WIRE.error(400, message), WIRE.answer(SUMMARY)) as server:
        assert client(server).summarize(asking(*lighthouse())).text == SUMMARY

    first, second = (received.body for received in server.received)
    assert gone in first and gone not in second
    assert there in second
    assert second["messages"] == first["messages"]


def test_a_parameter_is_left_out_only_once() -> None:
    complaint = WIRE.error(400, "temperature is not supported")
    with serving(complaint, complaint) as server, pytest.raises(SummarizerError, match="temperature"):
        client(server).summarize(asking(*lighthouse()))
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "answer",
    [
        WIRE.error(
            400, "Your input exceeds the context window of this model", code="context_length_exceeded"
        ),
        WIRE.error(400, "the request exceeds the available context size", type="exceed_context_size_error"),
        WIRE.error(400, "This model's maximum context length is 8192 tokens"),
        WIRE.error(413, "Payload too large"),
    ],
)
def test_input_that_does_not_fit(answer: object) -> None:
    with serving(answer) as server, pytest.raises(InputTooLong) as caught:
        client(server, retries=3).summarize(asking(*lighthouse()))
    assert not caught.value.retryable
    assert len(server.received) == 1


def test_the_cached_prefix_is_tried_first() -> None:
    request = asking(*lighthouse(), prefix_messages=PREFIX, prefix_tools=TOOLS, prefix_system="Be brief.")
    with serving(WIRE.answer("Lamp repaired [m3].")) as server:
        summary = client(server, reuse_prefix=True).summarize(request)

    body = server.received[0].body
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["messages"][1:3] == [PREFIX[0], {"role": "user", "content": "Repair the lamp."}]
    assert body["messages"][3]["role"] == "user" and "Set the task aside" in body["messages"][3]["content"]
    assert body["tools"] == list(TOOLS)
    assert "tool_choice" not in body
    assert summary.text == "Lamp repaired.", "there are no labels to cite on the prefix"
    assert "meta" in PREFIX[1], "the caller's messages stay as they were"


@pytest.mark.parametrize(
    "failure",
    [
        WIRE.error(400, "context_length_exceeded"),
        WIRE.error(400, "messages: role 'custom' is invalid"),
        WIRE.answer(None, finish="tool_calls", tool_calls=[CALL]),
        WIRE.answer(""),
    ],
)
def test_the_cold_request_is_the_fall_back(failure: object) -> None:
    request = asking(*lighthouse(), prefix_messages=PREFIX, prefix_tools=TOOLS)
    with serving(failure, WIRE.answer(SUMMARY)) as server:
        assert client(server, reuse_prefix=True).summarize(request).text == SUMMARY
    cold = server.received[1].body
    assert "tools" not in cold
    assert cold["messages"][1]["content"].startswith("<transcript>")


def test_a_refusal_on_the_prefix_is_final() -> None:
    request = asking(*lighthouse(), prefix_messages=PREFIX)
    with serving(WIRE.answer(None, refusal="no")) as server, pytest.raises(SummaryRefused):
        client(server, reuse_prefix=True).summarize(request)
    assert len(server.received) == 1


def test_without_reuse_the_prefix_is_not_sent() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        client(server).summarize(asking(*lighthouse(), prefix_messages=PREFIX))
    assert "You keep lighthouses" not in str(server.received[0].body)


def test_what_leaves_is_redacted() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        redact = lambda text: text.replace("LH-204", "<REDACTED>")  # noqa: E731
        noted = asking(*lighthouse(), previous_summary="Site LH-204", focus="keep LH-204")
        client(server, redact=redact).summarize(noted)
    sent = str(server.received[0].body)
    assert "LH-204" not in sent
    assert sent.count("<REDACTED>") == 3


def test_lone_surrogates_do_not_stop_a_request() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        client(server).summarize(asking(*lighthouse(), previous_summary="bad \ud800 text"))
    assert "bad ? text" in server.received[0].body["messages"][1]["content"]


def test_extra_fields_are_merged_into_the_request() -> None:
    with serving(WIRE.answer(SUMMARY)) as server:
        client(server, extra={"reasoning_effort": "low"}).summarize(asking(*lighthouse()))
    assert server.received[0].body["reasoning_effort"] == "low"


def test_the_key_is_not_in_the_representation() -> None:
    summarizer = OpenAISummarizer("gpt-4o-mini", api_key="sk-secret-1234567")
    assert "sk-" not in f"{summarizer!r} {summarizer._endpoint!r}"


def test_the_default_address() -> None:
    assert OpenAISummarizer("gpt-4o-mini").base_url == "https://api.openai.com/v1"
