"""What OpenAI's Responses API rejects in an input item, beyond pairing and empty content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compact.core.lint.chat import wrong_image_url
from compact.core.lint.raw import (
    NAME,
    Found,
    fields_of,
    kind_of,
    missing_fields,
    parts_of,
    unknown_fields,
    wrong_name,
)
from compact.core.lint.types import ViolationCode as Code

_LONGEST_ID = 64
_LONGEST_NAME = 128
_LONGEST_TEXT = 10_485_760

# Type of an item → its fields; those with a star are required.
_ITEMS = {
    kind: fields.split()
    for kind, fields in {
        "message": "content* role* id status phase",
        "file_search_call": "id* queries* results status",
        "computer_call": "call_id* action actions id pending_safety_checks status",
        "computer_call_output": "call_id* output* acknowledged_safety_checks id status",
        "web_search_call": "id* action status*",
        "function_call": "arguments* call_id* name* async caller id namespace status",
        "function_call_output": "call_id* output* caller id name namespace status",
        "tool_search_call": "arguments* call_id execution id status",
        "tool_search_output": "tools* call_id execution id status",
        "additional_tools": "tools* id role",
        "configuration_update": "id reasoning text",
        "reasoning": "summary* content encrypted_content id status",
        "compaction": "encrypted_content* id",
        "image_generation_call": "id* action background error output_format quality result revised_prompt "
        "size status svg_usage",
        "code_interpreter_call": "id* container_id* code outputs status",
        "local_shell_call": "action* call_id* id status",
        "local_shell_call_output": "output* id status call_id",
        "shell_call": "action* call_id* caller environment id status",
        "shell_call_output": "call_id* output* caller id max_output_length status",
        "apply_patch_call": "call_id* operation* caller id status",
        "apply_patch_call_output": "call_id* status* caller id output",
        "mcp_list_tools": "id* server_label* tools* error",
        "mcp_approval_request": "arguments* id* name* server_label*",
        "mcp_approval_response": "approval_request_id* approve* id reason",
        "mcp_call": "arguments* id* name* server_label* approval_request_id error output status",
        "custom_tool_call": "call_id* input* name* async caller id namespace status",
        "custom_tool_call_output": "call_id* output* caller id status",
        "compaction_trigger": "id",
        "item_reference": "id*",
        "program": "call_id* code* fingerprint id",
        "program_output": "call_id* result* id status",
    }.items()
}
_FIELDS = {kind: frozenset(field.rstrip("*") for field in fields) for kind, fields in _ITEMS.items()}
_NEEDED = {kind: [field[:-1] for field in fields if field[-1] == "*"] for kind, fields in _ITEMS.items()}
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "computer_call": "cu",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
}
_SAID = frozenset({"output_text", "refusal"})
_ASKED = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_STATUS = (
    *("in_progress", "completed", "incomplete", "failed"),
    *("searching", "generating", "interpreting", "calling"),
)
_OPERATIONS = frozenset({"create_file", "update_file", "delete_file"})


def check_item(fields: Mapping[str, Any]) -> Iterator[Found]:
    kind = fields.get("type")
    if kind is None:
        kind = "item_reference" if "role" not in fields and "id" in fields else "message"
    if kind not in _ITEMS:
        yield Code.UNKNOWN_ITEM, f"Items of type {kind!r} are unknown to the API; drop it."
        return
    yield from unknown_fields(fields, _FIELDS[kind], f"The {kind} item")
    yield from missing_fields(fields, _NEEDED[kind], f"The {kind} item")
    yield from _ids(fields, kind)
    status = fields.get("status")
    if status is not None and status not in _STATUS:
        yield Code.INVALID_VALUE, f"status {status!r} is none that the API knows."
    if kind in ("function_call", "custom_tool_call", "mcp_call", "mcp_approval_request"):
        yield from wrong_name(fields.get("name"), _LONGEST_NAME, f"name of the {kind}")
        said = fields.get("input" if kind == "custom_tool_call" else "arguments")
        if said is not None and not isinstance(said, str):
            yield Code.ARGUMENTS_TYPE, f"arguments of the {kind} must be a JSON string; serialize the object."
    if (check := _CHECKS.get(kind)) is not None:
        yield from check(fields)


def _ids(fields: Mapping[str, Any], kind: str) -> Iterator[Found]:
    identity = fields.get("id")
    if isinstance(identity, str) and kind != "local_shell_call_output":
        prefix = _PREFIXES.get(kind, "")
        if not identity.startswith(prefix):
            yield (
                Code.ID_PREFIX,
                f"id {identity[:40]!r} of the {kind} must begin with {prefix!r}; leave the id out.",
            )
        if len(identity) > _LONGEST_ID:
            yield (
                Code.ID_LENGTH,
                f"id has {len(identity)} characters, {_LONGEST_ID} allowed; leave the id out.",
            )
        if NAME.fullmatch(identity) is None:
            yield Code.ID_PATTERN, f"id {identity[:40]!r} may hold only letters, digits, '_' and '-'."
    call_id = fields.get("call_id")
    if isinstance(call_id, str) and len(call_id) > _LONGEST_ID:
        yield Code.ID_LENGTH, f"call_id has {len(call_id)} characters, {_LONGEST_ID} allowed; shorten it."


def _message(fields: Mapping[str, Any]) -> Iterator[Found]:
    content, role = fields.get("content"), fields.get("role")
    if isinstance(content, str) and len(content) > _LONGEST_TEXT:
        yield (
            Code.TEXT_TOO_LONG,
            f"{len(content):,} characters, {_LONGEST_TEXT:,} allowed; split the message.",
        )
    allowed = _SAID if role == "assistant" else _ASKED
    for part in parts_of(content):
        kind = kind_of(part)
        if kind not in _SAID | _ASKED:
            yield Code.UNKNOWN_PART, f"Content of type {kind!r} is unknown to the API."
        elif kind not in allowed:
            yield Code.PART_ROLE, f"A part of type {kind!r} is not allowed in a message of role {role!r}."
        yield from _media(part, kind)


def _media(part: Mapping[str, Any], kind: str) -> Iterator[Found]:
    if kind == "input_image":
        detail = part.get("detail")
        if detail is not None and detail not in ("auto", "low", "high", "original"):
            yield Code.INVALID_VALUE, f"detail of an image must be auto, low or high, not {detail!r}."
        yield from wrong_image_url(part.get("image_url"))
    elif kind == "input_file":
        held = [key for key in ("file_id", "file_data", "file_url") if part.get(key)]
        if len(held) > 1:
            yield Code.INVALID_VALUE, f"A file is given by one of {', '.join(held)}; keep one."
        if held == ["file_data"] and not part.get("filename"):
            yield Code.MISSING_FIELD, "A file given as file_data needs a filename."


def _output(fields: Mapping[str, Any]) -> Iterator[Found]:
    for part in parts_of(fields.get("output")):
        kind = kind_of(part)
        if kind not in ("input_text", "input_image", "input_file"):
            yield (
                Code.UNKNOWN_PART,
                f"An output may hold input_text, input_image and input_file, not {kind!r}.",
            )
        yield from _media(part, kind)


def _reasoning(fields: Mapping[str, Any]) -> Iterator[Found]:
    for key, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        if any(kind_of(part) != kind for part in parts_of(fields.get(key))):
            yield Code.UNKNOWN_PART, f"{key} of a reasoning item may hold only parts of type {kind}."
    proof = fields.get("encrypted_content")
    if proof is not None and not isinstance(proof, str):
        yield Code.INVALID_VALUE, "encrypted_content must be a string."


def _screenshot(fields: Mapping[str, Any]) -> Iterator[Found]:
    output = fields_of(fields.get("output"))
    if output.get("type") != "computer_screenshot":
        yield Code.INVALID_VALUE, "The output of a computer call must be a computer_screenshot."
    elif not output.get("image_url") and not output.get("file_id"):
        yield Code.MISSING_FIELD, "A computer_screenshot needs image_url or file_id."


def _shell_output(fields: Mapping[str, Any]) -> Iterator[Found]:
    if not isinstance(fields.get("output"), list | tuple):
        yield Code.INVALID_VALUE, "The output of a shell call must be an array of chunks."
    for chunk in parts_of(fields.get("output")):
        yield from missing_fields(chunk, ("stdout", "stderr", "outcome"), "A chunk of a shell output")
        outcome = fields_of(chunk.get("outcome"))
        if outcome and outcome.get("type") not in ("exit", "timeout"):
            yield Code.INVALID_VALUE, "outcome of a shell output must be exit or timeout."
        if outcome.get("type") == "exit" and not isinstance(outcome.get("exit_code"), int):
            yield Code.MISSING_FIELD, "An outcome of type exit needs its exit_code."


def _patch(fields: Mapping[str, Any]) -> Iterator[Found]:
    operation = kind_of(fields.get("operation"))
    if fields.get("operation") is not None and operation not in _OPERATIONS:
        yield Code.INVALID_VALUE, f"operation of a patch must be one of {', '.join(sorted(_OPERATIONS))}."


def _patch_output(fields: Mapping[str, Any]) -> Iterator[Found]:
    if fields.get("status") not in (None, "completed", "failed"):
        yield Code.INVALID_VALUE, "status of a patch output must be completed or failed."


def _approval(fields: Mapping[str, Any]) -> Iterator[Found]:
    if not isinstance(fields.get("approve"), bool | None):
        yield Code.INVALID_VALUE, "approve must be true or false."


_CHECKS = {
    "message": _message,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "reasoning": _reasoning,
    "computer_call_output": _screenshot,
    "shell_call_output": _shell_output,
    "apply_patch_call": _patch,
    "apply_patch_call_output": _patch_output,
    "mcp_approval_response": _approval,
}


def check_item_list(sources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Found]]:
    """Rules about several items: duplicate ids, outputs of a different kind from their call."""
    seen: set[str] = set()
    calls: dict[str, str] = {}
    for index, fields in enumerate(sources):
        kind = str(fields.get("type"))
        identity = fields.get("id")
        if isinstance(identity, str) and kind != "local_shell_call_output":
            if identity in seen:
                yield index, (Code.DUPLICATE_ID, f"Two items have the id {identity!r}; drop one of them.")
            seen.add(identity)
        call_id = fields.get("call_id")
        if not isinstance(call_id, str):
            continue
        if kind.endswith("_call"):
            calls[call_id] = kind
        elif kind.endswith("_call_output") and calls.get(call_id, kind[:-7]) != kind[:-7]:
            text = f"A {kind} answers a {calls[call_id]}; it must be a {calls[call_id]}_output."
            yield index, (Code.OUTPUT_TYPE, text)
