"""What a choice works on: all that a span adds, and of what earlier spans left, what could still be chosen."""

from __future__ import annotations

from collections.abc import Sequence

from compact.evidence.ledger import WORDS
from compact.model.summary import Evidence, EvidenceKind

_DEEP = 4
"""Earlier units of a kind are looked at up to so many times what its share of the room holds. Measured on
sessions of ten compactions and more: with 4 as much survives as with all of them."""
_AROUND = 8
"""Characters of bullet, quotes and citation around a unit."""


def pool(ledger: Sequence[Evidence], since: int, room: int, words_share: float) -> list[int]:
    """Places in the ledger of what a choice for `room` characters works on, in order.

    All units of messages from `since` on, what the user said first, and the best of the older ones. A choice
    then costs what the room and the span are worth, however long the session is.
    """
    first = next((unit.message for unit in ledger if unit.kind in WORDS), -1)
    limits = {True: int(_DEEP * words_share * room), False: room}
    kept: list[int] = []
    older: dict[EvidenceKind, list[tuple[float, int]]] = {}
    newest = max((unit.message for unit in ledger), default=0) or 1
    for place, unit in enumerate(ledger):
        if unit.message >= since or (unit.message == first and unit.kind in WORDS):
            kept.append(place)
        else:
            kind = unit.kind if unit.kind in _APART else EvidenceKind.SYMBOL
            weight = unit.rank * (0.75 + 0.5 * unit.message / newest)
            older.setdefault(kind, []).append((-weight, -place))
    for kind, units in older.items():
        left = limits[kind in WORDS]
        for _, place in sorted(units):
            left -= len(ledger[-place].value) + _AROUND
            if left < 0:
                break
            kept.append(-place)
    return sorted(kept)


_APART = {*WORDS, EvidenceKind.CONCLUDED, EvidenceKind.DONE}
"""Kinds with a room of their own; values share one."""
