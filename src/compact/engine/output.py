"""From the view back to the caller's own format, objects and list type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from compact.engine.line import Line
from compact.formats import strip_meta
from compact.formats.base import grouped
from compact.ports import Format


def encode_view(line: Line, messages: Sequence[Any], head: int, format: Format) -> list[Any]:
    """What goes out, leading system messages first. Only what a record decides is encoded, once."""
    if line.base is None and not line.has_ours:
        return list(messages)
    if line.encoded is None:
        line.encoded = _encoded_prefix(line, format)
    prefix, rest = line.encoded
    out = list(messages[:head])
    out += prefix
    out += messages[head + rest :]
    return out


def _encoded_prefix(line: Line, format: Format) -> tuple[list[Any], int]:
    # From the last thing that is ours on, the view is the caller's own list again.
    changed = [n for n, item in enumerate(line.view) if item.message.is_ours or item.message.changed]
    first_own = changed[-1] + 1 if changed else 0
    covered = line.base.source_length if line.base is not None else 0
    for n in range(first_own, len(line.view)):
        position = line.view[n].position
        if position is None or position < covered:
            continue
        rest = line.given.index_of(line.view[n].message)
        if rest is not None:
            return format.encode([item.message for item in line.view[:n]]), rest
    return format.encode([item.message for item in line.view]), len(line.given.copies)


def stable_indexes(line: Line, out: Sequence[Any], head: int) -> tuple[int, ...]:
    """Where a cache breakpoint pays: after the summary, and at the last message."""
    if not out:
        return ()
    if not line.stable:
        return (len(out) - 1,)
    # Not where it stands in the view: an object of the caller's may hold several messages.
    runs = grouped(item.message for item in line.view[: line.stable[-1] + 1])
    ends = {end - 1: number for number, end in enumerate(accumulate(map(len, runs)))}
    summaries = (head + ends[n] for n in line.stable)
    return (*(n for n in summaries if n < len(out) - 1), len(out) - 1)


def stripped(messages: list[Any]) -> list[Any]:
    return [strip_meta(message) for message in messages]


def stripped_tools(tools: Any) -> Any:
    """The tool list without our marks; the same object where it has none."""
    if isinstance(tools, Mapping):
        clean = {name: strip_meta(tool) for name, tool in tools.items()}
        return clean if any(clean[name] is not tools[name] for name in clean) else tools
    if not tools:
        return tools
    found = [strip_meta(tool) for tool in tools]
    return found if any(new is not old for new, old in zip(found, tools, strict=True)) else tools
