"""Tool lists: which tools an agent discovered on the way, and which of those are still in use (S2.17).

The agent marks a discovered tool `meta: {"discovered": true}`. A compaction takes it off the list unless a
kept message calls or names it; a later message that does so brings it back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from compact.formats.tools import tool_names
from compact.model.message import Message


def discovered_names(tools: Any) -> list[str]:
    return [name for name, tool in _named(tools) if name is not None and _is_discovered(tool)]


def unreferred(names: Collection[str], messages: Iterable[Message]) -> frozenset[str]:
    """The names that no message of the caller calls or mentions.

    A mention counts because an agent that has just read about a tool is about to call it.
    """
    left = set(names)
    for message in messages:
        if not left:
            break
        if message.is_ours:
            continue
        left.difference_update(call.name for call in message.calls)
        for text in (message.text, *(result.text for result in message.results)):
            left.difference_update([name for name in left if name in text and _word(name).search(text)])
    return frozenset(left)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def active_tools(tools: Any, retired: Collection[str]) -> Any:
    """The list without the retired ones; the same object if there are none."""
    gone = set(discovered_names(tools)) & set(retired) if retired else set()
    if not gone:
        return tools
    if isinstance(tools, Mapping):
        return {name: tool for name, tool in tools.items() if name not in gone}
    return [tool for name, tool in _named(tools) if name not in gone]


def _named(tools: Any) -> Iterator[tuple[str | None, Any]]:
    if not tools:
        return
    each = list(tools.values()) if isinstance(tools, Mapping) else list(tools)
    yield from zip(tool_names(tools), each, strict=True)


def _is_discovered(tool: Any) -> bool:
    meta = tool.get("meta") if isinstance(tool, Mapping) else getattr(tool, "meta", None)
    return isinstance(meta, Mapping) and meta.get("discovered") is True
