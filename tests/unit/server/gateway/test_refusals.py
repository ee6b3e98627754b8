"""What the gateway makes of a provider's refusal, and what it says about requests that it cannot judge."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.server.gateway.running import serving
from support.gateway import CONFIG, HTTP, Client, gateway_settings, manager
from support.providers import CHAT, MESSAGES, RESPONSES, providing
from support.wire_servers import Behavior, Handler, Server, as_event, begin_stream, status
from support.wire_servers import serving as scripted

TOO_LONG = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "Too many."}
FAILED: dict[str, Any] = {
    CHAT: {"error": TOO_LONG},
    RESPONSES: {"type": "response.failed", "response": {"status": "failed", "error": TOO_LONG}},
    MESSAGES: {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}},
}
OK = status(200, {"ok": True})
NO_TOOLS = status(400, {"error": {"message": "This model does not support tools."}})


def events(*items: Any, packed: bool = False) -> Behavior:
    """A stream of status 200, its events in one piece."""

    def answer(handler: Handler) -> None:
        raw = b"".join(as_event(item) for item in items)
        if packed:
            coding = {"content-type": "text/event-stream", "content-encoding": "gzip"}
            handler.send(200, gzip.compress(raw), coding)
            return
        begin_stream(handler, chunked=False)
        handler.wfile.write(raw)
        handler.close_connection = True

    return answer


@contextmanager
def refusing(*script: Behavior, recall_tool: bool = False) -> Iterator[tuple[str, Server]]:
    with scripted(*script) as upstream:
        settings = gateway_settings(upstream.url, recall_tool=recall_tool)
        with serving(settings, manager()) as url:
            yield url, upstream


def talk(url: str, path: str, turns: int = 14) -> Client:
    """A conversation that fits by our count, unless it has many turns."""
    client = Client(url, path)
    for number in range(turns):
        said = "every ship paid its fee in full, nothing is open here. " * 6
        client.messages.append({"role": "user", "content": f"page {number}: {said}"})
        client.messages.append({"role": "assistant", "content": f"Page {number} agrees."})
    client.messages.append({"role": "user", "content": "What is open?"})
    return client


# -- overflows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("recall_tool", [False, True])
def test_an_overflow_that_begins_a_stream_is_compacted_and_tried_once_more(
    path: str, packed: bool, recall_tool: bool
) -> None:
    fails, works = events(FAILED[path], packed=packed), events({"type": "fine"})
    with refusing(fails, works, recall_tool=recall_tool) as (url, upstream):
        answer = talk(url, path).send(stream=True)
        assert answer.text == 'data: {"type": "fine"}\n\n'
        first, second = (len(json.dumps(one.body)) for one in upstream.received)
        assert second < first
    with refusing(fails, fails) as (url, upstream):
        answer = talk(url, path).send(stream=True)
        assert answer.status_code == 200 and answer.text == as_event(FAILED[path]).decode()
        assert len(upstream.received) == 2


def pieces_of(*items: Any) -> Behavior:
    """A stream of status 200, each event in a piece of its own, as they come over a network."""
    return pieces_of_text(*(as_event(item, named=True).decode() for item in items))


def pieces_of_text(*texts: str) -> Behavior:
    def answer(handler: Handler) -> None:
        begin_stream(handler, chunked=True)
        for raw in (*(text.encode() for text in texts), b""):
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
            handler.wfile.flush()

    return answer


BEGUN = [{"type": f"response.{name}", "response": {"error": None}} for name in ("created", "in_progress")]


def test_an_overflow_behind_the_announcements_of_a_response_is_compacted_and_tried_once_more() -> None:
    works = [*BEGUN, {"type": "response.output_item.added"}, {"type": "response.completed"}]
    with refusing(pieces_of(*BEGUN, FAILED[RESPONSES]), pieces_of(*works)) as (url, upstream):
        answer = talk(url, RESPONSES).send(stream=True)
        assert answer.text == "".join(as_event(item, named=True).decode() for item in works)
        first, second = (len(json.dumps(one.body)) for one in upstream.received)
        assert second < first


def named(*items: Any) -> str:
    return "".join(as_event(item, named=True).decode() for item in items)


def announced(id: str) -> list[dict[str, Any]]:
    return [{**one, "response": {"id": id, "error": None}} for one in BEGUN]


def test_announcements_arrive_before_anything_else_is_known() -> None:
    """A client that wants the id of its response need not wait for the first words."""

    def slow(handler: Handler) -> None:
        begin_stream(handler, chunked=False)
        handler.wfile.write(named(*BEGUN).encode())
        handler.wfile.flush()
        kind = "response.completed" if handler.server.released.wait(120) else "nobody read"
        handler.wfile.write(named({"type": kind}).encode())
        handler.close_connection = True

    with refusing(slow) as (url, upstream):
        body = talk(url, RESPONSES).body(stream=True)
        with HTTP.stream("POST", url + RESPONSES, json=body) as answer:
            pieces = answer.iter_text()
            assert next(pieces) == named(*BEGUN)
            upstream.released.set()
            assert "".join(pieces) == named({"type": "response.completed"})


@pytest.mark.parametrize("apart", [True, False])
def test_a_second_try_goes_on_behind_the_announcements_of_the_first(apart: bool) -> None:
    answer, done = {"type": "response.output_item.added"}, {"type": "response.completed"}
    again = [*announced("2"), answer, done]
    works = pieces_of(*again) if apart else pieces_of_text(named(*again))
    with refusing(pieces_of(*announced("1"), FAILED[RESPONSES]), works) as (url, upstream):
        text = talk(url, RESPONSES).send(stream=True).text
        assert text == named(*announced("1"), answer, done)
        assert len(upstream.received) == 2


def test_behind_announcements_that_the_client_has_our_tool_is_not_offered() -> None:
    """That stream passes unread, so the client would get a call of a tool it does not have."""
    fails, works = pieces_of(*announced("1"), FAILED[RESPONSES]), pieces_of(*announced("2"), {"type": "fine"})
    with refusing(fails, works, recall_tool=True) as (url, upstream):
        assert talk(url, RESPONSES).send(stream=True).text == named(*announced("1"), {"type": "fine"})
        assert ["compact_recall" in json.dumps(one.body) for one in upstream.received] == [False, False]


def test_if_the_second_try_is_refused_the_first_refusal_passes() -> None:
    fails = [*announced("1"), FAILED[RESPONSES]]
    with refusing(pieces_of(*fails), status(429, {"error": {"message": "slow"}})) as (url, upstream):
        answer = talk(url, RESPONSES).send(stream=True)
        assert (answer.status_code, answer.text) == (200, named(*fails))
        assert len(upstream.received) == 2


def test_an_overflow_behind_the_first_words_passes() -> None:
    """They are with the client already."""
    fails = [*BEGUN, {"type": "response.output_text.delta", "delta": "We"}, FAILED[RESPONSES]]
    with refusing(pieces_of(*fails)) as (url, upstream):
        answer = talk(url, RESPONSES).send(stream=True)
        assert answer.text == "".join(as_event(item, named=True).decode() for item in fails)
        assert len(upstream.received) == 1


def test_other_errors_that_begin_a_stream_pass() -> None:
    busy = {"error": {"type": "overloaded_error", "message": "Overloaded"}}
    with refusing(events(busy)) as (url, upstream):
        assert talk(url, MESSAGES).send(stream=True).text == as_event(busy).decode()
        assert len(upstream.received) == 1


def test_the_first_piece_of_a_stream_is_not_held_back() -> None:
    def half(handler: Handler) -> None:
        begin_stream(handler, chunked=False)
        handler.wfile.write(b'data: {"a"')
        handler.wfile.flush()
        handler.server.released.wait(120)
        handler.wfile.write(b": 1}\n\n")
        handler.close_connection = True

    with refusing(half) as (url, upstream):
        client = talk(url, CHAT)
        with HTTP.stream("POST", url + CHAT, json=client.body(stream=True)) as answer:
            pieces = answer.iter_raw()
            assert next(pieces) == b'data: {"a"'
            upstream.released.set()
            assert b"".join(pieces) == b": 1}\n\n"


@pytest.mark.parametrize(
    ("sent", "passed"),
    [
        ("gzip, deflate, br, zstd", "gzip, deflate"),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip;q=0.8"),
        ("br", "identity"),
        ("identity", "identity"),
    ],
)
def test_only_packings_that_can_be_read_here_are_asked_for(sent: str, passed: str) -> None:
    with refusing(OK, OK) as (url, upstream):
        talk(url, CHAT, 1).send(headers={"accept-encoding": sent})
        HTTP.get(f"{url}/v1/files/a/content", headers={"accept-encoding": sent})
        # What is never read here passes as it is.
        assert [one.headers["accept-encoding"] for one in upstream.received] == [passed, sent]


# -- the recall tool -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_a_model_that_refuses_tools_is_asked_once_without_ours(path: str) -> None:
    with refusing(NO_TOOLS, OK, recall_tool=True) as (url, upstream):
        assert talk(url, path, 60).send().json() == {"ok": True}
        assert ["tools" in one.body for one in upstream.received] == [True, False]
    with refusing(NO_TOOLS, NO_TOOLS, recall_tool=True) as (url, upstream):
        assert talk(url, path, 60).send().status_code == 400
        assert len(upstream.received) == 2


@pytest.mark.parametrize("code", [401, 403, 429, 500])
def test_what_has_nothing_to_do_with_a_tool_is_not_asked_again(code: int) -> None:
    with refusing(status(code, {"error": {"message": "No."}}), recall_tool=True) as (url, upstream):
        assert talk(url, CHAT, 60).send().status_code == code
        assert len(upstream.received) == 1


@pytest.mark.parametrize("more", [{"n": 2, "stream": True}, {"n": 2}, {"tools": {"not": "a list"}}])
def test_where_a_reply_has_several_choices_the_tool_is_not_offered(more: dict[str, Any]) -> None:
    with refusing(OK, recall_tool=True) as (url, upstream):
        assert talk(url, CHAT, 60).send(**more).status_code == 200
        [asked] = upstream.received
        assert "compact_recall" not in json.dumps(asked.body)


# -- what the headers say ------------------------------------------------------------------------------------


@pytest.mark.spec("S2.3")
def test_a_window_that_is_assumed_is_reported() -> None:
    own = {name: value for name, value in CONFIG.items() if name != "max_context_tokens"}
    for more, model, is_assumed in (
        ({}, "acme-rocket-1", True),
        ({}, "gpt-4o", False),
        ({"max_context_tokens": 9_000}, "acme-rocket-1", False),
        ({"models": {"acme-rocket-1": {"window": 9_000}}}, "acme-rocket-1", False),
    ):
        config = CompactManager(CompactConfig(**own, **more))
        with providing() as provider, serving(gateway_settings(provider.url), config) as url:
            problem = talk(url, CHAT, 60).send(model=model).headers.get("x-compact-problem", "")
            assert ("'acme-rocket-1' is not known" in problem and "16,000" in problem) == is_assumed


def test_a_bad_model_is_not_called_a_bad_preset() -> None:
    with refusing(OK) as (url, _):
        problem = talk(url, CHAT, 30).send(model="").headers["x-compact-problem"]
        assert problem.startswith("model must be text")


def test_the_gateways_own_refusals_name_what_it_has() -> None:
    with scripted() as upstream:
        settings = gateway_settings(upstream.url, token="right")
        with serving(settings, manager()) as url:
            foreign = HTTP.get(f"{url}/v1/models", headers={"origin": "https://elsewhere.example"})
            assert foreign.status_code == 403 and "--allow-origin" not in foreign.text
            unknown = HTTP.get(f"{url}/v1/models")
            assert unknown.status_code == 401
            assert "x-compact-token" in unknown.headers["www-authenticate"]
            assert not unknown.headers["www-authenticate"].lower().startswith("bearer")
