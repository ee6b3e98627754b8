"""HTTP servers on loopback that use the wire formats of model providers, and misbehave on command.

A server has a script: one behavior for each expected request, in order. An extra request gets a 599, which
nobody retries, so an unexpected call is noticed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            body = json.loads(raw or b"null")
        except ValueError:
            body = raw
        self.server.take(Received(self.path, headers, body))(self)

    do_GET = do_POST

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Behavior = Callable[[Handler], None]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Sequence[Behavior]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections = 0
        """How many were ever opened."""
        self.received: list[Received] = []
        self.released = threading.Event()
        self._script = list(script)
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def verify_request(self, request: Any, client_address: Any) -> bool:
        self.connections += 1
        return True

    def take(self, request: Received) -> Behavior:
        with self._lock:
            self.received.append(request)
            return (
                self._script.pop(0)
                if self._script
                else status(599, {"error": {"message": "unexpected request"}})
            )

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # Clients that give up are what is being tested.


@contextmanager
def serving(*script: Behavior) -> Iterator[Server]:
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def status(answered: int, body: Any, **headers: str) -> Behavior:
    raw = json.dumps(body).encode()
    return lambda handler: handler.send(
        answered, raw, {name.replace("_", "-"): v for name, v in headers.items()}
    )


def garbage(handler: Handler) -> None:
    handler.send(200, b"<html>Bad gateway, but with a smile</html>")


def hang(handler: Handler) -> None:
    """Accept the request and never respond."""
    handler.server.released.wait(30)


def trickle(handler: Handler) -> None:
    """A byte now and then, so that no single read ever times out."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while not handler.server.released.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def cut_body(handler: Handler) -> None:
    """Promise more than is sent, then close."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def events(*data: Any, named: bool = False) -> Behavior:
    """A stream of server-sent events that ends with the connection."""

    def answer(handler: Handler) -> None:
        begin_stream(handler, chunked=False)
        for item in data:
            handler.wfile.write(as_event(item, named))
        handler.close_connection = True

    return answer


def dripping(raw: bytes, size: int = 1) -> Behavior:
    """A stream in chunks of `size` bytes, split anywhere."""

    def answer(handler: Handler) -> None:
        begin_stream(handler, chunked=True)
        for start in range(0, len(raw), size):
            piece = raw[start : start + size]
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def then(*data: Any, silence: bytes | None = b"", named: bool = False) -> Behavior:
    """A stream that stays open after these events: silent, or with an occasional keep-alive.

    With `silence` None the connection breaks instead, in the middle of a chunk.
    """

    def answer(handler: Handler) -> None:
        begin_stream(handler, chunked=True)
        pieces = [as_event(item, named) for item in data]
        # In one go: a client that waits for each piece must not meet a pause of this process between them.
        handler.wfile.write(b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces))
        handler.close_connection = True
        if silence is None:
            handler.wfile.write(b"ff\r\ndata: {")
            return
        while not handler.server.released.wait(0.05):
            if silence:
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(silence), silence))
                handler.wfile.flush()

    return answer


def until_left(left: threading.Event, *data: Any) -> Behavior:
    """Begin a stream, if there is something to send, and continue until the client is gone."""

    def answer(handler: Handler) -> None:
        if data:
            begin_stream(handler, chunked=False)
        for item in data:
            handler.wfile.write(as_event(item))
        handler.wfile.flush()
        handler.close_connection = True
        # If data is left unread, the connection is reset instead of closed.
        with suppress(ConnectionError):
            handler.connection.settimeout(30)
            handler.connection.recv(1)
        left.set()

    return answer


def begin_stream(handler: Handler, chunked: bool) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header(*(("transfer-encoding", "chunked") if chunked else ("connection", "close")))
    handler.end_headers()


def as_event(item: Any, named: bool = False) -> bytes:
    name = f"event: {item['type']}\n" if named else ""
    text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    return f"{name}data: {text}\n\n".encode()


@dataclass(frozen=True)
class OpenAIWire:
    """What chat completions look like."""

    path: str = "/chat/completions"

    def answer(self, text: str | None, finish: str = "stop", **message: Any) -> Behavior:
        return status(
            200,
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": "served-model",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": finish,
                        "message": {"role": "assistant", "content": text, **message},
                    }
                ],
                "usage": {
                    "prompt_tokens": 120,
                    "completion_tokens": 34,
                    "total_tokens": 154,
                    "prompt_tokens_details": {"cached_tokens": 100},
                },
            },
        )

    def error(self, answered: int, message: str, **fields: Any) -> Behavior:
        headers = {name: fields.pop(name) for name in list(fields) if name.startswith("retry_")}
        return status(answered, {"error": {"message": message, **fields}}, **headers)

    def chunks(self, text: str) -> list[Any]:
        middle = len(text) // 2
        first = {"role": "assistant", "content": text[:middle]}
        return [
            {"model": "served-model", "choices": [{"index": 0, "delta": first, "finish_reason": None}]},
            {"model": "served-model", "choices": [{"index": 0, "delta": {"content": text[middle:]}}]},
        ]

    def stream(self, text: str, finish: str = "stop") -> Behavior:
        usage = {"prompt_tokens": 120, "completion_tokens": 34}
        return events(
            *self.chunks(text),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": usage},
            "[DONE]",
        )

    def cut_stream(self, text: str) -> Behavior:
        return events(*self.chunks(text))

    def failing_stream(self, text: str) -> Behavior:
        return events(*self.chunks(text), {"error": {"code": 503, "message": "Overloaded"}})

    def streamed(self, *deltas: Any, finish: str | None = "stop") -> list[Any]:
        """The events of a reply made of these deltas, with usage and end marker."""
        last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
        usage = {
            "prompt_tokens": 120,
            "completion_tokens": 34,
            "prompt_tokens_details": {"cached_tokens": 100},
        }
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        return [*chunks, *last, {"choices": [], "usage": usage}, "[DONE]"]


@dataclass(frozen=True)
class AnthropicWire:
    """What the Messages API looks like."""

    path: str = "/v1/messages"
    usage: dict[str, int] = field(
        default_factory=lambda: {
            "input_tokens": 120,
            "output_tokens": 34,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 7,
        }
    )

    def answer(self, text: str | None, stop: str = "end_turn", blocks: Sequence[Any] = ()) -> Behavior:
        content = [*blocks, *([{"type": "text", "text": text}] if text is not None else [])]
        body = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "served-claude",
            "content": content,
            "stop_reason": stop,
            "usage": self.usage,
        }
        return status(200, body)

    def error(
        self, answered: int, message: str, kind: str = "invalid_request_error", **headers: str
    ) -> Behavior:
        return status(answered, {"type": "error", "error": {"type": kind, "message": message}}, **headers)

    def chunks(self, text: str) -> list[Any]:
        middle = len(text) // 2
        return [
            {"type": "message_start", "message": {"model": "served-claude", "usage": self.usage}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text[:middle]},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text[middle:]},
            },
            {"type": "content_block_stop", "index": 0},
        ]

    def stream(self, text: str, stop: str = "end_turn") -> Behavior:
        return events(
            *self.chunks(text),
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 34}},
            {"type": "message_stop"},
            named=True,
        )

    def cut_stream(self, text: str) -> Behavior:
        return events(*self.chunks(text), named=True)

    def streamed(self, *blocks: tuple[Any, Sequence[Any]], stop: str = "end_turn") -> list[Any]:
        """The events of a reply made of these blocks, each with its deltas."""
        found: list[Any] = [{"type": "message_start", "message": {"role": "assistant", "usage": self.usage}}]
        for index, (block, deltas) in enumerate(blocks):
            found.append({"type": "content_block_start", "index": index, "content_block": block})
            found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            found.append({"type": "content_block_stop", "index": index})
        end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 34}}
        return [*found, end, {"type": "message_stop"}]

    def failing_stream(self, text: str) -> Behavior:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return events(*self.chunks(text)[:3], error, named=True)
