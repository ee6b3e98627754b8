"""A chat model over the real wire: answers OpenAI chat completions by a rule, in small pieces."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Rule = Callable[[dict[str, Any]], "str | Answer"]


class Answer:
    """How one request is answered: pieces of text, or raw deltas; setting `hold` releases the last one."""

    def __init__(
        self,
        *pieces: Any,
        status: int = 200,
        hold: threading.Event | None = None,
        usage: dict[str, int] | None = None,
        finish: str = "stop",
    ) -> None:
        self.pieces, self.status, self.hold, self.usage = pieces, status, hold, usage
        self.finish = finish


class ChatServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, rule: Rule) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rule = rule
        self.requests: list[dict[str, Any]] = []
        self.left = threading.Event()
        """A client hung up in the middle of a reply."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def last(self) -> list[dict[str, Any]]:
        """The messages of the last request."""
        found: list[dict[str, Any]] = self.requests[-1]["messages"]
        return found

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.left.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        found = self.server.rule(body)
        answer = found if isinstance(found, Answer) else Answer(found)
        if answer.status != 200:
            raw = json.dumps({"error": {"message": answer.pieces[0]}}).encode()
            self.send_response(answer.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number, piece in enumerate(answer.pieces):
            if answer.hold is not None and number == len(answer.pieces) - 1:
                self._wait(answer.hold)
            delta = {"content": piece} if isinstance(piece, str) else piece
            self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        if answer.usage:
            self._event({"choices": [], "usage": answer.usage})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _wait(self, hold: threading.Event) -> None:
        # Comments keep the connection busy, so that a client's hang-up is noticed.
        while not hold.wait(0.02):
            try:
                self.wfile.write(b": still here\n\n")
                self.wfile.flush()
            except OSError:
                self.server.left.set()
                raise

    def _event(self, value: Any) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def chat_server(rule: Rule) -> Iterator[ChatServer]:
    server = ChatServer(rule)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
