"""AI SDK messages: UI messages (`useChat`, stored chats) and model messages (`generateText`, `streamText`).

A UI assistant message holds a whole run of steps, and each tool part holds its call and its output. Every
step becomes an assistant message and, if tools answered, a tool message, just as the SDK converts them. Tools
that the provider ran stay opaque inside the assistant message. Input that was still streaming is never sent,
so it is not a call.
Volatile: `id`, timestamps, metadata, provider options, streaming state, nulls, and all fields not named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import FormatError, MalformedMessage
from compact.formats.ai_sdk_parts import denied_text, edited_output, model_part, reasoning, ui_tool_name
from compact.formats.answers import into_calls
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import (
    described,
    is_array,
    joined,
    opaque,
    part_mapping,
    part_type,
    plain_text,
    required_id,
    required_text,
    wrong_content,
)
from compact.formats.media import file_or_image
from compact.formats.recognition import fits
from compact.model.message import Message, Part, Role, StepStart, Text, ToolCall, ToolResult

_UI_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
_MODEL_ROLES = {**_UI_ROLES, "tool": Role.TOOL}
_ANSWERED = frozenset({"output-available", "output-error", "output-denied"})
_ANSWER = frozenset({"output", "errorText", "resultProviderMetadata", "preliminary"})
_CALLED = _ANSWERED | {"input-available", "approval-requested", "approval-responded"}
_UI_VOLATILE = frozenset(
    {"id", "state", "providerMetadata", "callProviderMetadata", "resultProviderMetadata"}
)
_WHOLE = Place("content")


class AISDKUI(SourceFormat):
    name = "ai-sdk-ui"
    provider = "openai"
    answers_in_calls = True

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        inner = fields.get("metadata")
        own = described(fields)
        return {**described(inner), **own} if isinstance(inner, Mapping) else own

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        role = _role(fields, _UI_ROLES, index)
        raw = fields.get("parts")
        if not is_array(raw):
            raise MalformedMessage(index, "parts must be an array" if raw is not None else "no parts")
        found: list[Fragment] = []
        said: list[tuple[Part, Place]] = []
        answers: list[tuple[Part, Place]] = []
        has_content = False
        for at, entry in enumerate(raw):
            where = f"parts[{at}]"
            part = part_mapping(entry, index, where)
            kind = part_type(part, index, where)
            if kind == "step-start" and has_content and role is Role.ASSISTANT:
                found += _step(role, said, answers)
                said, answers, has_content = [], [], False
            decoded = _ui_part(part, kind, index, where)
            has_content = has_content or not (kind == "step-start" or kind.startswith(_SILENT))
            said.append((decoded[0], Place("parts", at)))
            answers += [(result, Place("parts", at)) for result in decoded[1:]]
        if said or not found:
            found += _step(role, said, answers)
        return found

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        copy = {**fields, "parts": rebuilt_array(fields["parts"], "parts", kept, _edited_ui, _text_part)}
        if repeated is not None and isinstance(fields.get("id"), str):
            copy["id"] = f"{fields['id']}#{repeated + 1}"
        return copy

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        return {
            "id": f"compact-{message.digest.hex()}",
            "role": _created_role(role),
            "parts": [_text_part(text)],
        }

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        raise FormatError(
            "A result of a UI message stands in its call's part, never in a message of its own."
        )

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        return super().encode(into_calls(messages))

    def distinguish(self, encoded: list[Any], created: Sequence[int]) -> None:
        # Two bridge lines may have the same text, but their ids must differ.
        ours = set(created)
        taken = {
            message.get("id") if isinstance(message, Mapping) else getattr(message, "id", None)
            for at, message in enumerate(encoded)
            if at not in ours
        }
        for at in created:
            identity, count = encoded[at]["id"], 1
            while encoded[at]["id"] in taken:
                count += 1
                encoded[at]["id"] = f"{identity}#{count}"
            taken.add(encoded[at]["id"])


class AISDKModel(SourceFormat):
    name = "ai-sdk-model"
    provider = "openai"

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        role = _role(fields, _MODEL_ROLES, index)
        content = fields.get("content")
        if isinstance(content, str) and role is not Role.TOOL:
            if content or role is not Role.ASSISTANT:
                return (Fragment(role, (Text(content),), (_WHOLE,)),)
            return (Fragment(role, (), ()),)
        if not is_array(content):
            expected = "an array of parts" if role is Role.TOOL else "a string or an array of parts"
            raise wrong_content(index, content, expected)
        found: list[tuple[Part, Place]] = []
        for at, entry in enumerate(content):
            where = f"content[{at}]"
            part = part_mapping(entry, index, where)
            kind = part_type(part, index, where)
            found.append((model_part(part, kind, role, index, where), Place("content", at)))
        return (fragment(role, found),)

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        content = fields.get("content")
        if is_array(content):
            return {**fields, "content": rebuilt_array(content, "content", kept, _edited_model, _text_part)}
        texts = [part.after.text for part in kept if isinstance(part.after, Text)]
        return {**fields, "content": joined(texts)}

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        return {"role": _created_role(role), "content": text}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        name = next(made.name for made in call.calls if made.call_id == result.call_id)
        part = {"type": "tool-result", "toolCallId": result.call_id, "toolName": name}
        return {"role": "tool", "content": [edited_output(part, result)]}


# Parts that are shown or stored but not sent; they belong to the step that they precede or end.
_SILENT = ("data-", "source-")


def _role(fields: Mapping[str, Any], roles: Mapping[str, Role], index: int) -> Role:
    raw = fields.get("role")
    role = roles.get(raw) if isinstance(raw, str) else None
    if role is None:
        raise MalformedMessage(index, "no role" if raw is None else f"unknown role {raw!r}")
    return role


def _created_role(role: Role) -> str:
    return "system" if role is Role.DEVELOPER else role.value


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _step(
    role: Role, said: list[tuple[Part, Place]], answers: list[tuple[Part, Place]]
) -> tuple[Fragment, ...]:
    spoken = fragment(role, said)
    return (spoken, fragment(Role.TOOL, answers)) if answers else (spoken,)


def _ui_part(part: Mapping[str, Any], kind: str, index: int, where: str) -> tuple[Part, ...]:
    """The part, followed by its result if the tool answered."""
    if kind == "text":
        return (Text(required_text(part, "text", index, where)),)
    if kind == "reasoning":
        return (reasoning(part, "providerMetadata", index, where),)
    if kind == "step-start":
        return (StepStart(),)
    if kind == "file":
        return (
            file_or_image(
                required_text(part, "url", index, where), part.get("mediaType"), part.get("filename")
            ),
        )
    name = ui_tool_name(part, kind, index, where)
    if name is None or part.get("providerExecuted") is True:
        return (opaque(part, kind, _UI_VOLATILE),)
    call_id = required_id(part, "toolCallId", index, where)
    state = required_id(part, "state", index, where)
    if state not in _CALLED:
        return (opaque(part, kind, _UI_VOLATILE),)
    arguments = part.get("input")
    call = ToolCall(call_id, name, part.get("rawInput") if arguments is None else arguments)
    if state == "output-available":
        return (call, ToolResult(call_id, plain_text(part.get("output")), name))
    if state == "output-error":
        return (call, ToolResult(call_id, required_text(part, "errorText", index, where), name, True))
    if state == "output-denied":
        return (call, ToolResult(call_id, denied_text(part), name, True))
    return (call,)


def _edited_ui(entry: Any, kept: list[Kept]) -> Any:
    if not any(isinstance(part.before, ToolCall | ToolResult) for part in kept):
        return entry
    part = part_mapping(entry, 0, "part")
    if (added := next((found.added_result for found in kept if found.added_result), None)) is not None:
        return _answered(part, added)
    results = [found for found in kept if isinstance(found.before, ToolResult)]
    if not results:
        if part.get("state") not in _ANSWERED:
            return entry
        # The call stays but its result was removed, so it waits for one again.
        return {key: value for key, value in part.items() if key not in _ANSWER} | {
            "state": "input-available"
        }
    if (result := results[0].new_result) is None:
        return entry
    if part["state"] == "output-error":
        return {**part, "errorText": result.text}
    if part["state"] == "output-denied":
        approval = part.get("approval")
        approval = approval if isinstance(approval, Mapping) else {}
        return {**part, "approval": {**approval, "reason": result.text}}
    return {**part, "output": result.text}


def _answered(part: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """The part of an unanswered call, with this result."""
    approval = part.get("approval")
    approved = isinstance(approval, Mapping) and approval.get("approved") is True
    # A finished part may hold an approval only if it was granted.
    gone = _ANSWER if approved else _ANSWER | {"approval"}
    copy = {key: value for key, value in part.items() if key not in gone}
    if result.is_error:
        return {**copy, "state": "output-error", "errorText": result.text}
    return {**copy, "state": "output-available", "output": result.text}


def _edited_model(entry: Any, kept: list[Kept]) -> Any:
    result = kept[0].new_result
    return entry if result is None else edited_output(part_mapping(entry, 0, "part"), result)
