"""Shorten tool outputs that are too large for the room: head, tail, key lines, a recall handle."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compact.core.select import Layout
from compact.core.view import Item, clear_outputs, handle
from compact.evidence.words import content_words
from compact.model.message import Message, MessageKind, Role
from compact.model.record import Cleared

_TELLING = re.compile(r"error|exception|fail|fatal|traceback|panic|denied|not found|warning", re.IGNORECASE)
_HEAD, _MIDDLE = 0.4, 0.2
"""Shares of what stays; the rest is the tail, which shows how it ended."""
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class Sizes:
    """How the planner counts what is not yet in the view."""

    of_text: Callable[[str], int]
    of_results: Callable[[Message], Sequence[int]]
    """Each tool output of a message."""
    of_message: Callable[[Message], int]
    frame: int
    """The most that tags, trigger and bridge lines around a summary take."""


def shortened(text: str, name: str, chars: int, words: frozenset[str] = frozenset()) -> str:
    """At most about `chars` characters of an output, with the handle for recalling all of it."""
    note = f"[Tool output shortened: {len(text):,} characters, recall {name} for all of it]"
    room = max(0, chars - len(note))
    first, between = int(room * _HEAD), int(room * _MIDDLE)
    last = max(first, len(text) - (room - first - between))
    head, tail = _whole_lines(text[:first]), _whole_lines(text[last:][::-1])[::-1]
    middle = text[len(head) : len(text) - len(tail)]
    parts = (
        head.rstrip(),
        note,
        "\n".join(_telling_lines(middle.split("\n"), between, words)),
        tail.strip(),
    )
    return "\n".join(part for part in parts if part)


def _whole_lines(piece: str) -> str:
    """Up to the last line break; a piece of one long line is cut at a space, or where it ends."""
    for mark in ("\n", " "):
        if (at := piece.rfind(mark)) > len(piece) // 2:
            return piece[:at]
    return piece


def _telling_lines(lines: Sequence[str], room: int, words: frozenset[str]) -> list[str]:
    """Lines that say what went wrong, then those with a word of the task, in their order."""
    chosen: dict[int, str] = {}
    for is_telling in (_TELLING.search, lambda line: not words.isdisjoint(line.lower().split())):
        for number, line in enumerate(lines):
            cut = line[:_LONGEST_LINE]
            if number not in chosen and len(cut) < room and is_telling(cut):
                chosen[number] = cut
                room -= len(cut) + 1
    return [chosen[number] for number in sorted(chosen)]


def shorten_outputs(
    items: Sequence[Item],
    at: Sequence[int],
    cap: int,
    sizes_of_results: Callable[[Message], Sequence[int]],
    size_of: Callable[[Message], int],
) -> tuple[list[Item], dict[int, Cleared]]:
    """The view with outputs at these indexes shortened to `cap` tokens if they are longer."""
    words = _task_words(items)
    made = list(items)
    cleared: dict[int, Cleared] = {}
    for index in at:
        item, message = items[index], items[index].message
        assert item.position is not None and item.cleared is None
        if item.tokens <= cap:
            continue
        large = [
            (result, size)
            for result, size in zip(message.results, sizes_of_results(message), strict=True)
            if size > cap and result.cleared_at is None
        ]
        if not large:
            continue
        names = tuple(handle(result) for result, _ in large)
        texts = tuple(
            shortened(result.text, name, int(len(result.text) * cap / size), words)
            for (result, size), name in zip(large, names, strict=True)
        )
        ids, tokens = tuple(result.call_id for result, _ in large), tuple(size for _, size in large)
        entry = Cleared(item.position, ids, tokens, names, texts)
        shorter = clear_outputs(message, entry, 0.0)
        size = size_of(shorter)
        if size < item.tokens:
            made[index] = replace(item, message=shorter, tokens=size)
            cleared[index] = entry
    return made, cleared


def cuttable(layout: Layout, among: Sequence[int], *, newest: bool = False) -> list[int]:
    """Which of these outputs may be shortened: none of a pinned group, the newest only if requested.

    Those that were cleared or shortened before stay as they are: their originals are not here.
    """
    items, pinned = layout.items, frozenset(layout.indexes(layout.pinned))
    last = next((n for n in range(len(items) - 1, -1, -1) if items[n].message.results), None)
    return [
        index
        for index in among
        if (newest or index != last)
        and items[index].is_whole
        and index not in pinned
        and items[index].message.results
    ]


def _task_words(items: Sequence[Item]) -> frozenset[str]:
    """Content words of the newest task: a line that has one may be what was looked for."""
    for item in reversed(items):
        if item.message.role is Role.USER and item.message.kind is MessageKind.ORIGINAL:
            return frozenset(content_words(item.message.text[:2_000]))
    return frozenset()
