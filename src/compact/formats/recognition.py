"""Recognizes the format of a list of messages by what only one format writes.

Each message allows some formats; the answer is what all of them allow. Plain `{"role", "content": "text"}`
fits four formats: it is read as OpenAI chat, or as Anthropic's if the messages are sent to a Claude model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import FormatError, MalformedMessage, shown
from compact.formats.fields import as_mapping, is_array

CHAT, RESPONSES, ANTHROPIC, UI, MODEL, GEMINI, LANGCHAIN, PYDANTIC_AI, BEDROCK, LLAMA_INDEX = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "ai-sdk-ui",
    "ai-sdk-model",
    "gemini",
    "langchain",
    "pydantic-ai",
    "bedrock",
    "llama-index",
)
PREFERENCE = (CHAT, RESPONSES, ANTHROPIC, MODEL, UI, GEMINI, LANGCHAIN, PYDANTIC_AI, BEDROCK, LLAMA_INDEX)

_NONE: frozenset[str] = frozenset()
ANY = frozenset(PREFERENCE)
_PLAIN = frozenset({CHAT, RESPONSES, ANTHROPIC, MODEL})
_CHAT_ONLY = frozenset({CHAT})
_ROLES = {
    "system": ANY,
    "developer": frozenset({CHAT, RESPONSES, LLAMA_INDEX}),
    "user": ANY,
    "assistant": ANY,
    "tool": frozenset({CHAT, MODEL, LLAMA_INDEX}),
    "function": frozenset({CHAT, GEMINI, LLAMA_INDEX}),
    "model": frozenset({GEMINI, LLAMA_INDEX}),
    "chatbot": frozenset({LLAMA_INDEX}),
}
_TEXT_BLOCKS = frozenset({CHAT, ANTHROPIC, MODEL})
PART_TYPES = {
    "text": _TEXT_BLOCKS,
    "image_url": frozenset({CHAT}),
    "input_audio": frozenset({CHAT, RESPONSES}),
    "refusal": frozenset({CHAT, RESPONSES}),
    "input_text": frozenset({RESPONSES}),
    "output_text": frozenset({RESPONSES}),
    "input_image": frozenset({RESPONSES}),
    "input_file": frozenset({RESPONSES}),
    "tool_use": frozenset({ANTHROPIC}),
    "tool_result": frozenset({ANTHROPIC}),
    "thinking": frozenset({ANTHROPIC}),
    "redacted_thinking": frozenset({ANTHROPIC}),
    "server_tool_use": frozenset({ANTHROPIC}),
    "mcp_tool_use": frozenset({ANTHROPIC}),
    "document": frozenset({ANTHROPIC}),
    "search_result": frozenset({ANTHROPIC}),
    "container_upload": frozenset({ANTHROPIC}),
    "tool-call": frozenset({MODEL}),
    "tool-result": frozenset({MODEL}),
    "reasoning": frozenset({MODEL}),
    "tool-approval-request": frozenset({MODEL}),
    "tool-approval-response": frozenset({MODEL}),
}
RESPONSES_ITEMS = frozenset(
    """message reasoning item_reference function_call function_call_output custom_tool_call
    custom_tool_call_output file_search_call web_search_call code_interpreter_call image_generation_call
    computer_call computer_call_output local_shell_call local_shell_call_output shell_call shell_call_output
    apply_patch_call apply_patch_call_output mcp_list_tools mcp_approval_request mcp_approval_response
    mcp_call tool_search_call tool_search_output program program_output compaction compaction_trigger
    additional_tools configuration_update""".split()
)
"""Types of Responses items. Others count as items too, but only together with one of these."""

LANGCHAIN_TYPES = {
    "human": "HumanMessage",
    "ai": "AIMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
    "function": "FunctionMessage",
    "chat": "ChatMessage",
}
_CLASSES = {name: kind for kind, name in LANGCHAIN_TYPES.items()}


_CLASS_FORMATS = {
    "langchain_core.messages": LANGCHAIN,
    "google.genai": GEMINI,
    "pydantic_ai.messages": PYDANTIC_AI,
    "llama_index.core": LLAMA_INDEX,
}
"""Frameworks whose message classes identify the format."""


def _package(item: Any) -> str:
    """The first two names of the module that defines the object's class."""
    return ".".join(type(item).__module__.split(".")[:2])


def langchain_type(fields: Mapping[str, Any]) -> str | None:
    """The type of the LangChain message that this is a dump of; None if it is not one."""
    kind, name = fields.get("type"), fields.get("id")
    if kind == "constructor" and is_array(name) and name and isinstance(fields.get("kwargs"), Mapping):
        return _CLASSES.get(str(name[-1]).removesuffix("Chunk"))
    holds = "content" in fields or (isinstance(fields.get("data"), Mapping) and "content" in fields["data"])
    if not isinstance(kind, str) or not holds:
        return None
    kind = _CLASSES.get(kind.removesuffix("Chunk"), kind)
    return kind if kind in LANGCHAIN_TYPES else None


def preferred(possible: frozenset[str], favored: str = "") -> str:
    return favored if favored in possible else next(name for name in PREFERENCE if name in possible)


def narrow(possible: frozenset[str], messages: Sequence[Any], first_index: int) -> frozenset[str]:
    """Those of the possible formats that also allow these messages."""
    if first_index == 0 and messages:
        _refuse_other_programs(messages)
    for index, item in enumerate(messages, first_index):
        candidates = _common(item) or candidates_for(item, index)
        if possible <= candidates:
            continue
        if not candidates:
            raise _unknown(index, as_mapping(item, index))
        remaining = possible & candidates
        if not remaining:
            raise FormatError(
                f"The messages mix formats: messages[{index}] looks like "
                f"{' or '.join(sorted(candidates))}, the ones before it like "
                f"{' or '.join(sorted(possible))}. Nothing was changed; convert them to one format first."
            )
        possible = remaining
    return possible


def _refuse_other_programs(messages: Sequence[Any]) -> None:
    """Reject a list in which every object has an unknown `type`: it is not a conversation."""
    first: Mapping[str, Any] | None = None
    for index, item in enumerate(messages):
        if type(item) is dict and "role" in item:
            return
        if _package(item) in _CLASS_FORMATS:
            return
        fields = as_mapping(item, index)
        kind = fields.get("type")
        if "role" in fields or not isinstance(kind, str) or kind in RESPONSES_ITEMS or langchain_type(fields):
            return
        first = fields if first is None else first
    if first is not None:
        raise _unknown(0, first)


def _unknown(index: int, fields: Mapping[str, Any]) -> FormatError:
    return FormatError(
        f"messages[{index}] fits no known format: {_seen(fields)}. {list_to_pass(fields)}"
        f"Known formats: {', '.join(PREFERENCE)}. Nothing was changed."
    )


def list_to_pass(fields: Mapping[str, Any]) -> str:
    """A sentence that names the field that could be the conversation; empty if there is none."""
    lists = [
        key
        for key, held in fields.items()
        if is_array(held) and held and all(_may_be_message(one) for one in held)
    ]
    if lists:
        return f"It holds a list of such objects: pass its {' or '.join(repr(key) for key in lists)}. "
    if single := _messages_in(fields):
        return f"Pass the {' or '.join(map(repr, single))} of each object. "
    for key, held in fields.items():
        if is_array(held) and held and isinstance(held[0], Mapping) and (inner := _messages_in(held[0])):
            return f"Pass its {key}[0].{inner[0]}. "
    return ""


def _messages_in(fields: Mapping[str, Any]) -> list[str]:
    return [key for key, held in fields.items() if isinstance(held, Mapping) and _may_be_message(held)]


def _may_be_message(value: Any) -> bool:
    return isinstance(value, Mapping) and ("role" in value or isinstance(value.get("type"), str))


def _common(item: Any) -> frozenset[str] | None:
    """The answer for the most common messages, kept fast because every new message passes through here."""
    if type(item) is not dict:
        return None
    role, content = item.get("role"), item.get("content")
    if type(content) is str:
        if len(item) == 2 and role in ("user", "assistant", "system"):
            return _PLAIN
        if role == "tool" and "tool_call_id" in item:
            return _CHAT_ONLY
    if len(item) == 3 and role == "assistant" and (content is None or type(content) is str):
        # The third field is the calls; no other format has such a field next to the content.
        return _CHAT_ONLY if type(item.get("tool_calls")) is list and item["tool_calls"] else None
    return None


def fits(messages: Sequence[Any], name: str) -> bool:
    """Whether every message could be in this format."""
    try:
        return all(name in candidates_for(item, index) for index, item in enumerate(messages))
    except MalformedMessage:
        return False


def candidates_for(item: Any, index: int) -> frozenset[str]:
    """The formats that this object could be in; empty if it fits none."""
    if type(item) is not dict and (own := _CLASS_FORMATS.get(_package(item))) is not None:
        return frozenset({own})
    fields = as_mapping(item, index)
    role, kind = fields.get("role"), fields.get("type")
    if role is None:
        return _item_candidates(fields, kind)
    if not isinstance(role, str) or role not in _ROLES:
        return _NONE
    possible = _ROLES[role]
    if is_array(parts := fields.get("parts")):
        return possible & _whose_parts(parts)
    if is_array(fields.get("blocks")) and "content" not in fields:
        return possible & {LLAMA_INDEX}
    if langchain_type(fields):
        return frozenset({LANGCHAIN})
    if kind is None and is_array(content := fields.get("content")) and content and _untyped(content):
        return possible & {BEDROCK}
    possible &= _PLAIN
    if kind == "message":
        # Anthropic's own response objects have `type: message` too.
        possible &= {RESPONSES, ANTHROPIC}
    if "tool_call_id" in fields or fields.get("tool_calls") or fields.get("function_call"):
        possible &= {CHAT}
    if "providerOptions" in fields:
        possible &= {MODEL}
    content = fields.get("content")
    if is_array(content):
        for part in content:
            possible &= _part_candidates(part)
    elif content is None or role == "tool":
        possible &= {CHAT}
    return possible


def _whose_parts(parts: Sequence[Any]) -> frozenset[str]:
    """AI SDK parts have a type; Gemini parts have one field that names their type."""
    typed = [isinstance(part, Mapping) and "type" in part for part in parts]
    return frozenset({UI} if all(typed) else _NONE) | ({GEMINI} if not any(typed) else _NONE)


def _untyped(content: Sequence[Any]) -> bool:
    return all(isinstance(block, Mapping) and "type" not in block for block in content)


def _item_candidates(fields: Mapping[str, Any], kind: Any) -> frozenset[str]:
    if langchain_type(fields):
        return frozenset({LANGCHAIN})
    if fields.get("kind") in ("request", "response") and is_array(fields.get("parts")):
        return frozenset({PYDANTIC_AI})
    if kind is None and is_array(parts := fields.get("parts")):
        return _whose_parts(parts) & {GEMINI}
    if isinstance(kind, str) and kind not in PART_TYPES.keys() - {"reasoning"}:
        return frozenset({RESPONSES})
    if kind is None and isinstance(fields.get("id"), str) and fields.keys() <= {"id", "type"}:
        return frozenset({RESPONSES})
    return _NONE


def _part_candidates(part: Any) -> frozenset[str]:
    kind = part.get("type") if isinstance(part, Mapping) else getattr(part, "type", None)
    if not isinstance(kind, str):
        return _PLAIN
    if kind in PART_TYPES:
        return PART_TYPES[kind]
    if kind in ("image", "file") and isinstance(part, Mapping):
        if "source" in part:
            return frozenset({ANTHROPIC})
        if kind == "file" and "file" in part:
            return frozenset({CHAT})
        return frozenset({MODEL})
    return frozenset({ANTHROPIC}) if kind.endswith("_tool_result") else _PLAIN


def _seen(fields: Mapping[str, Any]) -> str:
    found = [f"{key}={shown(fields[key])}" for key in ("role", "type") if key in fields]
    names = ", ".join(str(key)[:40] for key in list(fields)[:8])
    return f"{', '.join(found) or 'no role and no type'}; fields: {names or 'none'}"
