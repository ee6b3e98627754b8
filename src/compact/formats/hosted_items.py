"""Responses items of tools that the provider runs: one item holds both the call and its result.

Any item with output and without a call id counts, including types added to the API later.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from compact.formats.fields import is_array, joined, plain_text
from compact.formats.media import image, note_image, read_note
from compact.model.message import Image, ToolCall, ToolResult, canonical_json

_OUTPUTS = ("output", "outputs", "results", "result", "error")
_VOLATILE = frozenset({"id", "status", "created_by", "meta", "type", "name", *_OUTPUTS})
_TEXTS = ("text", "logs", "output", "message")
_ABOUT = ("type", "filename", "file_id", "score")
"""Fields that say where an entry came from, not what was found."""


def hosted(item: Mapping[str, Any], kind: str) -> tuple[ToolCall, ToolResult] | None:
    """The call and its result; None if the item has no output."""
    if not kind.endswith("_call") or item.get("call_id") is not None:
        return None
    key = next((key for key in _OUTPUTS if item.get(key)), None)
    if key is None:
        return None
    name = item.get("name")
    name = name if isinstance(name, str) and name else kind.removesuffix("_call")
    asked = {field: value for field, value in item.items() if field not in _VOLATILE and value is not None}
    if kind == "mcp_call" and isinstance(item.get("arguments"), str):
        asked = item["arguments"]
    identity = item.get("id")
    if not isinstance(identity, str) or not identity:
        identity = blake2b(
            canonical_json([kind, asked]).encode("utf-8", "replace"), digest_size=8
        ).hexdigest()
    text, media = _said(item[key], kind)
    result = ToolResult(identity, text, name, key == "error" or bool(item.get("error")), media)
    return ToolCall(identity, name, asked), result


def with_hosted_output(item: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The item with this text in place of its output, in the shape that its type requires."""
    kept = without_output(item)
    match item.get("type"):
        case "code_interpreter_call":
            return {**kept, "outputs": [{"type": "logs", "logs": text}]}
        case "file_search_call":
            return {**kept, "results": [{"text": text}]}
        case "image_generation_call":
            return {**kept, "result": note_image(text).partition(",")[2]}
        case _:
            key = "error" if item.get("error") and not item.get("output") else "output"
            return {**kept, key: text}


def without_output(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _OUTPUTS}


def _said(output: Any, kind: str) -> tuple[str, tuple[Image, ...]]:
    if kind == "image_generation_call" and isinstance(output, str):
        note = read_note(f"data:image/png;base64,{output}")
        return ("", (image(output, "image/png"),)) if note is None else (note, ())
    if isinstance(output, str):
        return output, ()
    texts: list[str] = []
    images: list[Image] = []
    for entry in output if is_array(output) else (output,):
        if not isinstance(entry, Mapping):
            texts.append(plain_text(entry))
        elif entry.get("type") == "image" and isinstance(entry.get("url"), str):
            images.append(image(entry["url"]))
        else:
            texts.append(_entry_text(entry))
    return joined(texts) if texts else "", tuple(images)


def _entry_text(entry: Mapping[str, Any]) -> str:
    key = next((key for key in _TEXTS if isinstance(entry.get(key), str)), None)
    if key is None:
        # Like a result, an error of an MCP server holds its texts in a list.
        return _said(entry["content"], "")[0] if is_array(entry.get("content")) else canonical_json(entry)
    more = {name: value for name, value in entry.items() if value and name not in (key, *_ABOUT)}
    source = entry.get("filename")
    named = f"{source}:" if isinstance(source, str) and source else ""
    return "\n".join(filter(None, (named, entry[key], canonical_json(more) if more else "")))
