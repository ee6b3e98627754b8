"""A model's API on loopback that rejects what the real ones reject, in three wire formats.

`/v1/chat/completions`, `/v1/responses`, `/v1/messages` (and `count_tokens`), streamed or whole. A prompt over
the window, an orphaned or unanswered tool call, or roles out of order get a 400 in the provider's own format.
The reply comes from `reply(messages, tools)`: text, or `Calls` of tools.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
COUNT = "/v1/messages/count_tokens"
CHARS_PER_TOKEN = 4
CHAT_FIELDS = {
    *("role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio"),
    "provider_specific_fields",  # Every client on LiteLLM sends it back, and OpenAI accepts it.
}


@dataclass(frozen=True)
class Calls:
    """A reply that calls tools: (name, arguments) each."""

    made: Sequence[tuple[str, dict[str, Any]]]
    text: str = ""
    thinking: str = ""
    """The thinking before it; it must come back, signed, with the results."""


Reply = str | Calls
Answer = Callable[[list[Any], list[Any]], Reply]


class Refused(Exception):
    """What the real API answers with a 400."""


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: bytes
    body: Any
    tokens: int = 0
    cached: int = 0
    refused: str = ""


class Provider(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, window: int, reply: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.window = window
        self.reply = reply
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._numbers = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def prompts(self) -> list[Asked]:
        """The requests that were answered, without those that only count tokens."""
        return [one for one in self.asked if not one.refused and one.path != COUNT]

    def number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers

    def keep(self, asked: Asked) -> None:
        with self._lock:
            shown = prompt_text(asked.path, asked.body)
            before = [prompt_text(one.path, one.body) for one in self.asked[-20:] if not one.refused]
            asked.tokens = len(shown) // CHARS_PER_TOKEN + 1
            asked.cached = max((_shared(shown, other) for other in before), default=0) // CHARS_PER_TOKEN
            self.asked.append(asked)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # Clients that disconnect are what is being tested.


@contextmanager
def providing(reply: Answer = lambda messages, tools: "Noted.", window: int = 8_000) -> Iterator[Provider]:
    provider = Provider(window, reply)
    thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.shutdown()
        provider.server_close()
        thread.join()


def prompt_text(path: str, body: Any) -> str:
    """What the model reads, in order: tools, system, messages."""
    field_ = "input" if path == RESPONSES else "messages"
    parts = (body.get("tools"), body.get("system") or body.get("instructions"))
    messages = body[field_] if isinstance(body.get(field_), list) else [body.get(field_)]
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in (*parts, *messages))


def _shared(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


# -- what the real ones reject ------------------------------------------------------------------------------


def check(path: str, body: Any) -> None:
    if not isinstance(body.get("model"), str):
        raise Refused("you must provide a model parameter")
    if path == CHAT:
        _check_chat(body["messages"])
    elif path == RESPONSES:
        _check_responses(body["input"] if isinstance(body["input"], list) else [])
    else:
        _check_messages(body["messages"])
        if (body.get("thinking") or {}).get("type") == "enabled":
            _check_thinking(body["messages"])


def _check_thinking(messages: list[Any]) -> None:
    """In the current turn, the thinking before a call must be there as it was signed."""
    last = next((one for one in reversed(messages) if one["role"] == "assistant"), None)
    if last is None or messages[-1] is last or isinstance(last["content"], str):
        return
    first = last["content"][0]
    if any(block["type"] == "tool_use" for block in last["content"]) and first["type"] != "thinking":
        raise Refused(f"Expected `thinking` or `redacted_thinking`, but found `{first['type']}`.")
    if first["type"] == "thinking" and first["signature"] != signature(first["thinking"]):
        raise Refused("Invalid `signature` in `thinking` block")


def signature(thinking: str) -> str:
    return f"signed-{len(thinking)}-{thinking[::-1]}"


def _check_chat(messages: list[Any]) -> None:
    waiting: list[str] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in ("system", "developer", "user", "assistant", "tool"):
            raise Refused(f"messages[{index}].role: invalid value {role!r}")
        if set(message) - CHAT_FIELDS:
            raise Refused(f"messages[{index}]: additional properties are not allowed: {sorted(message)}")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                raise Refused(
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise Refused("an assistant message with 'tool_calls' must be followed by tool messages")
        calls = message.get("tool_calls") or []
        if role == "assistant" and not calls and not message.get("content"):
            raise Refused(f"messages[{index}]: content is required unless tool_calls is given")
        waiting = [call["id"] for call in calls]
    if waiting:
        raise Refused("an assistant message with 'tool_calls' must be followed by tool messages")


def _check_responses(items: list[Any]) -> None:
    waiting: set[str] = set()
    there = {item.get("id") for item in items}
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            thought = str(item.get("id", "")).split("_")
            if thought[0] == "fcr" and (needed := f"rs_{thought[1]}") not in there:
                raise Refused(
                    f"Item '{item['id']}' of type 'function_call' was provided without its required "
                    f"'reasoning' item: '{needed}'."
                )
            waiting.add(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in waiting:
                raise Refused(f"No tool call found for function call output with call_id {item['call_id']}.")
            waiting.remove(item["call_id"])
        elif kind == "message" and item.get("role") not in ("user", "assistant", "system", "developer"):
            raise Refused(f"Invalid value: input[{index}].role")
    if waiting:
        raise Refused(f"No tool output found for function call {sorted(waiting)[0]}.")


def _check_messages(messages: list[Any]) -> None:
    if not messages or messages[0].get("role") != "user":
        raise Refused('messages: first message must use the "user" role')
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if set(message) - {"role", "content"}:
            raise Refused(f"messages.{index}: Extra inputs are not permitted")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks or any(block.get("type") == "text" and not block.get("text") for block in blocks):
            raise Refused(f"messages.{index}: text content blocks must be non-empty")
        results = {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"}
        if results - waiting:
            raise Refused(f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks")
        if waiting - results:
            raise Refused(f"messages.{index}: `tool_use` ids were found without `tool_result` blocks")
        waiting = {block["id"] for block in blocks if block.get("type") == "tool_use"}
        if waiting and message["role"] != "assistant":
            raise Refused(f"messages.{index}: `tool_use` blocks can only be in `assistant` messages")
    if waiting:
        raise Refused("messages: `tool_use` ids were found without `tool_result` blocks immediately after")


# -- the wire -----------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Provider

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/v1/models"):
            self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        else:
            self._send(404, {"error": {"message": f"no {self.path}", "type": "invalid_request_error"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        path = path if path.startswith("/v1") else f"/v1{path}"
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(path, headers, raw, json.loads(raw))
        self.server.keep(asked)
        try:
            check(path, asked.body)
            if path == COUNT:
                self._send(200, {"input_tokens": asked.tokens})
                return
            if asked.tokens > self.server.window:
                raise Refused(_too_long(path, asked.tokens, self.server.window))
        except Refused as refusal:
            asked.refused = str(refusal)
            self._send(400, _error(path, str(refusal)))
            return
        field_ = "input" if path == RESPONSES else "messages"
        messages = asked.body[field_] if isinstance(asked.body[field_], list) else [asked.body[field_]]
        reply = self.server.reply(messages, asked.body.get("tools") or [])
        write = {CHAT: _chat, RESPONSES: _responses, MESSAGES: _messages}[path]
        write(self, asked, reply)

    def _send(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self, events: Iterator[tuple[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            text = f"event: {name}\n" if name else ""
            text += f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            chunk = text.encode()
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def _too_long(path: str, tokens: int, window: int) -> str:
    if path == MESSAGES:
        return f"prompt is too long: {tokens} tokens > {window} maximum"
    return (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in "
        f"{tokens} tokens. Please reduce the length of the messages."
    )


def _error(path: str, message: str) -> Any:
    if path in (MESSAGES, COUNT):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    code = "context_length_exceeded" if "maximum context length" in message else None
    return {"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}}


def _parts(reply: Reply) -> tuple[str, Sequence[tuple[str, dict[str, Any]]]]:
    return (reply, ()) if isinstance(reply, str) else (reply.text, reply.made)


def _chat(handler: _Handler, asked: Asked, reply: Reply) -> None:
    text, made = _parts(reply)
    number = handler.server.number()
    calls = [
        {
            "id": f"call_{number}_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for n, (name, given) in enumerate(made)
    ]
    usage = {
        "prompt_tokens": asked.tokens,
        "completion_tokens": 5,
        "total_tokens": asked.tokens + 5,
        "prompt_tokens_details": {"cached_tokens": asked.cached},
    }
    finish = "tool_calls" if calls else "stop"
    base = {"id": f"chatcmpl-{number}", "created": 1, "model": asked.body["model"]}
    if not asked.body.get("stream"):
        message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        handler._send(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        return

    def events() -> Iterator[tuple[str, Any]]:
        def chunk(delta: Any, finished: str | None = None) -> Any:
            choice = {"index": 0, "delta": delta, "finish_reason": finished}
            return {**base, "object": "chat.completion.chunk", "choices": [choice]}

        yield "", chunk({"role": "assistant", "content": ""})
        for word in text.split(" ") if text else ():
            yield "", chunk({"content": f"{word} "})
        for index, call in enumerate(calls):
            yield "", chunk({"tool_calls": [{"index": index, **call}]})
        yield "", chunk({}, finish)
        if (asked.body.get("stream_options") or {}).get("include_usage"):
            yield "", {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}
        yield "", "[DONE]"

    handler._events(events())


def _messages(handler: _Handler, asked: Asked, reply: Reply) -> None:
    text, made = _parts(reply)
    number = handler.server.number()
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    if thinking := getattr(reply, "thinking", ""):
        blocks.insert(0, {"type": "thinking", "thinking": thinking, "signature": signature(thinking)})
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}_{n}", "name": name, "input": given}
        for n, (name, given) in enumerate(made)
    ]
    finish = "tool_use" if made else "end_turn"
    usage = {
        "input_tokens": asked.tokens - asked.cached,
        "output_tokens": 5,
        "cache_read_input_tokens": asked.cached,
        "cache_creation_input_tokens": 0,
    }
    base = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": asked.body["model"]}
    ended = {"stop_reason": finish, "stop_sequence": None}
    if not asked.body.get("stream"):
        handler._send(200, {**base, "content": blocks, **ended, "usage": usage})
        return

    def events() -> Iterator[tuple[str, Any]]:
        start = {**base, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield "message_start", {"type": "message_start", "message": start}
        for index, block in enumerate(blocks):
            deltas: list[dict[str, Any]] = []
            if block["type"] == "text":
                empty, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
            elif block["type"] == "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                half = len(block["thinking"]) // 2
                for piece in (block["thinking"][:half], block["thinking"][half:]):
                    deltas.append({"type": "thinking_delta", "thinking": piece})
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            else:
                empty = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            yield (
                "content_block_start",
                {"type": "content_block_start", "index": index, "content_block": empty},
            )
            for delta in deltas:
                yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
            yield "content_block_stop", {"type": "content_block_stop", "index": index}
        yield "message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}
        yield "message_stop", {"type": "message_stop"}

    handler._events(events())


def _responses(handler: _Handler, asked: Asked, reply: Reply) -> None:
    text, made = _parts(reply)
    number = handler.server.number()
    output: list[dict[str, Any]] = []
    thought = getattr(reply, "thinking", "")
    if thought:
        shown = [{"type": "summary_text", "text": thought}]
        output.append({"type": "reasoning", "id": f"rs_{number}", "summary": shown})
    if text:
        content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
        output.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    output += [
        {
            "type": "function_call",
            "id": f"fc{'r' if thought else ''}_{number}_{n}",
            "call_id": f"call_{number}_{n}",
            "name": name,
            "arguments": json.dumps(given),
            "status": "completed",
        }
        for n, (name, given) in enumerate(made)
    ]
    usage = {
        "input_tokens": asked.tokens,
        "input_tokens_details": {"cached_tokens": asked.cached, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked.tokens + 5,
    }
    response = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": asked.body["model"],
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage,
    }
    if not asked.body.get("stream"):
        handler._send(200, response)
        return

    def events() -> Iterator[tuple[str, Any]]:
        started = {**response, "status": "in_progress", "output": [], "usage": None}
        pieces: list[tuple[str, Any]] = [("response.created", {"response": started})]
        for index, item in enumerate(output):
            pieces.append(("response.output_item.added", {"output_index": index, "item": item}))
            if item["type"] == "message":
                delta = {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": text}
                pieces.append(("response.output_text.delta", {**delta, "logprobs": []}))
            pieces.append(("response.output_item.done", {"output_index": index, "item": item}))
        pieces.append(("response.completed", {"response": response}))
        for sequence, (name, data) in enumerate(pieces):
            yield name, {"type": name, "sequence_number": sequence, **data}

    handler._events(events())
