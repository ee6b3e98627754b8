"""OpenAI Chat Completions messages.

Legacy `function_call` and role `function` have no call id: they are paired by name, as `function:<name>`.
Volatile: `id`, timestamps, cache marks, nulls, and every field not named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, rebuilt_array
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
    Origin,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    arguments_text,
    call_digest,
    json_kind,
    result_digest,
    text_digest,
)

_ROLES = {role.value: role for role in Role} | {"function": Role.TOOL}
_SPEAKERS = {role.value: role for role in Role if role is not Role.TOOL}
_TOOL, _ASSISTANT = Role.TOOL, Role.ASSISTANT
_WHOLE = Place("content")
_LEGACY = "function:"
_ASSISTANT_FIELDS = ("function_call", "refusal", "audio", "reasoning_content", "reasoning")


class OpenAIChat(SourceFormat):
    name = "openai-chat"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def decode(self, item: Any, index: int) -> tuple[Message, ...]:
        # Nearly every message has one of these three shapes, and every new message passes through here.
        if type(item) is dict and (size := len(item)) <= 3:
            raw_role, content = item.get("role"), item.get("content")
            if type(content) is str and type(raw_role) is str:
                if size == 2 and content and (role := _SPEAKERS.get(raw_role)) is not None:
                    digest = text_digest(raw_role, content)
                    return (Message(role, (Text(content),), digest, Origin(index, item)),)
                if size == 3 and raw_role == "tool":
                    call_id = item.get("tool_call_id")
                    if type(call_id) is str and call_id:
                        result = ToolResult(call_id, content)
                        digest = result_digest(call_id, content)
                        return (Message(_TOOL, (result,), digest, Origin(index, item)),)
            elif size == 3 and content is None and raw_role == "assistant" and "content" in item:
                calls = item.get("tool_calls")
                if type(calls) is list and len(calls) == 1:
                    call = _plain_call(calls[0]) or _call(calls[0], index, "tool_calls[0]")
                    digest = call_digest(call.call_id, call.name, arguments_text(call.arguments))
                    return (Message(_ASSISTANT, (call,), digest, Origin(index, item)),)
        return super().decode(item, index)

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        raw_role = fields.get("role")
        role = _ROLES.get(raw_role) if isinstance(raw_role, str) else None
        if role is None:
            raise MalformedMessage(index, "no role" if raw_role is None else f"unknown role {raw_role!r}")
        content = fields.get("content")
        if role is Role.TOOL:
            return (Fragment(role, (_result(fields, content, index),), (_WHOLE,)),)
        if isinstance(content, str) and len(fields) == 2 and (content or role is not Role.ASSISTANT):
            return (Fragment(role, (Text(content),), (_WHOLE,)),)
        parts: list[Part] = []
        places: list[Place] = []
        if role is Role.ASSISTANT:
            for key in ("reasoning_content", "reasoning"):
                if isinstance(thought := fields.get(key), str) and thought:
                    parts.append(Reasoning(thought))
                    places.append(Place(key))
                    break
        _read_content(content, role, index, parts, places)
        if role is Role.ASSISTANT:
            _read_assistant_fields(fields, index, parts, places)
        return (Fragment(role, parts, places),)

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        copy = dict(fields)
        if _ROLES[fields["role"]] is Role.TOOL:
            for part in kept:
                if result := part.new_result:
                    copy["content"] = result.text
            return copy
        there = {part.place for part in kept if part.before is not None}
        content = fields.get("content")
        if is_array(content):
            copy["content"] = rebuilt_array(content, "content", kept, lambda entry, _: entry, _text_part)
        elif "content" in fields or any(part.new_text is not None for part in kept):
            own = [content] if _WHOLE in there and isinstance(content, str) else []
            own += [part.new_text for part in kept if part.new_text is not None]
            copy["content"] = joined(own) if own else None
        if is_array(calls := fields.get("tool_calls")):
            copy["tool_calls"] = [call for at, call in enumerate(calls) if Place("tool_calls", at) in there]
            if not copy["tool_calls"]:
                del copy["tool_calls"]
        for key in _ASSISTANT_FIELDS:
            if fields.get(key) and Place(key) not in there:
                del copy[key]
        if not copy.get("content") and not copy.keys() & {"tool_calls", "function_call"}:
            # Null and an empty array are allowed only next to calls.
            copy["content"] = ""
        return copy

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        return {"role": role.value, "content": text}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        if result.name is not None and result.call_id == _LEGACY + result.name:
            return {"role": "function", "name": result.name, "content": result.text}
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _read_content(content: Any, role: Role, index: int, parts: list[Part], places: list[Place]) -> None:
    if isinstance(content, str):
        # An empty string next to tool calls has no content, the same as null.
        if content or role is not Role.ASSISTANT:
            parts.append(Text(content))
            places.append(_WHOLE)
    elif is_array(content):
        for at, raw in enumerate(content):
            parts.append(content_part(raw, index, f"content[{at}]"))
            places.append(Place("content", at))
    elif content is not None or role is not Role.ASSISTANT:
        raise wrong_content(index, content, "a string or an array of parts")


def content_part(raw: Any, index: int, where: str) -> Text | Image | File | Opaque:
    """One entry of a content array."""
    part = part_mapping(raw, index, where)
    kind = part_type(part, index, where)
    if kind == "text":
        return Text(required_text(part, "text", index, where))
    if kind == "refusal":
        return Text(required_text(part, "refusal", index, where))
    inner = part.get(kind)
    if kind == "image_url":
        if isinstance(inner, str):
            return image(inner)
        inner = part_mapping(inner, index, f"{where}.image_url")
        detail = inner.get("detail")
        return image(
            required_text(inner, "url", index, f"{where}.image_url"),
            detail=detail if isinstance(detail, str) else None,
        )
    if kind == "input_audio":
        inner = part_mapping(inner, index, f"{where}.input_audio")
        return File(
            required_text(inner, "data", index, f"{where}.input_audio"),
            media_type=f"audio/{inner.get('format', 'unknown')}",
        )
    if kind == "file" and isinstance(inner, Mapping):
        source = inner.get("file_data") or inner.get("file_id") or ""
        name = inner.get("filename")
        return File(str(source), name if isinstance(name, str) else None)
    return opaque(part, kind)


def _read_assistant_fields(
    fields: Mapping[str, Any], index: int, parts: list[Part], places: list[Place]
) -> None:
    if isinstance(refusal := fields.get("refusal"), str) and refusal:
        parts.append(Text(refusal))
        places.append(Place("refusal"))
    if isinstance(audio := fields.get("audio"), Mapping):
        parts.append(opaque(audio, "audio", frozenset({"expires_at", "data"})))
        places.append(Place("audio"))
    calls = fields.get("tool_calls")
    if calls is not None and not is_array(calls):
        raise MalformedMessage(index, f"tool_calls must be an array, got {json_kind(calls)}")
    for at, raw in enumerate(calls or ()):
        parts.append(_call(raw, index, f"tool_calls[{at}]"))
        places.append(Place("tool_calls", at))
    if (legacy := fields.get("function_call")) is not None:
        legacy = part_mapping(legacy, index, "function_call")
        name = required_id(legacy, "name", index, "function_call")
        arguments = call_arguments(legacy, "arguments", index, "function_call")
        parts.append(ToolCall(_LEGACY + name, name, arguments))
        places.append(Place("function_call"))


def _plain_call(raw: Any) -> ToolCall | None:
    """A well-formed function call; None if it needs a closer check."""
    if type(raw) is not dict or raw.get("type") != "function" or type(raw.get("function")) is not dict:
        return None
    call_id, function = raw.get("id"), raw["function"]
    name, arguments = function.get("name"), function.get("arguments")
    if not call_id or not name or not type(call_id) is type(name) is type(arguments) is str:
        return None
    return ToolCall(call_id, name, arguments)


def _call(raw: Any, index: int, where: str) -> ToolCall:
    call = part_mapping(raw, index, where)
    call_id = required_id(call, "id", index, where)
    if call.get("type") == "custom":
        custom = part_mapping(call.get("custom"), index, f"{where}.custom")
        name = required_id(custom, "name", index, f"{where}.custom")
        return ToolCall(call_id, name, call_arguments(custom, "input", index, f"{where}.custom"))
    function = part_mapping(call.get("function"), index, f"{where}.function")
    name = required_id(function, "name", index, f"{where}.function")
    return ToolCall(call_id, name, call_arguments(function, "arguments", index, f"{where}.function"))


def _result(fields: Mapping[str, Any], content: Any, index: int) -> ToolResult:
    name = fields.get("name")
    name = name if isinstance(name, str) else None
    if fields["role"] == "function":
        call_id = _LEGACY + required_id(fields, "name", index, "the function message")
    else:
        call_id = required_id(fields, "tool_call_id", index, "the tool message")
    if isinstance(content, str):
        return ToolResult(call_id, content, name)
    if not is_array(content):
        raise wrong_content(index, content, "a string or an array of parts")
    found = [content_part(raw, index, f"content[{at}]") for at, raw in enumerate(content)]
    text, media = text_and_media(found)
    return ToolResult(call_id, text, name, media=media)
