"""Cache breakpoints for Anthropic: where the provider may start reading from its cache (S2.14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.formats.fields import as_mapping, is_array

LIMIT = 4
"""The number of breakpoints that one request may carry."""

_MARK = {"type": "ephemeral"}
# The API rejects a mark on these.
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


def with_cache_breakpoints(
    system: str | Sequence[Any] | None,
    tools: Sequence[Any] | None,
    messages: Sequence[Any],
    stable_indexes: Sequence[int],
) -> tuple[str | list[Any] | None, list[Any] | None, list[Any]]:
    """Copies of the three, with cache breakpoints on what the next request repeats.

    `stable_indexes` are positions in `messages`: the summary pair's last message, then the last message
    that the next request will still hold. Your own breakpoints stay and count toward the four.
    If too few are left, the later position comes first: its prefix includes the others.
    """
    new_system: list[Any] | None = None
    if isinstance(system, str):
        new_system = [{"type": "text", "text": system}] if system else None
    elif system is not None:
        new_system = list(system)
    new_tools = None if tools is None else list(tools)
    new_messages = list(messages)
    free = LIMIT - _marks(new_system) - _marks(new_tools) - _marks(new_messages)
    for index in sorted({at for at in stable_indexes if -len(messages) <= at < len(messages)}, reverse=True):
        if free > 0 and (marked := _marked_message(new_messages[index])) is not None:
            new_messages[index] = marked
            free -= 1
    placed_in_system = False
    if new_system and free > 0:
        placed_in_system = _mark_last(new_system)
        free -= placed_in_system
    if new_tools and free > 0:
        _mark_last(new_tools)
    if isinstance(system, str) and not placed_in_system:
        return system, new_tools, new_messages
    return new_system, new_tools, new_messages


def _marks(value: Any) -> int:
    """The number of breakpoints at any depth, including blocks nested in a tool result."""
    if isinstance(value, Mapping):
        own = 1 if value.get("cache_control") is not None else 0
        return own + sum(_marks(inner) for key, inner in value.items() if key in ("content", "source"))
    if is_array(value):
        return sum(_marks(inner) for inner in value)
    return 0


def _marked_message(message: Any) -> dict[str, Any] | None:
    fields = as_mapping(message, 0)
    content = fields.get("content")
    if isinstance(content, str):
        block = {"type": "text", "text": content, "cache_control": dict(_MARK)}
        return {**fields, "content": [block]} if content else None
    if not is_array(content):
        return None
    blocks = list(content)
    return {**fields, "content": blocks} if _mark_last(blocks) else None


def _mark_last(blocks: list[Any]) -> bool:
    """Mark the last entry that may carry a mark; False if there is none or it already has one."""
    for at in range(len(blocks) - 1, -1, -1):
        block = as_mapping(blocks[at], at)
        if block.get("type") in _UNMARKABLE or block.get("defer_loading") or block.get("text") == "":
            continue
        if block.get("cache_control") is not None:
            return False
        blocks[at] = {**block, "cache_control": dict(_MARK)}
        return True
    return False
