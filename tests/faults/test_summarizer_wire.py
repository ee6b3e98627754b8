"""Providers that fail: the clients try again where that helps, end in time, and tell no secrets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from compact.errors import ConfigError, MissingExtra, SummarizerError
from compact.models._http import retry_after
from compact.summarizers._model import ModelSummarizer
from compact.summarizers.anthropic import AnthropicSummarizer
from compact.summarizers.openai import OpenAISummarizer
from support.closed_port import closed_port
from support.conversations import asking, lighthouse
from support.wire_servers import (
    AnthropicWire,
    Behavior,
    Handler,
    OpenAIWire,
    Server,
    cut_body,
    events,
    garbage,
    hang,
    serving,
    status,
    trickle,
)

KEY = "sk-live-9f8e7d6c5b4a"
SUMMARY = "The lamp schedule is in the right zone now [m4]."


class Waits:
    """Stands in for sleeping and remembers how long it should have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


Make = Callable[..., ModelSummarizer]


def make_openai(server: Server, **options: Any) -> ModelSummarizer:
    return OpenAISummarizer("tiny", server.url, KEY, **({"timeout": 20.0} | options))


def make_anthropic(server: Server, **options: Any) -> ModelSummarizer:
    return AnthropicSummarizer("tiny", server.url, KEY, **({"timeout": 20.0} | options))


WIRES = [
    pytest.param(make_openai, OpenAIWire(), id="openai"),
    pytest.param(make_anthropic, AnthropicWire(), id="anthropic"),
]
both = pytest.mark.parametrize(("make", "wire"), WIRES)


def fail(make: Make, *script: Behavior, **options: Any) -> tuple[SummarizerError, Server]:
    with serving(*script) as server, pytest.raises(SummarizerError) as caught:
        make(server, **({"sleep": Waits()} | options)).summarize(asking(*lighthouse()))
    assert "gave no summary" in str(caught.value)
    return caught.value, server


@both
def test_429_waits_as_long_as_the_server_asks(make: Make, wire: Any) -> None:
    waits = Waits()
    seconds, milliseconds = {"retry_after": "7"}, {"retry_after_ms": "1500"}
    with serving(
        wire.error(429, "slow down", **seconds),
        wire.error(429, "slow down", **milliseconds),
        wire.answer(SUMMARY),
    ) as server:
        assert make(server, sleep=waits).summarize(asking(*lighthouse())).text == SUMMARY

    assert waits.seconds == [7.0, 1.5]
    assert server.received[0].body == server.received[1].body == server.received[2].body


@both
def test_a_wait_beyond_reason_is_not_waited(make: Make, wire: Any) -> None:
    waits = Waits()
    error, server = fail(make, wire.error(429, "come back tomorrow", retry_after="86400"), sleep=waits)
    assert error.retryable
    assert "86400 s" in str(error)
    assert waits.seconds == []
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:09 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:09 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_the_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@both
@pytest.mark.parametrize("code", [500, 502, 503, 529])
def test_a_server_in_trouble_is_asked_again(make: Make, wire: Any, code: int) -> None:
    waits = Waits()
    with serving(wire.error(code, "oops"), wire.error(code, "oops"), wire.answer(SUMMARY)) as server:
        assert make(server, sleep=waits).summarize(asking(*lighthouse())).text == SUMMARY
    assert len(waits.seconds) == 2
    assert waits.seconds[1] > waits.seconds[0]


@both
def test_tries_are_bounded(make: Make, wire: Any) -> None:
    error, server = fail(make, *[wire.error(500, "oops")] * 9, retries=2)
    assert error.retryable
    assert len(server.received) == 3


@both
@pytest.mark.parametrize("code", [400, 401, 403, 404, 418])
def test_what_trying_again_cannot_help_fails_at_once(make: Make, wire: Any, code: int) -> None:
    error, server = fail(make, wire.error(code, "no such thing"))
    assert not error.retryable
    assert f"answered {code}" in str(error)
    assert len(server.received) == 1


def test_no_quota_is_final() -> None:
    wire = OpenAIWire()
    error, server = fail(make_openai, wire.error(429, "You have run out", code="insufficient_quota"))
    assert not error.retryable
    assert len(server.received) == 1


@both
@pytest.mark.parametrize("behavior", [hang, trickle])
def test_a_hang_ends_at_the_deadline(make: Make, wire: Any, behavior: Behavior) -> None:
    error, _ = fail(make, behavior, timeout=0.4)
    assert error.retryable
    assert "within 0.4 s" in str(error)


@both
async def test_a_hang_ends_asynchronously_as_well(make: Make, wire: Any) -> None:
    with serving(hang) as server, pytest.raises(SummarizerError, match="within"):
        await make(server, timeout=0.4).asummarize(asking(*lighthouse()))


@both
def test_the_deadline_covers_the_waiting(make: Make, wire: Any) -> None:
    with (
        serving(wire.error(429, "slow down", retry_after="20")) as server,
        pytest.raises(SummarizerError) as caught,
    ):
        make(server, timeout=0.3).summarize(asking(*lighthouse()))
    assert "within 0.3 s" in str(caught.value)


@both
@pytest.mark.parametrize("behavior", [cut_body, garbage, status(200, ["no", "object"]), status(200, {})])
def test_broken_answers_are_asked_for_again(make: Make, wire: Any, behavior: Behavior) -> None:
    with serving(behavior, wire.answer(SUMMARY)) as server:
        assert make(server, sleep=Waits()).summarize(asking(*lighthouse())).text == SUMMARY
    error, _ = fail(make, behavior, retries=0)
    assert error.retryable


@both
def test_a_cut_stream_is_an_error_not_a_summary(make: Make, wire: Any) -> None:
    error, _ = fail(make, wire.cut_stream(SUMMARY), retries=0)
    assert error.retryable
    assert "broke off" in str(error)
    with serving(wire.cut_stream(SUMMARY), wire.stream(SUMMARY)) as server:
        assert make(server, sleep=Waits()).summarize(asking(*lighthouse())).text == SUMMARY


def test_an_error_in_the_middle_of_a_stream() -> None:
    wire = AnthropicWire()
    with serving(wire.failing_stream(SUMMARY), wire.stream(SUMMARY)) as server:
        assert make_anthropic(server, sleep=Waits()).summarize(asking(*lighthouse())).text == SUMMARY
    error, _ = fail(make_anthropic, wire.failing_stream(SUMMARY), retries=0)
    assert "529" in str(error) and "Overloaded" in str(error)


def test_an_upstream_failure_reported_with_status_200() -> None:
    wire = OpenAIWire()
    upstream = status(200, {"error": {"code": 502, "message": "upstream is gone"}})
    with serving(upstream, wire.answer(SUMMARY)) as server:
        assert make_openai(server, sleep=Waits()).summarize(asking(*lighthouse())).text == SUMMARY


@pytest.mark.parametrize("client", [OpenAISummarizer, AnthropicSummarizer])
def test_nobody_listens(client: type[ModelSummarizer]) -> None:
    waits = Waits()
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}"
        with pytest.raises(SummarizerError, match="could not be reached") as caught:
            client("tiny", url, KEY, timeout=20.0, retries=1, sleep=waits).summarize(asking(*lighthouse()))
    assert caught.value.retryable
    assert len(waits.seconds) == 1


@both
@pytest.mark.parametrize("code", [400, 401, 429, 500])
def test_no_error_tells_the_key(make: Make, wire: Any, code: int) -> None:
    said = f"Incorrect API key provided: {KEY}, or Bearer {KEY}, or sk-proj-****abcd"
    error, _ = fail(make, wire.error(code, said), retries=0)
    shown = f"{error} {error!r} {error.__cause__} {error.__context__}"
    assert KEY not in shown and "sk-proj" not in shown
    assert "<REDACTED>" in str(error)


def test_credentials_in_an_address_are_not_told() -> None:
    with pytest.raises(SummarizerError) as caught:
        OpenAISummarizer("tiny", "http://bob:hunter2@127.0.0.1:9", retries=0).summarize(asking(*lighthouse()))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("address", ["localhost:8000/v1", "http://host:port", "ftp://127.0.0.1", "nonsense"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(ConfigError, match="correct base_url"):
        OpenAISummarizer("tiny", address)


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    def flood(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 1_000_000)

    error, server = fail(make_openai, flood)
    assert "more than 8,000,000 bytes" in str(error)
    assert len(server.received) == 1


def test_a_stream_that_breaks_off_inside_an_event() -> None:
    error, _ = fail(make_openai, events('{"choices": [{"delta": {"cont'), retries=0)
    assert "broke off" in str(error)


def test_without_the_http_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"compact-context\[anthropic\]"):
        AnthropicSummarizer("tiny", "http://127.0.0.1:9").summarize(asking(*lighthouse()))
