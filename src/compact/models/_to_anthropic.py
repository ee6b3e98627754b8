"""Converts messages and tools from OpenAI's chat format to Anthropic's: system prompt separate, blocks,
results in user messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from compact.formats.fields import is_array

Block = dict[str, Any]

_FOREIGN_ID = re.compile(r"[^A-Za-z0-9_-]")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.IGNORECASE)
_SYSTEM = ("system", "developer")
_NOTHING = "(nothing)"
_GO_ON = "Continue."


def translated(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Block], list[dict[str, Any]]]:
    """System blocks, and messages that alternate between user and assistant, the user first.

    Leading system messages are the system prompt; a later one is sent in its place with the user role, as the
    API requires. The input is not changed.
    """
    system: list[Block] = []
    out: list[dict[str, Any]] = []
    for message in messages:
        role = message.get("role")
        if role in _SYSTEM and not out:
            system += [block for block in _blocks(message.get("content")) if block["type"] == "text"]
        elif role == "assistant":
            _add(out, "assistant", _assistant(message))
        elif role in ("tool", "function"):
            _add(out, "user", [_result(message)])
        else:
            _add(out, "user", _blocks(message.get("content")) or [_text(_NOTHING)])
    if out and out[0]["role"] == "assistant":
        out.insert(0, {"role": "user", "content": [_text(_GO_ON)]})
    return system, out


def translated_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for tool in tools:
        function = tool.get("function", tool)
        schema = function.get("parameters") or {}
        entry: dict[str, Any] = {
            "name": function["name"],
            "input_schema": {"type": "object", "properties": {}, **schema},
        }
        if function.get("description"):
            entry["description"] = function["description"]
        found.append(entry)
    return found


def _add(out: list[dict[str, Any]], role: str, blocks: list[Block]) -> None:
    """Consecutive messages of one role are joined: all results of a group of calls must be in one message."""
    if not blocks:
        return
    if not out or out[-1]["role"] != role:
        out.append({"role": role, "content": blocks})
        return
    content = out[-1]["content"]
    if blocks[0]["type"] == "tool_result":
        # Results come first in their message.
        at = sum(block["type"] == "tool_result" for block in content)
        content[at:at] = blocks
    else:
        content += blocks


def _assistant(message: Mapping[str, Any]) -> list[Block]:
    # The model's own signed thinking; it must come before the calls it led to.
    blocks = [dict(block) for block in message.get("thinking_blocks") or ()]
    blocks += _blocks(message.get("content"))
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        blocks.append(_text(refusal))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or call.get("custom") or {}
        given = function.get("arguments", function.get("input"))
        blocks.append(_use(call.get("id"), function.get("name"), given))
    if isinstance(legacy := message.get("function_call"), Mapping):
        blocks.append(_use(f"function_{legacy.get('name')}", legacy.get("name"), legacy.get("arguments")))
    return blocks


def _use(call_id: Any, name: Any, arguments: Any) -> Block:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            arguments = {"arguments": arguments}
    given = arguments if isinstance(arguments, Mapping) else {"arguments": arguments}
    return {"type": "tool_use", "id": _own_id(call_id), "name": str(name), "input": dict(given)}


def _result(message: Mapping[str, Any]) -> Block:
    call_id = message.get("tool_call_id") or f"function_{message.get('name')}"
    content = message.get("content")
    result: Block = {"type": "tool_result", "tool_use_id": _own_id(call_id)}
    if blocks := _blocks(content):
        result["content"] = content if isinstance(content, str) else blocks
    return result


def _own_id(call_id: Any) -> str:
    """The API accepts only these characters, and other vendors' ids have more."""
    return _FOREIGN_ID.sub("_", str(call_id)) or "_"


def _blocks(content: Any) -> list[Block]:
    """Content as blocks; the API rejects empty text."""
    if isinstance(content, str):
        return [_text(content)] if content.strip() else []
    parts = content if is_array(content) else ()
    return [block for part in parts if isinstance(part, Mapping) and (block := _block(part))]


def _block(part: Mapping[str, Any]) -> Block | None:
    kind = part.get("type")
    if kind in ("text", "refusal"):
        text = part.get(str(kind))
        return _text(text) if isinstance(text, str) and text.strip() else None
    if kind == "image_url":
        inner = part.get("image_url")
        url = inner.get("url") if isinstance(inner, Mapping) else inner
        return {"type": "image", "source": _source(str(url))}
    if kind == "file" and isinstance(inner := part.get("file"), Mapping) and inner.get("file_data"):
        return {"type": "document", "source": _source(str(inner["file_data"]))}
    return _text(f"[{kind} left out: this model's API takes none]")


def _source(url: str) -> Block:
    found = _DATA_URL.match(url)
    if not found:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": found[1].lower(), "data": url[found.end() :]}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
