"""Estimate how much memory conversations take, so that a server holds only as many as it has room for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from compact.model.value import value

_BESIDE_TEXT = 1_100
"""Bytes of a message besides its text: the turn, the engine's copy and its decoded form. Measured."""


@value
class Room:
    """What a workspace may hold open."""

    conversations: int
    bytes: int


class Weight:
    """The approximate bytes of one conversation; each turn is measured once."""

    def __init__(self) -> None:
        self.bytes = 0
        self._turns = 0

    def take(self, turns: Sequence[Mapping[str, Any]]) -> None:
        """The conversation has these turns now."""
        if len(turns) < self._turns:
            self.bytes = self._turns = 0
        self.bytes += sum(_BESIDE_TEXT + _text_in(turn) for turn in islice(turns, self._turns, None))
        self._turns = len(turns)


def _text_in(value: Any) -> int:
    if isinstance(value, str):
        return sys.getsizeof(value)
    inside: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, list | tuple):
        inside = value
    return sum(map(_text_in, inside))
