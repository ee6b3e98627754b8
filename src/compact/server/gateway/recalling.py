"""The recall tool: offered to the model once something was compacted, and answered here.

The client never learns of it: a reply that calls the tool is answered with what recall finds, and the model
is asked again. For that a reply has to be read whole before it goes on, which is why it is an option.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compact.models._sse import data_of
from compact.server.gateway.wire import CHAT, MESSAGES, Api
from compact.server.http.bodies import json_bytes

NAME = "compact_recall"
MOST_ROUNDS = 4
_WHAT_FOR = (
    "Looks up earlier messages of this conversation that a summary stands for, or tool output that was "
    "cleared. Give the handle that stands in the text (r-… or s-…), or a few words to search for."
)
_SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "A handle, or words to search for."}},
    "required": ["query"],
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the recall tool in a reply."""

    id: str
    query: str
    raw: Mapping[str, Any]
    """As the API wants it back in the next request."""


def offered(api: Api, body: bytes) -> bytes:
    """The body with our tool behind the others."""
    value = json.loads(body)
    tools = value.get("tools") or []
    return json_bytes({**value, "tools": [*tools, _tool(api)]})


def _tool(api: Api) -> dict[str, Any]:
    if api is MESSAGES:
        return {"name": NAME, "description": _WHAT_FOR, "input_schema": _SCHEMA}
    described = {"name": NAME, "description": _WHAT_FOR, "parameters": _SCHEMA}
    return {"type": "function", "function": described} if api is CHAT else {"type": "function", **described}


def continued(api: Api, body: bytes, calls: Sequence[Call], answers: Sequence[str]) -> bytes:
    """The next request: what was asked before, the calls, and what recall found."""
    value = json.loads(body)
    pairs = list(zip(calls, answers, strict=True))
    more: list[dict[str, Any]]
    if api is MESSAGES:
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in pairs]
        more = [
            {"role": "assistant", "content": [dict(call.raw) for call in calls]},
            {"role": "user", "content": results},
        ]
    elif api is CHAT:
        more = [{"role": "assistant", "content": None, "tool_calls": [dict(call.raw) for call in calls]}]
        more += [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in pairs]
    else:
        more = [dict(call.raw) for call in calls]
        more += [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in pairs]
    return json_bytes({**value, api.messages: [*value[api.messages], *more]})


def calls_in(api: Api, content_type: str, raw: bytes) -> list[Call]:
    """The calls of our tool in a reply, streamed or not; none where the reply cannot be read."""
    try:
        if "text/event-stream" in content_type:
            events = [json.loads(data) for data in data_of([raw]) if data.strip() not in ("", "[DONE]")]
            found = list(_streamed(api, events))
        else:
            found = list(_whole(api, json.loads(raw)))
        return [_call(api, one) for one in found if _name(api, one) == NAME]
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return []


def _name(api: Api, call: Mapping[str, Any]) -> Any:
    return call["function"]["name"] if api is CHAT else call["name"]


def _call(api: Api, raw: Mapping[str, Any]) -> Call:
    if api is MESSAGES:
        return Call(raw["id"], str(raw["input"].get("query", "")), raw)
    arguments = raw["function"]["arguments"] if api is CHAT else raw["arguments"]
    return Call(raw["id"] if api is CHAT else raw["call_id"], _query(arguments), raw)


def _query(arguments: str) -> str:
    try:
        return str(json.loads(arguments).get("query", ""))
    except (ValueError, AttributeError):
        return arguments


def _whole(api: Api, value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if api is CHAT:
        yield from value["choices"][0]["message"].get("tool_calls") or ()
    elif api is MESSAGES:
        yield from (block for block in value["content"] if block["type"] == "tool_use")
    else:
        yield from (item for item in value["output"] if item["type"] == "function_call")


def _streamed(api: Api, events: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    if api is CHAT:
        yield from _streamed_chat(events)
    elif api is MESSAGES:
        yield from _streamed_messages(events)
    else:
        for event in events:
            if event.get("type") == "response.output_item.done":
                yield from (one for one in [event["item"]] if one["type"] == "function_call")


def _streamed_chat(events: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        for choice in (event.get("choices") or [])[:1]:
            for piece in (choice.get("delta") or {}).get("tool_calls") or ():
                call = calls.setdefault(
                    piece["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] = piece.get("id") or call["id"]
                function = piece.get("function") or {}
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""
    yield from calls.values()


def _streamed_messages(events: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    blocks: dict[int, dict[str, Any]] = {}
    texts: dict[int, str] = {}
    for event in events:
        if event.get("type") == "content_block_start" and event["content_block"]["type"] == "tool_use":
            blocks[event["index"]] = dict(event["content_block"])
        elif event.get("type") == "content_block_delta" and event["index"] in blocks:
            texts[event["index"]] = texts.get(event["index"], "") + event["delta"].get("partial_json", "")
    for index, block in blocks.items():
        yield {**block, "input": json.loads(texts[index]) if texts.get(index) else block.get("input") or {}}
