"""A model's reply, streamed or complete, as its API expects it back in the next request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compact.models._http import Trouble, detail_of, status_in, trouble_of
from compact.models._sse import data_of
from compact.server.gateway.upstream import Answer
from compact.server.gateway.wire import CHAT, MESSAGES, Api

Json = dict[str, Any]
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool; `arguments` is an object or the JSON of one."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything the model said: what it thought before its calls is signed and must be returned with
    them."""

    turn: Sequence[Json]
    calls: Sequence[Call]


def read_reply(api: Api, content_type: str, raw: bytes) -> Reply | None:
    """None where the reply cannot be read."""
    try:
        if "text/event-stream" in content_type:
            events = [json.loads(data) for data in data_of([raw]) if data.strip() not in ("", "[DONE]")]
            return _reply(api, _streamed(api, events))
        return _reply(api, _whole(api, json.loads(raw)))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return None


def trouble_in(answer: Answer) -> Trouble | None:
    """Why the provider rejected it, even if a stream of status 200 says so; None if it did not."""
    if answer.status >= 400:
        return trouble_of(answer.status, detail_of(answer.content))
    if "text/event-stream" not in answer.content_type:
        return None
    for data in data_of([answer.content]):
        try:
            event = json.loads(data)
        except ValueError:  # the end of a chunk that is not the end of an event
            continue
        if error := _error_in(event):
            return trouble_of(status_in(error), detail_of(json.dumps(error).encode()))
    return None


def _error_in(event: Any) -> Any:
    """The error of a stream's event, wherever its API puts it."""
    if not isinstance(event, dict):
        return None
    response = event.get("response")
    inner = response.get("error") if isinstance(response, dict) else None
    return event.get("error") or inner or (event if event.get("type") == "error" else None)


def _reply(api: Api, said: Any) -> Reply:
    """`said` is a message of the chat API, a list of blocks or a list of items."""
    if api is CHAT:
        made = said.get("tool_calls") or ()
        calls = [Call(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in made]
        return Reply([said], calls)
    if api is MESSAGES:
        used = [block for block in said if block["type"] == "tool_use"]
        turn = [{"role": "assistant", "content": said}]
        return Reply(turn, [Call(block["id"], block["name"], block["input"]) for block in used])
    items = [item for item in said if item["type"] == "function_call"]
    return Reply(said, [Call(item["call_id"], item["name"], item["arguments"]) for item in items])


def _whole(api: Api, value: Mapping[str, Any]) -> Any:
    if api is CHAT:
        return value["choices"][0]["message"]
    return value["content"] if api is MESSAGES else value["output"]


def _streamed(api: Api, events: Sequence[Json]) -> Any:
    if api is CHAT:
        return _chat_message(events)
    if api is MESSAGES:
        return _blocks(events)
    return [event["item"] for event in events if event.get("type") == "response.output_item.done"]


def _chat_message(events: Sequence[Json]) -> Json:
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    for event in events:
        for choice in (event.get("choices") or [])[:1]:
            delta = dict(choice.get("delta") or {})
            for piece in delta.pop("tool_calls", None) or ():
                call = calls.setdefault(piece["index"], {"function": {}})
                _grow(call["function"], piece.get("function") or {})
                call |= {name: piece[name] for name in ("id", "type") if piece.get(name)}
            delta.pop("role", None)
            _grow(message, delta)
    return {
        **message,
        "content": message["content"] or None,
        **({"tool_calls": list(calls.values())} if calls else {}),
    }


def _grow(grown: Json, delta: Mapping[str, Any]) -> None:
    """Text and lists arrive in pieces, including those of fields that only some providers have."""
    for name, piece in delta.items():
        if piece is None:
            continue
        before = grown.get(name)
        grown[name] = before + piece if before is not None and isinstance(piece, str | list) else piece


def _blocks(events: Sequence[Json]) -> list[Json]:
    blocks: dict[int, Json] = {}
    inputs: dict[int, str] = {}
    for event in events:
        if event.get("type") == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event.get("type") == "content_block_delta":
            index, delta = event["index"], event["delta"]
            if delta["type"] == "input_json_delta":
                inputs[index] = inputs.get(index, "") + delta["partial_json"]
            elif delta["type"] in _GROWING:
                field = _GROWING[delta["type"]]
                blocks[index][field] = blocks[index].get(field, "") + delta[field]
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text) if text else {}
    return [blocks[index] for index in sorted(blocks)]
