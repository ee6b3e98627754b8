"""LlamaIndex chat messages: a role, blocks, and `additional_kwargs` with what its providers need returned.

Calls are `tool_call` blocks or, in older integrations, entries of `additional_kwargs["tool_calls"]`; entries
that repeat a block belong to it. A tool message is one result, for `additional_kwargs["tool_call_id"]`.
Volatile: everything else in `additional_kwargs`, cache points, nulls; `additional_kwargs["meta"]` is `meta`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import (
    as_mapping,
    call_arguments,
    described,
    is_array,
    opaque,
    part_mapping,
    required_id,
    required_text,
    text_and_media,
)
from compact.formats.media import file_or_image
from compact.formats.recognition import fits
from compact.model.message import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
)

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "chatbot": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
# Where a block of this type keeps its bytes, besides `url` and `path`.
_DATA = {"image": "image", "audio": "audio", "video": "video", "document": "data"}
_UNNAMED = "function:"
_KWARGS, _CALLS = "additional_kwargs", "tool_calls"


class LlamaIndex(SourceFormat):
    name = "llama-index"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fields_of(self, item: Any, index: int) -> Mapping[str, Any]:
        if isinstance(item, Mapping) or not hasattr(item, "blocks"):
            return as_mapping(item, index)
        # Keep its block objects: the dump of an image is a different image.
        return {"role": str(item.role.value), "blocks": list(item.blocks), _KWARGS: item.additional_kwargs}

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        meta = fields.get("meta") or _kwargs(fields).get("meta")
        return described({"meta": meta} if meta is not None else {})

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        role = _ROLES.get(str(getattr(fields.get("role"), "value", fields.get("role"))))
        if role is None:
            raise MalformedMessage(index, f"unknown role {fields.get('role')!r}")
        raw = fields.get("blocks")
        if not is_array(raw):
            raise MalformedMessage(index, "blocks must be an array" if raw is not None else "no blocks")
        found = [(_block(block, index, f"blocks[{at}]"), Place("blocks", at)) for at, block in enumerate(raw)]
        if role is Role.TOOL:
            return (Fragment(role, (_result(fields, [part for part, _ in found]),), (Place("blocks"),)),)
        if not any(isinstance(part, ToolCall) for part, _ in found):
            found += _older_calls(fields, index)
        return (fragment(role, found),)

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        results = [part.new_result for part in kept if isinstance(part.before, ToolResult)]
        if results:
            shown = fields["blocks"] if results[0] is None else [_text(results[0].text)]
            return {**fields, "blocks": list(shown)}
        blocks = rebuilt_array(fields["blocks"], "blocks", kept, lambda entry, _: entry, _text)
        changed = {**fields, "blocks": blocks}
        if _CALLS in _kwargs(fields):
            stay = {part.before.call_id for part in kept if isinstance(part.before, ToolCall)}
            calls = [call for call in _kwargs(fields)[_CALLS] or () if _call_id(call) in stay]
            changed[_KWARGS] = {key: value for key, value in _kwargs(fields).items() if key != _CALLS}
            changed[_KWARGS] |= {_CALLS: calls} if calls else {}
        return changed

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        return {"role": "system" if role is Role.DEVELOPER else role.value, "blocks": [_text(text)]}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        named = {} if result.call_id.startswith(_UNNAMED) else {"tool_call_id": result.call_id}
        name = next(made.name for made in call.calls if made.call_id == result.call_id)
        return {"role": "tool", "blocks": [_text(result.text)], _KWARGS: {"name": name, **named}}

    def restore(self, fields: dict[str, Any], like: Any) -> Any:
        if like is None or isinstance(like, Mapping):
            return fields
        # The caller's objects come from this package, so it is installed.
        classes = import_module("llama_index.core.base.llms.types")
        blocks = [
            classes.TextBlock(text=block["text"]) if isinstance(block, Mapping) else block
            for block in fields["blocks"]
        ]
        given = {_KWARGS: fields[_KWARGS]} if _KWARGS in fields else {}
        return classes.ChatMessage(role=fields["role"], blocks=blocks, **given)


def _kwargs(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    found = fields.get(_KWARGS)
    return found if isinstance(found, Mapping) else {}


def _text(text: str) -> dict[str, Any]:
    return {"block_type": "text", "text": text}


def _block(raw: Any, index: int, where: str) -> Part:
    kind = raw.get("block_type") if isinstance(raw, Mapping) else getattr(raw, "block_type", None)
    block = part_mapping(raw, index, where)
    if not isinstance(kind, str):
        raise MalformedMessage(index, f"{where} has no block_type")
    if kind == "text":
        return Text(required_text(block, "text", index, where))
    if kind == "tool_call":
        name = required_id(block, "tool_name", index, where)
        arguments = call_arguments({"tool_kwargs": {}, **block}, "tool_kwargs", index, where)
        return ToolCall(str(block.get("tool_call_id") or _UNNAMED + name), name, arguments)
    if kind == "thinking":
        extra = block.get("additional_information")
        proof = extra.get("signature") if isinstance(extra, Mapping) else None
        return Reasoning(str(block.get("content") or ""), proof if isinstance(proof, str) else None)
    if kind == "cache":
        return StepStart()
    source = block.get("url") or block.get("path") or block.get(_DATA.get(kind, ""))
    if kind in _DATA and source is not None:
        media = block.get("image_mimetype") or block.get("document_mimetype") or f"{kind}/*"
        held = source if isinstance(source, bytes) else str(source)
        return file_or_image(held, str(media), block.get("title"))
    return opaque({key: value for key, value in block.items() if key != "block_type"}, kind)


def _result(fields: Mapping[str, Any], parts: Sequence[Part]) -> ToolResult:
    extra = _kwargs(fields)
    name = extra.get("name")
    call_id = str(extra.get("tool_call_id") or f"{_UNNAMED}{name or 'tool'}")
    text, media = text_and_media([part for part in parts if isinstance(part, Text | Image | File | Opaque)])
    return ToolResult(call_id, text, name if isinstance(name, str) else None, media=media)


def _older_calls(fields: Mapping[str, Any], index: int) -> list[tuple[Part, Place]]:
    found: list[tuple[Part, Place]] = []
    for at, raw in enumerate(_kwargs(fields).get(_CALLS) or ()):
        where = f"{_KWARGS}.{_CALLS}[{at}]"
        function = part_mapping(part_mapping(raw, index, where).get("function") or {}, index, where)
        name = required_id(function, "name", index, where)
        call = ToolCall(_call_id(raw), name, call_arguments(function, "arguments", index, where))
        found.append((call, Place(_CALLS, at)))
    return found


def _call_id(call: Any) -> str:
    fields = part_mapping(call, 0, _CALLS)
    function = fields.get("function")
    name = part_mapping(function, 0, _CALLS).get("name") if function is not None else fields.get("tool_name")
    return str(fields.get("id") or fields.get("tool_id") or f"{_UNNAMED}{name}")
