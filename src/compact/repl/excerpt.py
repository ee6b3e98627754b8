"""The part of a long message that shows why it was found."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from compact.console.terminal import one_line

_LINES = 6
_CHARACTERS = 240
"""Of a line: about three rows of a terminal."""
_NEAR = 50_000
"""Of a line, on either side of what was looked for: more is not read, since all of a file may be one line."""
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
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    scores = [sum(word in line.casefold() for word in words) for line in lines]
    best = max(range(len(lines)), key=scores.__getitem__, default=0)
    start = max(0, min(best - 1, len(lines) - _LINES))
    shown = lines[start : start + _LINES]
    return Excerpt(start, tuple(_around(line, words) for line in shown), len(lines) - start - len(shown))


def _around(line: str, words: set[str]) -> str:
    """A line without blanks around it, printable, cut to what surrounds the first of these words."""
    found = _first(line, words)
    start, end = max(0, found - _NEAR), found + _NEAR
    near = one_line(line[start:end], 2 * _NEAR)
    at = max(0, min(_first(near, words) - _CHARACTERS // 3, len(near) - _CHARACTERS))
    before, after = start > 0 or at > 0, end < len(line) or at + _CHARACTERS < len(near)
    return f"{'…' if before else ''}{near[at : at + _CHARACTERS].strip()}{'…' if after else ''}"


def _first(line: str, words: set[str]) -> int:
    """Where the first of these words is; 0 if none is."""
    low = line.casefold()
    at = min((at for word in words if (at := low.find(word)) >= 0), default=0)
    if len(low) == len(line):
        return at
    # Some characters are several in lower case.
    return bisect_right(range(len(line)), at, key=lambda end: len(line[:end].casefold())) - 1
