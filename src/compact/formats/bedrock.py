"""Bedrock Converse messages, as Strands stores them: each block has one field that names its type.

A user message with tool results and other blocks becomes two messages: the results, then the rest.
Volatile: cache points, `status` except errors, nulls, and every field not named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import (
    call_arguments,
    is_array,
    joined,
    opaque,
    part_mapping,
    plain_text,
    required_id,
    wrong_content,
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
    Text,
    ToolCall,
    ToolResult,
)

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


class Bedrock(SourceFormat):
    name = "bedrock"
    provider = "anthropic"
    alternates = True

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        role = _ROLES.get(str(fields.get("role")))
        if role is None:
            raise MalformedMessage(index, f"unknown role {fields.get('role')!r}")
        content = fields.get("content")
        if not is_array(content):
            raise wrong_content(index, content, "an array of blocks")
        results: list[tuple[Part, Place]] = []
        rest: list[tuple[Part, Place]] = []
        for at, raw in enumerate(content):
            block = part_mapping(raw, index, f"content[{at}]")
            if "cachePoint" in block:
                continue  # Not visible to the model.
            part = _block(block, index, f"content[{at}]")
            (results if isinstance(part, ToolResult) else rest).append((part, Place("content", at)))
        found = [fragment(Role.TOOL, results)] if results else []
        if rest or not results:
            found.append(fragment(role, rest))
        return found

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        content = rebuilt_array(fields["content"], "content", kept, _edited, _text)
        points = [block for block in fields["content"] if "cachePoint" in block]
        return {**fields, "content": [*content, *points]}

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        # The system prompt is separate from the messages here, so our own are sent with the user role.
        return {"role": "assistant" if role is Role.ASSISTANT else "user", "content": [_text(text)]}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        status = "error" if result.is_error else "success"
        block = {"toolUseId": result.call_id, "content": [_text(result.text)], "status": status}
        return {"role": "user", "content": [{"toolResult": block}]}

    def settle_results(self, encoded: list[Any], created: Sequence[int]) -> list[Any]:
        """Put all results of one message's calls into one user message, right after it."""
        ours, out = set(created), list[Any]()
        for position, message in enumerate(encoded):
            if (
                out
                and {position, position - 1} & ours
                and _is_results(out[-1])
                and _begins_with_result(message)
            ):
                out[-1] = {**message, "content": [*out[-1]["content"], *message["content"]]}
            else:
                out.append(message)
        return out


def _is_results(message: Mapping[str, Any]) -> bool:
    return bool(message["content"]) and all("toolResult" in block for block in message["content"])


def _begins_with_result(message: Mapping[str, Any]) -> bool:
    return bool(message["content"]) and "toolResult" in message["content"][0]


def _text(text: str) -> dict[str, Any]:
    return {"text": text}


def _block(block: Mapping[str, Any], index: int, where: str) -> Part:
    if isinstance(block.get("text"), str):
        return Text(block["text"])
    if (use := block.get("toolUse")) is not None:
        use = part_mapping(use, index, f"{where}.toolUse")
        call_id = required_id(use, "toolUseId", index, where)
        return ToolCall(
            call_id, required_id(use, "name", index, where), call_arguments(use, "input", index, where)
        )
    if (result := block.get("toolResult")) is not None:
        return _result(part_mapping(result, index, f"{where}.toolResult"), index, where)
    if isinstance(thought := block.get("reasoningContent"), Mapping):
        said = thought.get("reasoningText")
        if isinstance(said, Mapping):
            proof = said.get("signature")
            return Reasoning(str(said.get("text") or ""), proof if isinstance(proof, str) else None)
        return Reasoning("", plain_text(thought.get("redactedContent")), redacted=True)
    return _media(block, index, where)


def _result(result: Mapping[str, Any], index: int, where: str) -> ToolResult:
    texts: list[str] = []
    media: list[Image | File | Opaque] = []
    for at, raw in enumerate(result.get("content") or ()):
        block = part_mapping(raw, index, f"{where}.content[{at}]")
        if isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif "json" in block:
            texts.append(plain_text(block["json"]))
        else:
            media.append(_media(block, index, where))
    failed = result.get("status") == "error"
    call_id = required_id(result, "toolUseId", index, where)
    return ToolResult(call_id, joined(texts) if texts else "", is_error=failed, media=tuple(media))


def _media(block: Mapping[str, Any], index: int, where: str) -> Image | File | Opaque:
    for kind in ("image", "document", "video"):
        if isinstance(held := block.get(kind), Mapping) and isinstance(held.get("source"), Mapping):
            source = held["source"].get("bytes")
            if source is not None:
                return file_or_image(source, f"{kind}/{held.get('format')}", held.get("name"))
    if not block:
        raise MalformedMessage(index, f"{where} is empty")
    return opaque(block, str(next(iter(block))))


def _edited(entry: Any, kept: list[Kept]) -> Any:
    result = kept[0].new_result
    if result is None:
        return entry
    held = part_mapping(part_mapping(entry, 0, "block")["toolResult"], 0, "toolResult")
    return {**entry, "toolResult": {**held, "content": [_text(result.text)]}}
