"""A scripted model behind HTTP, so that the framework examples run anywhere: it reads a log page by page.

It speaks OpenAI's chat completions and rejects a prompt larger than its window, as a real one does.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from compact import count_tokens

WINDOW = 5_000
PAGES = 24


def page(number: int) -> str:
    """One page of a ship's log, about 700 tokens."""
    weather = " ".join(f"At {hour}:00 wind force {(number * 5 + hour) % 9}, sea calm." for hour in range(48))
    return f"Page {number}. Position code POS-{number * 113}. {weather}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    asked = largest = 0


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tokens = count_tokens(body["messages"], tools=body.get("tools"), format="openai-chat")
        if tokens > WINDOW:
            problem = f"This model's maximum context length is {WINDOW} tokens. However, you sent {tokens}."
            return self._send(400, {"error": {"message": problem, "code": "context_length_exceeded"}})
        number, self.server.asked = self.server.asked, self.server.asked + 1
        self.server.largest = max(self.server.largest, tokens)
        message: dict[str, Any] = {"role": "assistant", "content": "All read. Page 3 was at POS-339."}
        if number < PAGES:
            call = {"name": "read_page", "arguments": json.dumps({"number": number})}
            message = {"role": "assistant", "content": None}
            message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": call}]
        reason = "tool_calls" if number < PAGES else "stop"
        usage = {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}
        about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted"}
        if body.get("stream"):
            calls = [{"index": 0, **call} for call in message.get("tool_calls", ())]
            deltas = ({**message, **({"tool_calls": calls} if calls else {})}, None), ({}, reason)
            choices = [{"index": 0, "delta": delta, "finish_reason": end} for delta, end in deltas]
            chunks = [{**about, "object": "chat.completion.chunk", "choices": [one]} for one in choices]
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
            return self._send(200, "".join([*lines, "data: [DONE]\n\n"]), "text/event-stream")
        choice = {"index": 0, "message": message, "finish_reason": reason}
        self._send(200, {**about, "choices": [choice], "usage": usage})

    def _send(self, status: int, value: Any, kind: str = "application/json") -> None:
        data = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def model_server() -> Iterator[str]:
    """The address of a running server; says at the end how large the prompts were."""
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
        pages = sum(count_tokens(page(number)) for number in range(PAGES))
        print(f"{pages:,} tokens of pages went through a window of {WINDOW:,}; ", end="")
        print(f"{server.asked} requests, the largest of {server.largest:,} tokens.")
    finally:
        server.shutdown()
        server.server_close()
