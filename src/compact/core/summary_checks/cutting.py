"""Cut a text that is too long at a natural end."""

from __future__ import annotations

from collections.abc import Callable

_ENDS = ("\n## ", "\n\n", "\n", ". ", "。")
"""Ends of a section, a paragraph, a line, a sentence."""
_PER_TOKEN = 24
_AT_LEAST = 20_000


def look_at_most(text: str, max_tokens: int) -> str:
    """The part of an answer that is read: nothing longer can be a summary of that many tokens."""
    return text[: max(_AT_LEAST, _PER_TOKEN * max_tokens)]


def cut_to(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The text up to the last section end that fits `limit` tokens; else paragraph, line or sentence end.

    Empty if not even one sentence fits.
    """
    if count(text) <= limit:
        return text
    for end in _ENDS:
        ends = [at for at in _places(text, end) if at > 0]
        low, high = 0, len(ends)
        while low < high:  # Sizes grow with the text, so bisection finds the place.
            middle = (low + high) // 2
            if count(_up_to(text, ends[middle], end)) <= limit:
                low = middle + 1
            else:
                high = middle
        if low:
            return _up_to(text, ends[low - 1], end)
    return ""


def _places(text: str, end: str) -> list[int]:
    found, at = [], text.find(end)
    while at >= 0:
        found.append(at)
        at = text.find(end, at + 1)
    return found


def _up_to(text: str, at: int, end: str) -> str:
    return text[: at + (end[0] in ".。")].rstrip()
