"""Cache what was read from a text, so that a message is read once, not at every compaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_CHARS = 2_000_000  # of text whose readings are cached, at most twice that; a reading takes twice its text


def remembered(read: Callable[[str, bool], T], share: float = 1.0) -> Callable[..., T]:
    """Run `read` once per text. Bounded by characters, not by number of texts: one may have megabytes.

    `share`: the share of those characters to use, for readings that take more memory than others.
    """
    newer: dict[str | tuple[str, bool], T] = {}
    older: dict[str | tuple[str, bool], T] = {}
    size = 0

    def once(text: str, how: bool = False, /) -> T:
        nonlocal newer, older, size
        key = (text, how) if how else text
        found = newer.get(key)
        if found is None:
            found = older.get(key)
            if found is None:
                found = read(text, how)
            if size > _CHARS * share:
                newer, older, size = {}, newer, 0
            newer[key] = found
            size += len(text)
        return found

    return once
