"""OpenAI Responses items, as the Agents SDK passes them.

One item is one message: a reply of the model may be several items (reasoning, text, each call). Items paired
by a call id become calls and results. An item of a hosted tool with its output becomes two messages, the call
and the result. All other items stay opaque.
Volatile: `id` (unless it is all there is), `status`, `created_by`, annotations, log probabilities, nulls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import FormatError, MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import (
    as_mapping,
    described,
    is_array,
    joined,
    opaque,
    part_mapping,
    wrong_content,
)
from compact.formats.hosted_items import hosted, with_hosted_output, without_output
from compact.formats.recognition import PART_TYPES, fits
from compact.formats.responses_items import answer_to, call_of, message_part, result_of, with_output
from compact.model.message import Message, Part, Reasoning, Role, Text, ToolResult

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_WHOLE = Place("content")
_ITEM = Place("item")
_VOLATILE = frozenset({"id", "status", "created_by", "meta"})


class OpenAIResponses(SourceFormat):
    name = "openai-responses"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        known = described(fields)
        status = fields.get("status")
        if isinstance(status, str) and status != "completed":
            known.setdefault("finish_reason", status)
        return known

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        kind = fields.get("type")
        if _is_message(fields):
            return (_message(fields, index),)
        if kind is None and isinstance(fields.get("id"), str) and fields.keys() <= {"id", "type", "meta"}:
            kind = "item_reference"
        if not isinstance(kind, str) or not kind:
            raise MalformedMessage(index, "no role and no type" if kind is None else f"unknown type {kind!r}")
        if kind != "reasoning" and kind in PART_TYPES:
            raise MalformedMessage(index, f"{kind!r} is the type of a content part, not of an item")
        if (both := hosted(fields, kind)) is not None:
            call, result = both
            return (
                Fragment(Role.ASSISTANT, (call,), (_ITEM,)),
                Fragment(Role.TOOL, (result,), (_ITEM,)),
            )
        role, part = _item(fields, kind, index)
        return (Fragment(role, (part,), (_ITEM,)),)

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        if _is_message(fields):
            content = fields.get("content")
            if is_array(content):
                new_part = _output_text if fields["role"] == "assistant" else _input_text
                array = rebuilt_array(content, "content", kept, lambda entry, _: entry, new_part)
                return {**fields, "content": array}
            texts = [part.after.text for part in kept if isinstance(part.after, Text)]
            return {**fields, "content": joined(texts)}
        is_hosted = hosted(fields, str(fields.get("type"))) is not None
        copy = dict(fields)
        if is_hosted and not any(isinstance(part.after, ToolResult) for part in kept):
            copy = without_output(fields)
        for part in kept:
            if part.new_text is not None:
                raise FormatError(
                    f"Text cannot be added to a {fields.get('type')!r} item; it holds one call or result. "
                    "The messages you passed are unchanged."
                )
            if result := part.new_result:
                copy = with_hosted_output(fields, result.text) if is_hosted else with_output(fields, result)
        return copy

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        return {"role": role.value, "content": text}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        return answer_to({} if call.origin is None else as_mapping(call.origin.source, 0), result)


def _input_text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _is_message(fields: Mapping[str, Any]) -> bool:
    return fields.get("role") is not None and fields.get("type") in (None, "message")


def _message(fields: Mapping[str, Any], index: int) -> Fragment:
    raw_role = fields["role"]
    role = _ROLES.get(raw_role) if isinstance(raw_role, str) else None
    if role is None:
        raise MalformedMessage(index, f"unknown role {raw_role!r}")
    content = fields.get("content")
    if isinstance(content, str):
        said = content or role is not Role.ASSISTANT
        return Fragment(role, (Text(content),), (_WHOLE,)) if said else Fragment(role, (), ())
    if not is_array(content):
        raise wrong_content(index, content, "a string or an array of parts")
    found: list[tuple[Part, Place]] = [
        (message_part(raw, index, f"content[{at}]"), Place("content", at)) for at, raw in enumerate(content)
    ]
    return fragment(role, found)


def _item(fields: Mapping[str, Any], kind: str, index: int) -> tuple[Role, Part]:
    if kind == "reasoning":
        return Role.ASSISTANT, _reasoning(fields, index)
    if (result := result_of(fields, kind, index)) is not None:
        return Role.TOOL, result
    if (call := call_of(fields, kind, index)) is not None:
        return Role.ASSISTANT, call
    # A reference consists of its id; its type may be omitted.
    volatile = frozenset({"type", "meta"}) if kind == "item_reference" else _VOLATILE
    raw_role = fields.get("role")
    role = _ROLES.get(raw_role) if isinstance(raw_role, str) else None
    return role or Role.ASSISTANT, opaque(fields, kind, volatile)


def _reasoning(fields: Mapping[str, Any], index: int) -> Reasoning:
    texts: list[str] = []
    for key in ("summary", "content"):
        raw = fields.get(key)
        if raw is None:
            continue
        if not is_array(raw):
            raise MalformedMessage(index, f"{key} of a reasoning item must be an array")
        for at, entry in enumerate(raw):
            text = part_mapping(entry, index, f"{key}[{at}]").get("text")
            if isinstance(text, str):
                texts.append(text)
    proof = fields.get("encrypted_content") or fields.get("id")
    return Reasoning(joined(texts), proof if isinstance(proof, str) else None)
