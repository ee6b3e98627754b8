"""Prompts that were sent unchanged: one that adds only a little to such a prompt need not be read first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice

from compact.core.measure import FILE_BY_REFERENCE

_MOST_BYTES = 64_000_000
_MOST_COMPARED = 16
"""For one caller. If a caller has more conversations, each request is read before it is forwarded."""


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """A prompt to which no record applied."""

    caller: bytes
    session: str
    raw: bytes
    tokens: int
    room: int
    """Tokens that may be added before anything is due."""


class KnownPrompts:
    """The newest prompt of each session, as far as memory goes."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, KnownPrompt] = OrderedDict()

    def keep(self, known: KnownPrompt) -> None:
        self.forget(known.session)
        self._kept[known.session] = known
        self._bytes += len(known.raw)
        while self._bytes > self._most_bytes:
            self.forget(next(iter(self._kept)))

    def forget(self, session: str) -> None:
        known = self._kept.pop(session, None)
        if known is not None:
            self._bytes -= len(known.raw)

    def grown_to(self, caller: bytes, raw: bytes) -> KnownPrompt | None:
        """The prompt that this one adds to, if what it adds leaves it far from any compaction."""
        own = (known for known in reversed(self._kept.values()) if known.caller == caller)
        for known in islice(own, _MOST_COMPARED):
            added = added_to(known.raw, raw)
            if added is not None and most_tokens(added) < known.room:
                return known
        return None


def added_to(before: bytes, now: bytes) -> bytes | None:
    """What `now` adds, if it is `before` with whole items or fields inserted at one place."""
    shared = _shared_prefix(before, now)
    if len(now) < len(before) or not now.endswith(memoryview(before)[shared:]):
        return None
    added = now[shared : shared + len(now) - len(before)]
    return added if added.lstrip()[:1] in (b"", b",") else None


def most_tokens(added: bytes) -> int:
    """More than this JSON can be: a token has at least a byte, and only typed parts refer to a file."""
    return len(added) + added.count(b'"type"') * FILE_BY_REFERENCE


def _shared_prefix(one: bytes, other: bytes) -> int:
    view = memoryview(other)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(view[low:middle], low) else (low, middle - 1)
    return low
