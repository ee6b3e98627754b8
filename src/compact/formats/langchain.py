"""LangChain messages: its classes, and its three dumps (flat, `data`, and `lc` constructors).

Each LangChain message becomes one message. Content is text or blocks. The calls of an assistant message are
its `tool_calls`; blocks that repeat them (Anthropic's `tool_use`, OpenAI's `function_call`) belong to them.
Volatile: `id`, `response_metadata`, `usage_metadata`, `additional_kwargs`, nulls; `additional_kwargs["meta"]`
is read as `meta`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import (
    as_mapping,
    described,
    is_array,
    joined,
    opaque,
    part_mapping,
    part_type,
    required_id,
    required_text,
    text_and_media,
    wrong_content,
)
from compact.formats.media import file_or_image, image
from compact.formats.openai_chat import content_part
from compact.formats.recognition import LANGCHAIN_TYPES, fits, langchain_type
from compact.model.message import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    json_kind,
)

_ROLES = {
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "input_json_delta", "custom_tool_call"})
_WHOLE = Place("content")


class LangChain(SourceFormat):
    name = "langchain"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fields_of(self, item: Any, index: int) -> Mapping[str, Any]:
        kind = getattr(item, "type", None)
        if isinstance(item, Mapping) or not isinstance(kind, str):
            return as_mapping(item, index)
        # `type` is a default there, so a dump of the set fields omits it.
        return {"type": kind, **item.model_dump()}

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        inner = _inner(fields)
        extra = inner.get("additional_kwargs")
        meta = fields.get("meta") or (extra.get("meta") if isinstance(extra, Mapping) else None)
        known = {**inner, "usage": inner.get("usage_metadata"), "meta": meta}
        return described({key: value for key, value in known.items() if value is not None})

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        kind, inner = langchain_type(fields), _inner(fields)
        if kind is None:
            raise MalformedMessage(index, "no type that LangChain's messages have")
        role = _role(kind, inner, index)
        content = inner.get("content")
        if role is Role.TOOL:
            return (Fragment(role, (_result(inner, kind, content, index),), (_WHOLE,)),)
        found: list[tuple[Part, Place]] = []
        if isinstance(content, str):
            if content or role is not Role.ASSISTANT:
                found.append((Text(content), _WHOLE))
        elif is_array(content):
            found += _blocks(content, index)
        else:
            raise wrong_content(index, content, "a string or an array of blocks")
        if role is Role.ASSISTANT:
            found += _calls(inner, index)
        return (fragment(role, found),)

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        inner = dict(_inner(fields))
        content = inner.get("content")
        if _role(langchain_type(fields) or "", inner, 0) is Role.TOOL:
            for part in kept:
                if result := part.new_result:
                    inner["content"] = result.text
            return _wrapped(fields, inner)
        there = {part.place for part in kept if part.before is not None}
        if is_array(content):
            calls_stay = any(place.field == "tool_calls" for place in there)
            echoes = [
                Kept(Place("content", at), Text(""), Text(""))
                for at, block in enumerate(content)
                if calls_stay and isinstance(block, Mapping) and block.get("type") in _CALL_BLOCKS
            ]
            inner["content"] = rebuilt_array(
                content, "content", [*kept, *echoes], lambda entry, _: entry, _text_block
            )
        else:
            own = [content] if _WHOLE in there and isinstance(content, str) else []
            inner["content"] = joined(own + [text for part in kept if (text := part.new_text) is not None])
        for key in ("tool_calls", "invalid_tool_calls"):
            if is_array(inner.get(key)):
                inner[key] = [call for at, call in enumerate(inner[key]) if Place(key, at) in there]
        return _wrapped(fields, inner)

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        kinds = {Role.ASSISTANT: "ai", Role.USER: "human"}
        return {"type": kinds.get(role, "system"), "content": text}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        name = next(made.name for made in call.calls if made.call_id == result.call_id)
        made = {"type": "tool", "content": result.text, "tool_call_id": result.call_id, "name": name}
        return made | ({"status": "error"} if result.is_error else {})

    def restore(self, fields: dict[str, Any], like: Any) -> Any:
        if like is None or isinstance(like, Mapping):
            return fields
        if getattr(like, "type", None) == fields["type"]:
            changed = {
                key: fields[key] for key in ("content", "tool_calls", "invalid_tool_calls") if key in fields
            }
            if "id" in fields or fields["type"] == "tool":
                return like.model_copy(update=changed)
        # The caller's objects come from this package, so it is installed.
        messages = import_module("langchain_core.messages")
        return getattr(messages, _CLASSES[fields["type"]])(**fields)


def _inner(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of the message itself, without its wrappers."""
    for key in ("kwargs", "data"):
        if isinstance(inner := fields.get(key), Mapping) and "content" not in fields:
            return inner
    return fields


def _wrapped(fields: Mapping[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    for key in ("kwargs", "data"):
        if isinstance(fields.get(key), Mapping) and "content" not in fields:
            return {**fields, key: inner}
    return inner


def _role(kind: str, inner: Mapping[str, Any], index: int) -> Role:
    if kind == "chat":
        said = inner.get("role")
        return {"assistant": Role.ASSISTANT, "system": Role.SYSTEM}.get(str(said), Role.USER)
    if kind not in _ROLES:
        raise MalformedMessage(
            index, f"unknown type {kind!r}" if kind in LANGCHAIN_TYPES else f"no LangChain type: {kind!r}"
        )
    return _ROLES[kind]


def _blocks(content: Sequence[Any], index: int) -> list[tuple[Part, Place]]:
    found: list[tuple[Part, Place]] = []
    for at, raw in enumerate(content):
        part = _block(raw, index, f"content[{at}]")
        if part is not None:
            found.append((part, Place("content", at)))
    return found


def _block(raw: Any, index: int, where: str) -> Text | Image | File | Opaque | Reasoning | None:
    if isinstance(raw, str):
        return Text(raw)
    block = part_mapping(raw, index, where)
    kind = part_type(block, index, where)
    if kind in _CALL_BLOCKS:
        return None
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return _reasoning(block, kind)
    if kind in ("image", "file", "audio", "video"):
        source = block.get("url") or block.get("base64") or block.get("data") or block.get("file_id")
        if isinstance(source, str):
            return file_or_image(source, block.get("mime_type"), block.get("filename"))
        return opaque(block, kind)
    if kind == "image_url" and isinstance(block.get("image_url"), str):
        return image(block["image_url"])
    if kind == "text":
        return Text(required_text(block, "text", index, where))
    return content_part(block, index, where)


def _reasoning(block: Mapping[str, Any], kind: str) -> Reasoning:
    proof = next((block[key] for key in ("signature", "data", "id") if isinstance(block.get(key), str)), None)
    text = next(
        (block[key] for key in ("thinking", "reasoning", "text") if isinstance(block.get(key), str)), ""
    )
    return Reasoning(text, proof, redacted=kind == "redacted_thinking")


def _calls(inner: Mapping[str, Any], index: int) -> list[tuple[Part, Place]]:
    found: list[tuple[Part, Place]] = []
    for key in ("tool_calls", "invalid_tool_calls"):
        calls = inner.get(key)
        if calls is not None and not is_array(calls):
            raise MalformedMessage(index, f"{key} must be an array, got {json_kind(calls)}")
        for at, raw in enumerate(calls or ()):
            where = f"{key}[{at}]"
            call = part_mapping(raw, index, where)
            name = required_text(call, "name", index, where)
            arguments = call.get("args")
            made = ToolCall(
                required_id(call, "id", index, where), name, {} if arguments is None else arguments
            )
            found.append((made, Place(key, at)))
    return found


def _result(inner: Mapping[str, Any], kind: str, content: Any, index: int) -> ToolResult:
    name = inner.get("name")
    name = name if isinstance(name, str) else None
    if kind == "function":
        call_id = "function:" + required_id(inner, "name", index, "the function message")
    else:
        call_id = required_id(inner, "tool_call_id", index, "the tool message")
    failed = inner.get("status") == "error"
    if isinstance(content, str):
        return ToolResult(call_id, content, name, failed)
    if not is_array(content):
        raise wrong_content(index, content, "a string or an array of blocks")
    parts = [part for part, _ in _blocks(content, index) if not isinstance(part, Reasoning)]
    text, media = text_and_media([part for part in parts if isinstance(part, Text | Image | File | Opaque)])
    return ToolResult(call_id, text, name, failed, media=media)


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
