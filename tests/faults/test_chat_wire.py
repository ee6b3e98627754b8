"""Chat servers that fail: tried again before the first piece only, ended in time, told without secrets."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from compact.errors import ChatError, ConfigError, MissingExtra
from compact.model.chat import ReplyEnd, TextPiece
from compact.models._client import ChatClient
from compact.models.anthropic_chat import AnthropicChatModel
from compact.models.openai_chat import OpenAIChatModel
from compact.models.streaming import astream_of
from support.ariadne import wait_for
from support.closed_port import closed_port
from support.wire_servers import (
    AnthropicWire,
    Behavior,
    OpenAIWire,
    Server,
    as_event,
    begin_stream,
    cut_body,
    events,
    garbage,
    hang,
    serving,
    then,
)

KEY = "sk-live-9f8e7d6c5b4a"
ASK = [{"role": "user", "content": "How is the lamp?"}]
ANSWER = "The lamp is on, and has been all night."
AT_ONCE = {"retry_after": "0"}

Make = Callable[..., ChatClient]


def make_openai(server: Server, **options: Any) -> ChatClient:
    return OpenAIChatModel("tiny", server.url, KEY, **options)


def make_anthropic(server: Server, **options: Any) -> ChatClient:
    return AnthropicChatModel("tiny", server.url, KEY, **options)


WIRES = [
    pytest.param(make_openai, OpenAIWire(), id="openai"),
    pytest.param(make_anthropic, AnthropicWire(), id="anthropic"),
]
both = pytest.mark.parametrize(("make", "wire"), WIRES)


def named(wire: Any) -> bool:
    return isinstance(wire, AnthropicWire)


def answered(make: Make, *script: Behavior, **options: Any) -> tuple[str, Server]:
    with serving(*script) as server:
        *_, end = make(server, **options).stream(ASK)
    assert isinstance(end, ReplyEnd)
    return end.message["content"], server


def failed(make: Make, *script: Behavior, **options: Any) -> tuple[ChatError, list[Any], Server]:
    """The error, what came before it, and the server."""
    got: list[Any] = []
    with serving(*script) as server, pytest.raises(ChatError) as caught:
        for piece in make(server, **options).stream(ASK):
            got.append(piece)
    # A client with little patience may give up before the server has read the request.
    wait_for(lambda: server.received)
    said = str(caught.value)
    assert KEY not in said
    assert "\n" not in said
    return caught.value, got, server


@both
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_busy_server_is_asked_again(make: Make, wire: Any, status: int) -> None:
    told: list[tuple[float, str]] = []
    text, server = answered(
        make,
        wire.error(status, "slow down", **AT_ONCE),
        wire.error(status, "slow down", **{"retry_after_ms": "20"}),
        wire.stream(ANSWER),
        on_wait=lambda seconds, why: told.append((seconds, str(why))),
    )
    assert text == ANSWER
    assert len(server.received) == 3
    assert server.received[0].body == server.received[2].body
    assert [seconds for seconds, _ in told] == [0.0, 0.02]
    assert str(status) in told[0][1]


@both
def test_it_gives_up_after_the_last_try(make: Make, wire: Any) -> None:
    error, got, server = failed(make, *[wire.error(429, f"slow down {KEY}", **AT_ONCE)] * 3)
    assert (error.retryable, got, len(server.received)) == (True, [], 3)
    assert "The conversation is unchanged" in str(error)


@both
def test_a_long_wait_is_not_waited(make: Make, wire: Any) -> None:
    error, _, server = failed(make, wire.error(429, "slow down", **{"retry_after": "3600"}))
    assert len(server.received) == 1
    assert "3600 s" in str(error)


@both
@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "check the API key"),
        (403, "check the API key"),
        (404, "check the model's name"),
        (400, "answered 400"),
    ],
)
def test_what_no_second_try_mends_is_told_at_once(make: Make, wire: Any, status: int, hint: str) -> None:
    error, _, server = failed(make, wire.error(status, f"bad {KEY} and Bearer {KEY}"))
    assert (error.retryable, len(server.received)) == (False, 1)
    assert hint in str(error)
    assert "<REDACTED>" in str(error)


@both
def test_a_server_s_words_stay_one_harmless_line(make: Make, wire: Any) -> None:
    error, *_ = failed(make, wire.error(400, "bad\n\x1b[31mmodel\x07\r\n" + "x" * 5_000))
    assert "bad [31mmodel xxx" in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 500


def test_an_account_without_quota_is_told_at_once() -> None:
    wire = OpenAIWire()
    error, _, server = failed(
        make_openai, wire.error(429, "You exceeded your quota", code="insufficient_quota")
    )
    assert (error.retryable, len(server.received)) == (False, 1)
    assert "no quota left" in str(error)


@both
def test_a_dead_server_is_told(make: Make, wire: Any) -> None:
    cls = AnthropicChatModel if named(wire) else OpenAIChatModel
    with closed_port() as port:
        dead = f"http://user:{KEY}@127.0.0.1:{port}"
        with pytest.raises(
            ChatError, match=r"tiny at 127\.0\.0\.1:\d+ could not be reached \(ConnectError\)"
        ) as caught:
            list(cls("tiny", dead, KEY, retries=0).stream(ASK))
    assert KEY not in str(caught.value) and "check its address, and that it runs" in str(caught.value)


@pytest.mark.parametrize("address", ["no address", "ftp://127.0.0.1/v1", "http://[::1/v1"])
def test_an_unusable_address_is_told(address: str) -> None:
    with pytest.raises(ConfigError, match="correct base_url"):
        OpenAIChatModel("tiny", address)


@both
def test_a_stream_that_was_cut_keeps_what_came(make: Make, wire: Any) -> None:
    for behavior in (wire.cut_stream(ANSWER), then(*wire.chunks(ANSWER), silence=None, named=named(wire))):
        error, got, server = failed(make, behavior, wire.stream(ANSWER))
        assert "".join(piece.text for piece in got) == ANSWER
        assert len(server.received) == 1, "never again after text was shown"
        assert "broke off" in str(error)


@both
def test_an_error_in_the_middle_is_told(make: Make, wire: Any) -> None:
    long = "x" * 10
    error, got, server = failed(
        make, events(*wire.chunks(long), *_error(wire), named=named(wire)), wire.stream(long)
    )
    assert "".join(piece.text for piece in got) == long
    assert len(server.received) == 1
    assert "Overloaded" in str(error)


@both
def test_a_stream_that_fails_before_any_text_is_asked_for_again(make: Make, wire: Any) -> None:
    before = [] if make is make_openai else wire.chunks(ANSWER)[:3]
    text, server = answered(make, events(*before, *_error(wire), named=named(wire)), wire.stream(ANSWER))
    assert (text, len(server.received)) == (ANSWER, 2)


def _error(wire: Any) -> list[Any]:
    if named(wire):
        return [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
    return [{"error": {"code": 503, "message": "Overloaded"}}]


@both
def test_half_a_reply_without_any_event_is_asked_for_again(make: Make, wire: Any) -> None:
    assert answered(make, cut_body, garbage, wire.stream(ANSWER))[0] == ANSWER


@both
def test_silence_before_the_first_piece_ends(make: Make, wire: Any) -> None:
    signs = b'event: ping\ndata: {"type": "ping"}\n\n' if named(wire) else b": still there\n\n"
    for behavior in (hang, then(), then(silence=signs)):
        error, got, server = failed(make, behavior, first_seconds=0.3)
        assert (got, len(server.received), error.retryable) == ([], 1, True)
        assert "said nothing for 0.3 s" in str(error)


@both
def test_silence_between_pieces_ends(make: Make, wire: Any) -> None:
    for silence in (b"", b": still there\n\n"):
        behavior = then(*wire.chunks(ANSWER), silence=silence, named=named(wire))
        error, got, _ = failed(make, behavior, between_seconds=0.3)
        assert "".join(piece.text for piece in got) == ANSWER
        assert "said nothing more for 0.3 s" in str(error)


@both
def test_a_reader_may_take_its_time(make: Make, wire: Any) -> None:
    read_on, written = threading.Event(), threading.Event()

    def waiting_for_the_reader(handler: Any) -> None:
        begin_stream(handler, chunked=False)
        rest = handler.wfile
        for chunk in wire.chunks(ANSWER):
            rest.write(as_event(chunk, named(wire)))
        rest.flush()
        read_on.wait(60)
        for event in _ending(wire):
            rest.write(as_event(event, named(wire)))
        handler.close_connection = True
        written.set()

    with serving(waiting_for_the_reader) as server:
        reply = make(server, between_seconds=0.3).stream(ASK)
        got = [next(reply), next(reply)]
        threading.Event().wait(0.8)
        read_on.set()
        assert written.wait(60)
        got += reply
    assert isinstance(got[-1], ReplyEnd)


@both
def test_what_breaks_after_the_end_is_no_matter(make: Make, wire: Any) -> None:
    whole = [*wire.chunks(ANSWER), *_ending(wire)[:1]]
    text, server = answered(make, then(*whole, silence=None, named=named(wire)))
    assert (text, len(server.received)) == (ANSWER, 1)


def _ending(wire: Any) -> list[Any]:
    if named(wire):
        return [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
    return [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"]


@both
def test_closing_hangs_up(make: Make, wire: Any) -> None:
    left = threading.Event()

    def writing(handler: Any) -> None:
        try:
            then(*wire.chunks(ANSWER), silence=b": still there\n\n", named=named(wire))(handler)
        except OSError:
            left.set()

    with serving(writing) as server:
        reply = make(server).stream(ASK)
        assert isinstance(next(reply), TextPiece)
        reply.close()
        assert left.wait(60), "the server still has somebody to write to"
        assert list(reply) == []


@both
def test_another_thread_closes_while_a_server_is_silent(make: Make, wire: Any) -> None:
    with serving(hang) as server:
        reply = make(server).stream(ASK)
        got: list[Any] = []
        reader = threading.Thread(target=lambda: got.extend(reply))
        reader.start()
        while not server.received:
            threading.Event().wait(0.01)
        reply.close()
        reader.join(60)
        assert not reader.is_alive()
        assert (got, len(server.received)) == ([], 1)


@both
def test_closing_ends_the_wait_for_another_try(make: Make, wire: Any) -> None:
    waiting = threading.Event()
    with serving(wire.error(429, "slow down", **{"retry_after": "25"})) as server:
        reply = make(server, on_wait=lambda *_: waiting.set()).stream(ASK)
        got: list[Any] = []
        reader = threading.Thread(target=lambda: got.extend(reply))
        reader.start()
        assert waiting.wait(60)
        reply.close()
        reader.join(60)
        assert not reader.is_alive()
        assert (got, len(server.received)) == ([], 1)


@both
def test_no_proxy_stands_before_this_machine(make: Make, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert answered(make, wire.stream(ANSWER))[0] == ANSWER


@both
def test_a_key_is_not_shown(make: Make, wire: Any) -> None:
    with serving() as server:
        client = make(server)
    assert KEY not in repr(client) + repr(client._address)


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    for client in (OpenAIChatModel("tiny"), AnthropicChatModel("tiny")):
        with pytest.raises(MissingExtra, match=rf"compact-context\[{client.needs}\]"):
            list(client.stream(ASK))


@both
async def test_a_reply_streams_into_an_event_loop_and_can_be_closed(make: Make, wire: Any) -> None:
    with serving(wire.stream(ANSWER)) as server:
        pieces = [piece async for piece in astream_of(make(server), ASK)]
    assert isinstance(pieces[-1], ReplyEnd) and pieces[-1].message["content"] == ANSWER
    silent = then(*wire.chunks(ANSWER), silence=b": still there\n\n", named=named(wire))
    with serving(silent) as server:
        reply = astream_of(make(server), ASK)
        assert [type(await anext(reply)) for _ in range(2)] == [TextPiece, TextPiece]
        waiting = asyncio.ensure_future(anext(reply))
        await asyncio.sleep(0.05)
        await reply.aclose()
        with pytest.raises((StopAsyncIteration, ChatError)):
            await asyncio.wait_for(waiting, 10)
