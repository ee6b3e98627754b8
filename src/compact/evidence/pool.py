"""What a choice works on: what a span adds, and what could still be chosen of earlier spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from compact.evidence.holder import holder
from compact.evidence.ledger import WORDS
from compact.model.summary import Evidence, EvidenceKind

_OTHERS_SHARE, _AROUND = 0.5, 8  # of the room; characters of bullet, quotes and citation around a unit
_SLACK = 1.25  # for units that turn out not to fit


def pool(
    ledger: Sequence[Evidence], since: int, room: int, words_share: float, summary: str = ""
) -> list[int]:
    """Places in the ledger that a choice for `room` characters works on, in order.

    That is all units of messages from `since` on, what the user said first, what the last `summary` held, and
    the best of the other older ones while there is room: of values and the like, as much as words may leave.
    So a choice costs as much as the room and the span are large, however long the session is, and what an
    earlier choice kept is not dropped for being old.
    """
    held = holder(summary).among(ledger, roughly=True) if summary else set()
    first = next((unit.message for unit in ledger if unit.kind in WORDS), -1)
    kept: list[int] = []
    older: dict[EvidenceKind, list[int]] = {}
    used: Counter[EvidenceKind] = Counter()
    words = 0
    for place, unit in enumerate(ledger):
        kind = unit.kind if unit.kind in _APART else EvidenceKind.SYMBOL
        if kind in WORDS:
            words += len(unit.value) + _AROUND
        if unit.message >= since:
            kept.append(place)
        elif place in held or (unit.message == first and kind in WORDS):
            kept.append(place)
            used[kind] += len(unit.value) + _AROUND
        else:
            older.setdefault(kind, []).append(place)
    ranks = [unit.rank for unit in ledger]
    beside = min(_OTHERS_SHARE * room, _SLACK * room - min(words, words_share * room))
    for kind, units in older.items():
        left = int(words_share * room if kind in WORDS else beside) - used[kind]
        # Newest first among equals.
        units.reverse()
        units.sort(key=ranks.__getitem__, reverse=True)
        for place in units:
            left -= len(ledger[place].value) + _AROUND
            if left < 0:
                break
            kept.append(place)
    return sorted(kept)


_APART = {*WORDS, EvidenceKind.CONCLUDED, EvidenceKind.DONE}  # with shares of their own; values share one
