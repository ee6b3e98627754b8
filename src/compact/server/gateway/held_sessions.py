"""Limit how much of the conversations is held in memory: the least recently used are read again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from compact.manager import CompactManager
from compact.server.weighing import Weight


class HeldSessions:
    """Managers hold each session that they have read. The store has them all, so any can be dropped."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._held: OrderedDict[tuple[str, CompactManager], Weight] = OrderedDict()

    def hold(self, session: str, manager: CompactManager, messages: Sequence[Any]) -> None:
        """This manager is about to read these messages of the session."""
        weight = self._held.setdefault((session, manager), Weight())
        self._held.move_to_end((session, manager))
        self._bytes -= weight.bytes
        weight.take(messages)
        self._bytes += weight.bytes
        while self._bytes > self._most_bytes and len(self._held) > 1:
            (oldest, its_manager), lost = self._held.popitem(last=False)
            self._bytes -= lost.bytes
            its_manager.reload(oldest)
