"""The session's compactions, as far as the engine of one door knows them."""

from __future__ import annotations

from compact.ports import Thread

_UNKNOWN = (-1, None)


class KnownCompactions:
    """How many there are and when the newest was made: that differs after every compaction and every undo.

    News that this door did not make are another door's, even if they came right after its own.
    """

    def __init__(self) -> None:
        self._known: tuple[int, float | None] = (0, None)

    def misses(self, thread: Thread) -> bool:
        """Whether there are others, so that the engine has to read the session again."""
        return _state(thread) != self._known

    def learn(self, thread: Thread) -> None:
        self._known = _state(thread)

    def made(self, thread: Thread) -> None:
        """This door compacted or cleared."""
        more, is_newer = self._change(thread)
        self._known = _state(thread) if more == 1 and is_newer else _UNKNOWN

    def undid(self, thread: Thread) -> None:
        """This door undid one, and those that were built on it."""
        more, is_newer = self._change(thread)
        self._known = _state(thread) if more < 0 and not is_newer else _UNKNOWN

    def _change(self, thread: Thread) -> tuple[int, bool]:
        (known, known_at), (count, at) = self._known, _state(thread)
        return count - known, at is not None and (known_at is None or at > known_at)


def _state(thread: Thread) -> tuple[int, float | None]:
    return thread.compaction_count, thread.last_compaction_at
