"""A model server on loopback that rejects what the real ones reject: broken prompts and overlong ones.

It supports OpenAI chat, OpenAI Responses and Anthropic Messages, whole and streamed, and Gemini whole. Its
model reads page after page with a tool and then answers. It remembers the next page itself, so it does not
matter what a compaction removes from the prompt. `requests` is what it received, `refusals` what it refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from compact import count_tokens, lint

PAGES = 32
WINDOW = 4_000
TASK = "Read all pages of the log, one after the other, then name the keeper of page 7. Never guess."
ANSWER = "The keeper of page 7 was Keeper-119."


def page_text(number: int) -> str:
    """About 500 tokens."""
    filler = " ".join(f"At {hour:02d}:00 ship {number * 31 + hour} passed the lamp." for hour in range(40))
    return f"Page {number}: the keeper was Keeper-{number * 17}. {filler}"


class StrictProvider(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, window: int = WINDOW, pages: int = PAGES) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.window, self.pages = window, pages
        self.requests: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.read = 0
        self.tokens_seen = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            wire = next(wire for wire in _WIRES if path.endswith(wire.path))
            self.requests.append(body)
            problem, tokens = wire.refusal(body, self.window)
            self.tokens_seen = max(self.tokens_seen, tokens)
            if problem is not None:
                self.refusals.append(problem)
                return 400, wire.error(problem)
            offers_tools = bool(body.get("tools"))
            number, self.read = self.read, self.read + 1
            calls = offers_tools and number < self.pages
            return 200, (wire.call(number) if calls else wire.said(ANSWER)) | {"usage": wire.usage(tokens)}


class _Chat:
    path, format, provider = "/chat/completions", "openai-chat", "openai"

    def refusal(self, body: dict[str, Any], window: int) -> tuple[str | None, int]:
        return _refusal(body["messages"], self, window, body.get("tools"), None, body.get("model"))

    def error(self, problem: str) -> Any:
        code = "context_length_exceeded" if "maximum context" in problem else None
        return {
            "error": {"message": problem, "type": "invalid_request_error", "param": "messages", "code": code}
        }

    def call(self, number: int) -> dict[str, Any]:
        function = {"name": "read_page", "arguments": json.dumps({"number": number})}
        made = [{"id": f"call_{number}", "type": "function", "function": function}]
        return self._choice({"role": "assistant", "content": None, "tool_calls": made}, "tool_calls")

    def said(self, text: str) -> dict[str, Any]:
        return self._choice({"role": "assistant", "content": text}, "stop")

    def _choice(self, message: dict[str, Any], reason: str) -> dict[str, Any]:
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }

    def usage(self, tokens: int) -> dict[str, int]:
        return {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}

    def events(self, whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        message, reason = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
        base = {**whole, "object": "chat.completion.chunk", "usage": None}
        delta = dict(message)
        if delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": 0, **delta["tool_calls"][0]}]
        for piece, ended in ((delta, None), ({}, reason)):
            yield "", {**base, "choices": [{"index": 0, "delta": piece, "finish_reason": ended}]}
        if whole["include_usage"]:
            yield "", {**base, "choices": [], "usage": whole["usage"]}
        yield "", "[DONE]"


class _Responses:
    path, format, provider = "/responses", "openai-responses", "openai"

    def refusal(self, body: dict[str, Any], window: int) -> tuple[str | None, int]:
        given = body["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return _refusal(items, self, window, body.get("tools"), body.get("instructions"), body.get("model"))

    error = _Chat.error

    def call(self, number: int) -> dict[str, Any]:
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": "read_page",
            "arguments": json.dumps({"number": number}),
            "status": "completed",
        }
        return self._response(item)

    def said(self, text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        return self._response(item)

    def _response(self, item: dict[str, Any]) -> dict[str, Any]:
        fixed = {
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "error": None,
        }
        fixed |= {"incomplete_details": None, "instructions": None, "temperature": 1.0, "top_p": 1.0}
        about = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
        return {**about, **fixed, "output": [item]}

    def usage(self, tokens: int) -> dict[str, Any]:
        details = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        return {"input_tokens": tokens, "output_tokens": 9, "total_tokens": tokens + 9, **details}

    def events(self, whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        item = whole["output"][0]
        started = {**whole, "output": [], "status": "in_progress", "usage": None}
        yield "response.created", {"response": started, "sequence_number": 0}
        yield "response.output_item.added", {"output_index": 0, "item": item, "sequence_number": 1}
        yield "response.output_item.done", {"output_index": 0, "item": item, "sequence_number": 2}
        yield "response.completed", {"response": whole, "sequence_number": 3}


class _Messages:
    path, format, provider = "/messages", "anthropic", "anthropic"

    def refusal(self, body: dict[str, Any], window: int) -> tuple[str | None, int]:
        return _refusal(
            body["messages"], self, window, body.get("tools"), body.get("system"), body.get("model")
        )

    def error(self, problem: str) -> Any:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": problem}}

    def call(self, number: int) -> dict[str, Any]:
        block = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "read_page",
            "input": {"number": number},
        }
        return self._message(block, "tool_use")

    def said(self, text: str) -> dict[str, Any]:
        return self._message({"type": "text", "text": text}, "end_turn")

    def _message(self, block: dict[str, Any], reason: str) -> dict[str, Any]:
        about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
        return {**about, "content": [block], "stop_reason": reason}

    def usage(self, tokens: int) -> dict[str, int]:
        return {"input_tokens": tokens, "output_tokens": 9}

    def events(self, whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        block, usage = whole["content"][0], whole["usage"]
        yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"index": 0, "content_block": empty}
        yield "content_block_delta", {"index": 0, "delta": delta}
        yield "content_block_stop", {"index": 0}
        yield (
            "message_delta",
            {"delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}, "usage": usage},
        )
        yield "message_stop", {}


class _Gemini:
    path, format, provider = ":generateContent", "gemini", "gemini"

    def refusal(self, body: dict[str, Any], window: int) -> tuple[str | None, int]:
        contents, told = body["contents"], (body.get("systemInstruction") or {}).get("parts")
        declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        tokens = count_tokens(contents, "gpt-4o", tools=declared, system=told, format="gemini")
        if tokens > window:
            limit = f"exceeds the maximum number of tokens allowed ({window})"
            return f"The input token count ({tokens}) {limit}.", tokens
        waiting = 0
        for number, content in enumerate(contents):
            answers = sum("functionResponse" in part for part in content["parts"])
            if answers != waiting:
                return (
                    f"contents[{number}]: the number of function responses must equal that of the calls",
                    tokens,
                )
            waiting = sum("functionCall" in part for part in content["parts"])
        return (
            "The first content must be the user's" if contents[0].get("role") == "model" else None
        ), tokens

    def error(self, problem: str) -> Any:
        return {"error": {"code": 400, "message": problem, "status": "INVALID_ARGUMENT"}}

    def call(self, number: int) -> dict[str, Any]:
        return self._candidate({"functionCall": {"name": "read_page", "args": {"number": number}}})

    def said(self, text: str) -> dict[str, Any]:
        return self._candidate({"text": text})

    def _candidate(self, part: dict[str, Any]) -> dict[str, Any]:
        content = {"role": "model", "parts": [part]}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}

    def usage(self, tokens: int) -> dict[str, int]:
        return {"promptTokenCount": tokens, "candidatesTokenCount": 9, "totalTokenCount": tokens + 9}


_WIRES: tuple[Any, ...] = (_Chat(), _Responses(), _Messages(), _Gemini())


def _refusal(
    messages: list[Any], wire: Any, window: int, tools: Any, system: Any, model: Any
) -> tuple[str | None, int]:
    tokens = count_tokens(messages, "gpt-4o", tools=tools, system=system, format=wire.format)
    if tokens > window:
        if wire.provider == "anthropic":
            return f"prompt is too long: {tokens} tokens > {window} maximum", tokens
        return f"This model's maximum context length is {window} tokens. However, you sent {tokens}.", tokens
    found = lint(messages, wire.provider, format=wire.format, model=model, tools=tools, system=system)
    return (f"messages[{found[0].index}]: {found[0].code}: {found[0].message}" if found else None), tokens


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StrictProvider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        path = self.path.partition("?")[0]
        status, answer = self.server.answer(path, body)
        if status == 200 and body.get("stream"):
            wire = next(wire for wire in _WIRES if path.endswith(wire.path))
            lines = []
            options = body.get("stream_options") or {}
            for name, data in wire.events({**answer, "include_usage": options.get("include_usage")}):
                if name:
                    data = {"type": name, **data}
                    lines.append(f"event: {name}\n")
                lines.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
            return self._send(200, "".join(lines).encode(), "text/event-stream")
        self._send(status, json.dumps(answer).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def strict_provider(window: int = WINDOW, pages: int = PAGES) -> Iterator[StrictProvider]:
    server = StrictProvider(window, pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
