"""The linear-time engine, RE2, over bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

Span = tuple[int, int]
Search = Callable[[bytes, int], Span]
"""(text, start) -> the first match; (-1, -1) if there is none."""

_MEMORY = 64 << 20  # With re2's default, a large alternation falls back to a slow engine.


def matcher(pattern: str) -> Callable[[Any, bytes, int, int], Sequence[Span]]:
    """The pattern's first match between two positions, as a list with its span; (-1, -1) if there is none.

    Hostile texts produce tens of thousands of matches, and re2's own match objects cost three times as much
    as the search. This is the call that they are built on.
    """
    match: Callable[[Any, bytes, int, int], Sequence[Span]] = compile_bytes(pattern)._regexp.Match
    return match


def searching(pattern: str) -> Search:
    match, anchor = matcher(pattern), unanchored()

    def search(data: bytes, position: int) -> Span:
        span: Span = match(anchor, data, position, len(data))[0]
        return span

    return search


@functools.cache
def unanchored() -> Any:
    return re2_module()._Anchor.UNANCHORED


def compile_bytes(pattern: str) -> Any:
    """A pattern over bytes, written as Latin-1."""
    return compile_pattern(pattern.encode("latin-1"), latin=True)


def compile_pattern(pattern: bytes, *, latin: bool) -> Any:
    return re2_module().compile(pattern, options(latin))


def re2_module() -> Any:
    import re2  # Slow to load, so only when a redactor is created.

    return re2


def options(latin: bool) -> Any:
    re2 = re2_module()
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    if latin:
        # Byte by byte, so that lone surrogates and broken UTF-8 cannot hide a secret from a negated class.
        options.encoding = re2.Options.Encoding.LATIN1
    return options
