"""Tool lists: which tools an agent discovered on the way, and which of those are still in use (S2.17).

A discovered tool is marked `meta: {"discovered": true}` by whoever found it. After a compaction it stays
in the list only while a kept message calls it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from compact.formats.tools import tool_names


def discovered_names(tools: Any) -> list[str]:
    return [name for name, tool in _named(tools) if name is not None and _is_discovered(tool)]


def active_tools(tools: Any, retired: Collection[str]) -> Any:
    """The list less the retired ones; the very same object where none is."""
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
