"""Anthropic requires the results of one group of calls in one user message, right after the calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.formats.fields import as_mapping, is_array, part_mapping


def with_results_joined(encoded: Sequence[Any], created: Sequence[int]) -> list[Any]:
    """Anthropic messages in which each created result shares one user message with adjacent results."""
    ours = set(created)
    out: list[Any] = []
    growing = False
    """Whether the last message is a copy that collects the results that follow."""
    for position, message in enumerate(encoded):
        joins = bool(out) and (position in ours or growing) and _leading_results(message) > 0
        if joins and (growing or _is_results(out[-1])):
            before, after = as_mapping(out[-1], position), as_mapping(message, position)
            # Keep the other fields of the caller's message.
            out[-1] = {**after, **before, "content": [*before["content"], *after["content"]]}
            growing = _is_results(message)
        else:
            out.append(message)
            growing = position in ours
    return out


def _leading_results(message: Any) -> int:
    """How many tool results an Anthropic message begins with."""
    content = as_mapping(message, 0).get("content")
    count = 0
    for block in content if is_array(content) else ():
        if part_mapping(block, 0, "block").get("type") != "tool_result":
            break
        count += 1
    return count


def _is_results(message: Any) -> bool:
    count = _leading_results(message)
    return count > 0 and count == len(as_mapping(message, 0)["content"])
