"""The part of a long message that shows why it was found."""

from __future__ import annotations

import re
from dataclasses import dataclass

from compact.console.terminal import one_line

_LINES = 6
_CHARACTERS = 240
"""Of a line: about three rows of a terminal."""
_LONGEST = 100_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Excerpt:
    before: int
    """How many lines come before those shown."""
    lines: tuple[str, ...]
    after: int


def excerpt(text: str, query: str) -> Excerpt:
    """A few lines around the one that has most words of the query; the first ones if none has any."""
    # A single letter, such as that of a handle, is in nearly every line.
    words = {word for word in _WORD.findall(query.casefold()) if len(word) > 1}
    lines = [one_line(line, _LONGEST) for line in text.splitlines() if line.strip()]
    scores = [sum(word in line.casefold() for word in words) for line in lines]
    best = max(range(len(lines)), key=scores.__getitem__, default=0)
    start = max(0, min(best - 1, len(lines) - _LINES))
    shown = lines[start : start + _LINES]
    return Excerpt(start, tuple(_around(line, words) for line in shown), len(lines) - start - len(shown))


def _around(line: str, words: set[str]) -> str:
    """A long line, cut to what surrounds the first of these words."""
    if len(line) <= _CHARACTERS:
        return line
    low = line.casefold()
    first = min((at for word in words if (at := low.find(word)) >= 0), default=0)
    start = max(0, min(first - _CHARACTERS // 3, len(line) - _CHARACTERS))
    cut = line[start : start + _CHARACTERS].strip()
    return f"{'…' if start else ''}{cut}{'…' if start + _CHARACTERS < len(line) else ''}"
