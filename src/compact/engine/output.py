"""From the view back to the caller's own format, objects and list type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from compact.engine.history import History
from compact.formats import strip_meta
from compact.formats.base import grouped


def encode_view(history: History, messages: Sequence[Any], head: int) -> list[Any]:
    """What goes out, leading system messages first. Only what a record decides is encoded, once."""
    view = history.view
    if history.base is None and not view.has_ours and not history.restored:
        return list(messages)
    if view.encoded is None:
        view.encoded = _encoded_prefix(history)
    prefix, rest = view.encoded
    out = list(messages[:head])
    out += prefix
    out += messages[head + rest :]
    return out


def _encoded_prefix(history: History) -> tuple[list[Any], int]:
    # From the last thing that is ours on, the view is the caller's own list again.
    items, encode = history.view.items, history.format.encode
    changed = [n for n, item in enumerate(items) if item.message.is_ours or item.message.changed]
    first_own = changed[-1] + 1 if changed else 0
    covered = max(history.covered, history.restored)
    for n in range(first_own, len(items)):
        position = items[n].position
        if position is None or position < covered:
            continue
        rest = history.caller.index_of(items[n].message)
        if rest is not None:
            return encode([item.message for item in items[:n]]), rest
    return encode([item.message for item in items]), len(history.caller.copies)


def stable_indexes(history: History, out: Sequence[Any], head: int) -> tuple[int, ...]:
    """Where a cache breakpoint pays: after the summary, and at the last message."""
    summaries = history.view.summaries
    if not out:
        return ()
    if not summaries:
        return (len(out) - 1,)
    # Not where it stands in the view: an object of the caller's may hold several messages.
    runs = grouped(item.message for item in history.view.items[: summaries[-1] + 1])
    ends = {end - 1: number for number, end in enumerate(accumulate(map(len, runs)))}
    at = (head + ends[n] for n in summaries)
    return (*(n for n in at if n < len(out) - 1), len(out) - 1)


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
