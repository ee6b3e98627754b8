"""Parts of AI SDK messages: tool outputs in their typed envelope, reasoning with the provider's signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.fields import (
    is_array,
    opaque,
    part_mapping,
    part_type,
    plain_text,
    required_id,
    required_text,
    text_and_media,
)
from compact.formats.media import file_or_image, image
from compact.model.message import File, Image, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult

_VOLATILE = frozenset({"providerOptions"})
_DENIED = "Tool call execution denied."
_PROOFS = ("signature", "redactedData", "reasoningEncryptedContent", "thoughtSignature", "itemId")


def ui_tool_name(part: Mapping[str, Any], kind: str, index: int, where: str) -> str | None:
    """The tool name of a UI part; None if it is not a tool part."""
    if kind == "dynamic-tool":
        return required_id(part, "toolName", index, where)
    if kind.startswith("tool-"):
        if kind == "tool-":
            raise MalformedMessage(index, f"{where} has a type without a tool name")
        return kind[len("tool-") :]
    return None


def denied_text(part: Mapping[str, Any]) -> str:
    approval = part.get("approval")
    reason = approval.get("reason") if isinstance(approval, Mapping) else None
    return reason if isinstance(reason, str) else _DENIED


def reasoning(part: Mapping[str, Any], options_key: str, index: int, where: str) -> Reasoning:
    """A reasoning part; its signature is in the options of the provider that wrote it."""
    text = required_text(part, "text", index, where)
    options = part.get(options_key)
    for provider in options.values() if isinstance(options, Mapping) else ():
        if isinstance(provider, Mapping):
            for key in _PROOFS:
                if isinstance(proof := provider.get(key), str) and proof:
                    return Reasoning(text, proof, redacted=key == "redactedData")
    return Reasoning(text)


def model_part(part: Mapping[str, Any], kind: str, role: Role, index: int, where: str) -> Part:
    """One entry of a model message's content."""
    if kind == "text":
        return Text(required_text(part, "text", index, where))
    if kind == "reasoning":
        return reasoning(part, "providerOptions", index, where)
    if kind == "image":
        media_type = part.get("mediaType")
        return image(_data(part, "image", index, where), media_type if isinstance(media_type, str) else None)
    if kind == "file":
        return file_or_image(_data(part, "data", index, where), part.get("mediaType"), part.get("filename"))
    if kind == "tool-call":
        if role is not Role.ASSISTANT:
            raise MalformedMessage(index, f"{where} is a tool-call, but the role is {role}")
        call_id = required_id(part, "toolCallId", index, where)
        name = required_id(part, "toolName", index, where)
        if part.get("providerExecuted") is True:
            return opaque(part, kind, _VOLATILE)
        return ToolCall(call_id, name, part.get("input"))
    if kind == "tool-result":
        result = _result(part, index, where)
        # In an assistant message, only tools that the provider ran have results.
        return result if role is Role.TOOL else opaque(part, kind, _VOLATILE)
    return opaque(part, kind, _VOLATILE)


def edited_output(part: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """The tool-result part with a different text, still an error if it was one."""
    kind = "error-text" if result.is_error else "text"
    return {**part, "output": {"type": kind, "value": result.text}}


def _data(part: Mapping[str, Any], key: str, index: int, where: str) -> Any:
    value = part.get(key)
    if value is None:
        raise MalformedMessage(index, f"{where} has no {key}")
    if isinstance(value, Mapping):
        return plain_text(value)
    return value


def _result(part: Mapping[str, Any], index: int, where: str) -> ToolResult:
    call_id = required_id(part, "toolCallId", index, where)
    name = required_id(part, "toolName", index, where)
    where = f"{where}.output"
    output = part_mapping(part.get("output"), index, where)
    kind = part_type(output, index, where)
    value = output.get("value")
    if kind in ("text", "error-text"):
        return ToolResult(call_id, required_text(output, "value", index, where), name, kind == "error-text")
    if kind in ("json", "error-json"):
        return ToolResult(call_id, plain_text(value), name, kind == "error-json")
    if kind == "execution-denied":
        reason = output.get("reason")
        return ToolResult(call_id, reason if isinstance(reason, str) else _DENIED, name, True)
    if kind != "content":
        return ToolResult(call_id, "", name, media=(opaque(output, kind, _VOLATILE),))
    if not is_array(value):
        raise MalformedMessage(index, f"{where}.value must be an array")
    text, media = text_and_media(
        [_content(raw, index, f"{where}.value[{at}]") for at, raw in enumerate(value)]
    )
    return ToolResult(call_id, text, name, media=media)


def _content(raw: Any, index: int, where: str) -> Text | Image | File | Opaque:
    inner = part_mapping(raw, index, where)
    kind = part_type(inner, index, where)
    if kind == "text":
        return Text(required_text(inner, "text", index, where))
    source = inner.get("data") or inner.get("url")
    if isinstance(source, str):
        media_type = inner.get("mediaType")
        if kind in ("image-data", "image-url"):
            return image(source, media_type if isinstance(media_type, str) else None)
        if kind in ("media", "file-data", "file-url"):
            return file_or_image(source, media_type, inner.get("filename"))
    return opaque(inner, kind, _VOLATILE)
