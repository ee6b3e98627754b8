"""Items of the Responses API: which are calls, which are outputs, and where each keeps its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.errors import MalformedMessage
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
)
from compact.formats.media import image, note_image, read_note
from compact.formats.openai_chat import content_part
from compact.model.message import File, Image, Opaque, Text, ToolCall, ToolResult, json_kind

_VOLATILE = frozenset({"id", "status", "created_by", "meta", "call_id", "type"})
# Type of a call → its tool name and the fields that may hold its arguments.
_CALLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "computer_call": ("computer", ("actions", "action")),
    "local_shell_call": ("local_shell", ("action",)),
    "shell_call": ("shell", ("action",)),
    "apply_patch_call": ("apply_patch", ("operation",)),
    "program": ("program", ("code",)),
    "tool_search_call": ("tool_search", ("arguments",)),
}
_TEXTS = frozenset({"input_text", "output_text", "summary_text", "reasoning_text", "text"})


def message_part(raw: Any, index: int, where: str) -> Text | Image | File | Opaque:
    """One entry of a message's content, or of a tool output given as an array."""
    part = part_mapping(raw, index, where)
    kind = part_type(part, index, where)
    if kind in _TEXTS:
        return Text(required_text(part, "text", index, where))
    if kind == "input_image":
        detail = part.get("detail")
        source = part.get("image_url") or part.get("file_id")
        if not isinstance(source, str):
            raise MalformedMessage(index, f"{where} has neither image_url nor file_id")
        return image(source, detail=detail if isinstance(detail, str) else None)
    if kind == "input_file":
        source = part.get("file_data") or part.get("file_url") or part.get("file_id")
        if not isinstance(source, str):
            raise MalformedMessage(index, f"{where} has none of file_data, file_url and file_id")
        name = part.get("filename")
        return File(source, name if isinstance(name, str) else None)
    if kind in ("refusal", "input_audio"):
        return content_part(part, index, where)
    return opaque(part, kind)


def call_of(item: Mapping[str, Any], kind: str, index: int) -> ToolCall | None:
    """The call that an item makes; None if no output has to refer to its id."""
    if kind in ("function_call", "custom_tool_call"):
        return ToolCall(
            required_id(item, "call_id", index, kind),
            required_id(item, "name", index, kind),
            call_arguments(item, "arguments" if kind == "function_call" else "input", index, kind),
        )
    if kind == "mcp_approval_request":
        return ToolCall(
            required_id(item, "id", index, kind),
            required_id(item, "name", index, kind),
            call_arguments(item, "arguments", index, kind),
        )
    call_id: Any = item.get("call_id")
    if kind in _CALLS and (call_id is not None or kind != "tool_search_call"):
        name, keys = _CALLS[kind]
        asked = next((item[key] for key in keys if item.get(key) is not None), None)
        return ToolCall(required_id(item, "call_id", index, kind), name, asked)
    if kind.endswith("_call") and isinstance(call_id, str) and call_id:
        # A call of a type added to the API later: its id must still match its output.
        asked = {key: value for key, value in item.items() if key not in _VOLATILE}
        return ToolCall(call_id, kind.removesuffix("_call"), asked)
    return None


def result_of(item: Mapping[str, Any], kind: str, index: int) -> ToolResult | None:
    """The result that an item holds; None if it does not refer to a call by id."""
    name = item.get("name")
    name = name if isinstance(name, str) else None
    if kind in ("function_call_output", "custom_tool_call_output"):
        call_id = required_id(item, "call_id", index, kind)
        text, media = _content(item.get("output"), index, kind)
        return ToolResult(call_id, text, name, media=media)
    if kind == "computer_call_output":
        return _screenshot(item, index, kind)
    if kind == "shell_call_output":
        return _shell(item, index, kind)
    if kind == "local_shell_call_output":
        # The API names the field `id`, the Agents SDK writes `call_id`.
        key = "call_id" if item.get("call_id") is not None else "id"
        return ToolResult(required_id(item, key, index, kind), required_text(item, "output", index, kind))
    if kind == "apply_patch_call_output":
        log = item.get("output")
        return ToolResult(
            required_id(item, "call_id", index, kind),
            log if isinstance(log, str) else "",
            is_error=item.get("status") == "failed",
        )
    if kind == "program_output":
        text = required_text(item, "result", index, kind)
        return ToolResult(required_id(item, "call_id", index, kind), text)
    if kind == "mcp_approval_response":
        reason = item.get("reason")
        return ToolResult(
            required_id(item, "approval_request_id", index, kind),
            reason if isinstance(reason, str) else "",
            is_error=item.get("approve") is not True,
        )
    answered = item.get("call_id")
    if kind.endswith("_output") and isinstance(answered, str) and answered:
        output = item.get("output")
        if isinstance(output, str):
            return ToolResult(answered, output, name)
        return ToolResult(answered, "", name, media=(opaque(item, kind, _VOLATILE),))
    return None


def with_output(item: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """The item with this text as its output, in the shape that its type requires.

    Outputs that cannot hold text (a tool_search_output holds tool definitions) stay as they are.
    """
    kind = item.get("type")
    if kind == "computer_call_output":
        return {**item, "output": {"type": "computer_screenshot", "image_url": note_image(result.text)}}
    if kind == "shell_call_output":
        return {**item, "output": [_shell_chunk(item, result.text)]}
    if kind == "program_output":
        return {**item, "result": result.text}
    if kind == "mcp_approval_response":
        return {**item, "reason": result.text}
    if "output" in item or kind == "apply_patch_call_output":
        return {**item, "output": result.text}
    return dict(item)


def answer_to(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """The item that answers a Responses call, in the shape that the call's type requires."""
    kind, by_id = call.get("type"), {"call_id": result.call_id}
    if kind == "local_shell_call":
        return {"type": "local_shell_call_output", "id": result.call_id, "output": result.text}
    if kind == "shell_call":
        outcome = {"type": "exit", "exit_code": 1 if result.is_error else 0}
        chunk = {"stdout": "", "stderr": result.text, "outcome": outcome}
        return {"type": "shell_call_output", **by_id, "output": [chunk]}
    if kind == "apply_patch_call":
        status = "failed" if result.is_error else "completed"
        return {"type": "apply_patch_call_output", **by_id, "status": status, "output": result.text}
    if kind == "mcp_approval_request":
        return {
            "type": "mcp_approval_response",
            "approval_request_id": result.call_id,
            "approve": not result.is_error,
            "reason": result.text,
        }
    if kind == "program":
        status = "incomplete" if result.is_error else "completed"
        own_id = f"compact-{result.call_id}"
        return {"type": "program_output", "id": own_id, **by_id, "result": result.text, "status": status}
    if kind == "tool_search_call":
        return {"type": "tool_search_output", **by_id, "tools": []}
    if kind == "computer_call":
        shown = {"type": "computer_screenshot", "image_url": note_image(result.text)}
        return {"type": "computer_call_output", **by_id, "output": shown}
    named = kind if isinstance(kind, str) and kind.endswith("_call") else "function_call"
    return {"type": f"{named}_output", **by_id, "output": result.text}


def _content(output: Any, index: int, where: str) -> tuple[str, tuple[Image | File | Opaque, ...]]:
    if isinstance(output, str):
        return output, ()
    if not is_array(output):
        got = "but is missing or null" if output is None else f"got {json_kind(output)}"
        raise MalformedMessage(index, f"{where}.output must be a string or an array of parts, {got}")
    return text_and_media(
        [message_part(raw, index, f"{where}.output[{at}]") for at, raw in enumerate(output)]
    )


def _screenshot(item: Mapping[str, Any], index: int, where: str) -> ToolResult:
    call_id = required_id(item, "call_id", index, where)
    output = part_mapping(item.get("output"), index, f"{where}.output")
    source = output.get("image_url") or output.get("file_id")
    if (note := read_note(source)) is not None:
        return ToolResult(call_id, note)
    if isinstance(source, str):
        return ToolResult(call_id, "", media=(image(source),))
    return ToolResult(call_id, "", media=(opaque(output, "computer_screenshot"),))


def _shell(item: Mapping[str, Any], index: int, where: str) -> ToolResult:
    call_id = required_id(item, "call_id", index, where)
    output = item.get("output")
    if isinstance(output, str):
        return ToolResult(call_id, output)
    if not is_array(output):
        raise MalformedMessage(index, f"{where}.output must be an array of chunks")
    texts: list[str] = []
    failed = False
    for at, raw in enumerate(output):
        chunk = part_mapping(raw, index, f"{where}.output[{at}]")
        texts += [text for key in ("stdout", "stderr") if isinstance(text := chunk.get(key), str) and text]
        failed = failed or _failed(chunk)
    return ToolResult(call_id, joined(texts), is_error=failed)


def _failed(chunk: Mapping[str, Any]) -> bool:
    outcome = chunk.get("outcome")
    if not isinstance(outcome, Mapping):
        return False
    return outcome.get("type") == "timeout" or outcome.get("exit_code") not in (0, None)


def _shell_chunk(item: Mapping[str, Any], text: str) -> dict[str, Any]:
    """One chunk for the whole output, with an outcome that shows whether the command failed."""
    output = item.get("output")
    chunks = [part_mapping(raw, 0, "chunk") for raw in output] if is_array(output) else []
    first = next((chunk for chunk in chunks if _failed(chunk)), chunks[0] if chunks else {})
    outcome = first.get("outcome", {"type": "exit", "exit_code": 0})
    return {"stdout": text, "stderr": "", "outcome": outcome}
