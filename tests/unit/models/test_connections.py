"""Connections to a model's server are kept between replies, and never shared by two."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from compact.errors import ChatError
from compact.model.chat import ReplyEnd, TextPiece
from compact.models.openai_chat import OpenAIChatModel
from support.wire_servers import Behavior, Handler, Server, begin_stream, dripping, hang, serving

ASKED = [{"role": "user", "content": "hi"}]


def said(text: str) -> bytes:
    pieces = [{"delta": {"content": text}}, {"delta": {}, "finish_reason": "stop"}]
    events = [json.dumps({"choices": [piece]}) for piece in pieces]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()


REPLY = dripping(said("Noted."), 40)


def text_of(model: OpenAIChatModel) -> str:
    return "".join(piece.text for piece in model.stream(ASKED) if isinstance(piece, TextPiece))


def model_at(server: Server, **more: Any) -> OpenAIChatModel:
    return OpenAIChatModel("m", f"{server.url}/v1", **more)


def test_replies_one_after_the_other_take_one_connection() -> None:
    with serving(REPLY, REPLY, REPLY) as server:
        model = model_at(server)
        assert [text_of(model) for _ in range(3)] == ["Noted."] * 3
        assert server.connections == 1
        model.close()


def test_replies_at_the_same_time_take_one_each() -> None:
    with serving(REPLY, REPLY) as server:
        model = model_at(server)
        one, other = model.stream(ASKED), model.stream(ASKED)
        assert isinstance(next(one), TextPiece) and isinstance(next(other), TextPiece)
        assert isinstance([*one][-1], ReplyEnd) and isinstance([*other][-1], ReplyEnd)
        assert server.connections == 2
        model.close()


def closing(handler: Handler) -> None:
    """Answers, and closes without a word."""
    REPLY(handler)
    handler.close_connection = True


def test_one_that_the_server_closed_meanwhile_costs_no_try() -> None:
    with serving(closing, REPLY) as server:
        model = model_at(server, retries=0)
        assert [text_of(model), text_of(model)] == ["Noted."] * 2
        model.close()


def dropped_at_the_next_request(handler: Handler) -> None:
    """Takes the request on a connection that was used before, and closes it unanswered."""
    handler.close_connection = True


def test_one_that_breaks_when_it_is_used_again_is_replaced_at_once() -> None:
    with serving(REPLY, dropped_at_the_next_request, REPLY) as server:
        model = model_at(server, retries=0)
        assert [text_of(model), text_of(model)] == ["Noted."] * 2
        assert server.connections == 2
        model.close()


def test_a_new_one_that_breaks_is_an_error() -> None:
    with serving(dropped_at_the_next_request) as server, pytest.raises(ChatError, match="reached"):
        text_of(model_at(server, retries=0))


def test_closing_a_reply_that_is_over_does_not_break_the_next_one() -> None:
    with serving(REPLY, REPLY) as server:
        model = model_at(server)
        over = model.stream(ASKED)
        list(over)
        running = model.stream(ASKED)
        assert isinstance(next(running), TextPiece)
        over.close()
        assert isinstance([*running][-1], ReplyEnd) and server.connections == 1
        model.close()


def endless(handler: Handler) -> None:
    begin_stream(handler, chunked=True)
    piece = said("More.")[: said("More.").index(b"\n\n") + 2]
    while not handler.server.released.wait(0.01):
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        handler.wfile.flush()


def stays_open(handler: Handler) -> None:
    """The reply is complete, but the transfer never ends."""
    begin_stream(handler, chunked=True)
    handler.wfile.write(b"%x\r\n%b\r\n" % (len(said("Noted.")), said("Noted.")))
    handler.wfile.flush()
    hang(handler)


@pytest.mark.parametrize(
    ("first", "leave"),
    [(endless, lambda reply: (next(reply), reply.close())), (stays_open, list)],
)
def test_one_whose_reply_was_not_read_to_its_end_is_not_used_again(
    first: Behavior, leave: Callable[[Any], Any]
) -> None:
    with serving(first, REPLY) as server:
        model = model_at(server)
        leave(model.stream(ASKED))
        assert text_of(model) == "Noted." and server.connections == 2
        model.close()
