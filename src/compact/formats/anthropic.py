"""Anthropic Messages: content blocks, tool results inside user messages, signed thinking, server tools.

A user message with tool results and other blocks becomes two messages: the results, then the rest. Server
tool calls and their results stay in the assistant message as opaque parts.
Volatile: `id`, timestamps, cache_control, nulls, citations, and every field not named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.anthropic_cache import with_cache_breakpoints
from compact.formats.anthropic_results import with_results_joined
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import (
    call_arguments,
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
from compact.formats.media import image
from compact.formats.recognition import fits
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

__all__ = ["Anthropic", "with_cache_breakpoints"]

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_WHOLE = Place("content")


class Anthropic(SourceFormat):
    name = "anthropic"
    provider = "anthropic"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        raw_role = fields.get("role")
        role = _ROLES.get(raw_role) if isinstance(raw_role, str) else None
        if role is None:
            raise MalformedMessage(index, "no role" if raw_role is None else f"unknown role {raw_role!r}")
        content = fields.get("content")
        if isinstance(content, str):
            if content or role is not Role.ASSISTANT:
                return (Fragment(role, (Text(content),), (_WHOLE,)),)
            return (Fragment(role, (), ()),)
        if not is_array(content):
            raise wrong_content(index, content, "a string or an array of blocks")
        results: list[tuple[Part, Place]] = []
        rest: list[tuple[Part, Place]] = []
        for at, raw in enumerate(content):
            part = _block(raw, role, index, f"content[{at}]")
            (results if isinstance(part, ToolResult) else rest).append((part, Place("content", at)))
        found = []
        if results:
            found.append(fragment(Role.TOOL, results))
        if rest or not results:
            found.append(fragment(role, rest))
        return found

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        content = fields.get("content")
        if is_array(content):
            return {**fields, "content": rebuilt_array(content, "content", kept, _edited, _text_block)}
        texts = [part.after.text for part in kept if isinstance(part.after, Text)]
        return {**fields, "content": joined(texts)}

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        # The system prompt is separate from the messages here, and not every endpoint accepts a system
        # message among them, so our own system messages are sent with the user role.
        return {"role": "assistant" if role is Role.ASSISTANT else "user", "content": text}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text}
        return {"role": "user", "content": [block | ({"is_error": True} if result.is_error else {})]}

    def settle_results(self, encoded: list[Any], created: Sequence[int]) -> list[Any]:
        return with_results_joined(encoded, created)


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _edited(block: Any, kept: list[Kept]) -> Any:
    if result := kept[0].new_result:
        return {**part_mapping(block, 0, "block"), "content": result.text}
    return block


def _block(raw: Any, role: Role, index: int, where: str) -> Part:
    block = part_mapping(raw, index, where)
    kind = part_type(block, index, where)
    if kind == "text":
        return Text(required_text(block, "text", index, where))
    if kind == "tool_use":
        if role is not Role.ASSISTANT:
            raise MalformedMessage(index, f"{where} is a tool_use, but the role is {role}")
        return ToolCall(
            required_id(block, "id", index, where),
            required_id(block, "name", index, where),
            call_arguments(block, "input", index, where),
        )
    if kind == "tool_result":
        if role is not Role.USER:
            raise MalformedMessage(index, f"{where} is a tool_result, but the role is {role}")
        return _result(block, index, where)
    if kind == "thinking":
        signature = block.get("signature")
        return Reasoning(
            required_text(block, "thinking", index, where), signature if isinstance(signature, str) else None
        )
    if kind == "redacted_thinking":
        return Reasoning("", required_text(block, "data", index, where), redacted=True)
    return _other(block, kind, index, where)


def _result(block: Mapping[str, Any], index: int, where: str) -> ToolResult:
    call_id = required_id(block, "tool_use_id", index, where)
    content = block.get("content")
    is_error = block.get("is_error") is True
    if content is None:
        return ToolResult(call_id, "", is_error=is_error)
    if isinstance(content, str):
        return ToolResult(call_id, content, is_error=is_error)
    if not is_array(content):
        raise MalformedMessage(
            index, f"{where}.content must be a string or an array of blocks, got {json_kind(content)}"
        )
    found = [_inner(raw, index, f"{where}.content[{at}]") for at, raw in enumerate(content)]
    text, media = text_and_media(found)
    return ToolResult(call_id, text, is_error=is_error, media=media)


def _inner(raw: Any, index: int, where: str) -> Text | Image | File | Opaque:
    block = part_mapping(raw, index, where)
    kind = part_type(block, index, where)
    if kind == "text":
        return Text(required_text(block, "text", index, where))
    return _other(block, kind, index, where)


def _other(block: Mapping[str, Any], kind: str, index: int, where: str) -> Image | File | Opaque:
    if kind in ("image", "document"):
        source = part_mapping(block.get("source"), index, f"{where}.source")
        held = source.get("data") or source.get("url") or source.get("file_id")
        media_type = source.get("media_type")
        media_type = media_type if isinstance(media_type, str) else None
        if kind == "image" and isinstance(held, str):
            return image(held, media_type)
        # The model sees a plain-text document as text. It is counted as text, so it stays opaque.
        if isinstance(held, str) and source.get("type") != "text":
            title = block.get("title")
            return File(held, title if isinstance(title, str) else None, media_type)
    return opaque(block, kind)
