"""Where the secrets of a text are, remembered: the same text leaves through archive, events and summaries."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from compact.redaction.engine import Span

_MOST_SPANS = 64
_Found = tuple[Span, ...] | None
_UNKNOWN: _Found = ((-1, -1),)


class SpanMemo:
    """Searches each text once. It keeps digests and positions, never a text.

    `most` entries are kept at least, and twice as many at most: the older half goes at once. A text with many
    secrets is searched each time: an entry takes no more room than `_MOST_SPANS`.
    """

    def __init__(self, search: Callable[[bytes], list[Span] | None], most: int = 4_096) -> None:
        self._search = search
        self._most = most
        self._new: dict[bytes, _Found] = {}
        self._old: dict[bytes, _Found] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def spans(self, data: bytes) -> list[Span]:
        return list(self.found(data) or ())

    def found(self, data: bytes) -> _Found:
        """The spans, or None if nothing occurs that a rule needs (see `Scanner.search`)."""
        key = blake2b(data, digest_size=16).digest()
        found = self._new.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._old.get(key, _UNKNOWN)
            if found is _UNKNOWN:
                fresh = self._search(data)
                found = None if fresh is None else tuple(fresh)
                if found and len(found) > _MOST_SPANS:
                    return found
            if len(self._new) >= self._most:
                self._old, self._new = self._new, {}
            self._new[key] = found
        return found
