"""Pydantic AI messages: requests and responses made of parts, as its classes or as their dumps.

A request may hold system prompts, tool returns and user prompts: they become three messages, in that order.
A tool's retry prompt is its failed result; any other retry prompt is user text. Tools that the provider ran
stay opaque.
Volatile: timestamps, ids, usage, metadata, provider details, nulls, and every field not named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import as_mapping, described, is_array, opaque, plain_text, required_id
from compact.formats.media import file_or_image
from compact.formats.recognition import fits
from compact.model.message import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult

_WRAPPED = {
    "system-prompt": "SystemPromptPart",
    "user-prompt": "UserPromptPart",
    "tool-return": "ToolReturnPart",
    "text": "TextPart",
}


class PydanticAI(SourceFormat):
    name = "pydantic-ai"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fields_of(self, item: Any, index: int) -> Mapping[str, Any]:
        return _shallow(item) if is_dataclass(item) else as_mapping(item, index)

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        metadata = fields.get("metadata")
        meta = fields.get("meta") or (metadata.get("meta") if isinstance(metadata, Mapping) else None)
        named = {"model": fields.get("model_name"), "meta": meta, "timestamp": fields.get("timestamp")}
        return described({key: value for key, value in named.items() if value is not None})

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        kind, raw = fields.get("kind"), fields.get("parts")
        if kind not in ("request", "response"):
            raise MalformedMessage(index, f"kind must be request or response, not {kind!r}")
        if not is_array(raw):
            raise MalformedMessage(index, "parts must be an array" if raw is not None else "no parts")
        found: dict[Role, list[tuple[Part, Place]]] = {}
        for at, entry in enumerate(raw):
            part = _shallow(entry) if is_dataclass(entry) else as_mapping(entry, index)
            role, parts = _part(part, entry, kind, index, f"parts[{at}]")
            found.setdefault(role, []).extend((one, Place("parts", at)) for one in parts)
        order = [role for role in (Role.SYSTEM, Role.TOOL, Role.USER, Role.ASSISTANT) if role in found]
        empty = Role.USER if kind == "request" else Role.ASSISTANT
        return [fragment(role, found[role]) for role in order] or [fragment(empty, ())]

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        is_request = fields["kind"] == "request"

        def added(text: str) -> dict[str, Any]:
            return {"part_kind": "user-prompt" if is_request else "text", "content": text}

        return {**fields, "parts": rebuilt_array(fields["parts"], "parts", kept, _edited, added)}

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        if role is Role.ASSISTANT:
            return {"kind": "response", "parts": [{"part_kind": "text", "content": text}]}
        kind = "user-prompt" if role is Role.USER else "system-prompt"
        return {"kind": "request", "parts": [{"part_kind": kind, "content": text}]}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        name = next(made.name for made in call.calls if made.call_id == result.call_id)
        part = {"part_kind": "tool-return", "tool_name": name, "content": result.text}
        part |= {"tool_call_id": result.call_id} | ({"outcome": "failed"} if result.is_error else {})
        return {"kind": "request", "parts": [part]}

    def restore(self, fields: dict[str, Any], like: Any) -> Any:
        if like is None or isinstance(like, Mapping):
            return fields
        # The caller's objects come from this package, so it is installed.
        classes = import_module("pydantic_ai.messages")
        parts = [
            getattr(classes, _WRAPPED[part["part_kind"]])(**part) if isinstance(part, Mapping) else part
            for part in fields["parts"]
        ]
        if "timestamp" in fields:
            return replace(like, parts=parts)
        return classes.ModelRequest(parts) if fields["kind"] == "request" else classes.ModelResponse(parts)


def _shallow(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name, None) for field in dataclass_fields(value)}


def _part(
    part: Mapping[str, Any], source: Any, kind: str, index: int, where: str
) -> tuple[Role, Sequence[Part]]:
    content, which = part.get("content"), part.get("part_kind")
    if not isinstance(which, str):
        raise MalformedMessage(index, f"{where} has no part_kind")
    if kind == "response":
        return Role.ASSISTANT, (_said(part, which, index, where),)
    if which in ("system-prompt", "instruction"):
        return Role.SYSTEM, (Text(plain_text(content)),)
    if which == "user-prompt":
        entries = content if is_array(content) else (content,)
        return Role.USER, [_content(entry) for entry in entries if not _is_cache_point(entry)]
    if which == "tool-return" or (which == "retry-prompt" and part.get("tool_name")):
        name = part.get("tool_name")
        render = getattr(source, "model_response_str", None)
        text = render() if callable(render) and which == "tool-return" else plain_text(content)
        failed = which == "retry-prompt" or part.get("outcome") not in (None, "success")
        call_id = required_id(part, "tool_call_id", index, where)
        return Role.TOOL, (ToolResult(call_id, text, name if isinstance(name, str) else None, failed),)
    if which in ("retry-prompt", "retry-feedback"):
        return Role.USER, (Text(plain_text(content)),)
    return Role.USER, (opaque(_json(part), which),)


def _said(part: Mapping[str, Any], which: str, index: int, where: str) -> Part:
    if which == "text":
        return Text(plain_text(part.get("content")))
    if which == "thinking":
        proof = part.get("signature") or part.get("id")
        return Reasoning(str(part.get("content") or ""), proof if isinstance(proof, str) else None)
    if which == "tool-call":
        name = required_id(part, "tool_name", index, where)
        arguments = part.get("args")
        return ToolCall(
            required_id(part, "tool_call_id", index, where), name, {} if arguments is None else arguments
        )
    return opaque(_json(part), which)


def _is_cache_point(entry: Any) -> bool:
    """Whether this is a mark for the provider between the parts; the model does not see it."""
    kind = entry.get("kind") if isinstance(entry, Mapping) else getattr(entry, "kind", None)
    return kind == "cache-point"


def _content(entry: Any) -> Part:
    if isinstance(entry, str):
        return Text(entry)
    held = _shallow(entry) if is_dataclass(entry) else entry if isinstance(entry, Mapping) else {}
    source = held.get("url") or held.get("data")
    if source is not None:
        return file_or_image(
            source, held.get("media_type") or held.get("_media_type"), held.get("identifier")
        )
    if isinstance(held.get("content"), str):
        return Text(held["content"])
    return opaque(_json(held), str(held.get("kind") or type(entry).__name__))


def _json(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part without the fields that the model does not see."""
    silent = ("timestamp", "id", "provider_name", "provider_details", "metadata")
    return {key: value for key, value in part.items() if key not in silent and value is not None}


def _edited(entry: Any, kept: list[Kept]) -> Any:
    result = kept[0].new_result
    if result is None:
        return entry
    return (
        {**entry, "content": result.text}
        if isinstance(entry, Mapping)
        else replace(entry, content=result.text)
    )
