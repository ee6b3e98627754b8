"""How much of the evidence a text still holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from compact.core.evidence.block import Coverage
from compact.model.summary import Evidence, EvidenceKind

_SPOKEN = frozenset(
    {
        EvidenceKind.RULE,
        EvidenceKind.APPROVAL,
        EvidenceKind.COMMAND,
        EvidenceKind.ERROR,
        EvidenceKind.NAME,
        EvidenceKind.DATE,
    }
)
_HIGHEST_WEIGHT = 6.0


def survival(evidence: Iterable[Evidence], text: str) -> Mapping[str, float]:
    """Share of the evidence that `text` holds, by kind; "all" is the whole, {} when there is none.

    Each item counts by its rank, which is how likely it is needed again: an id that went through three
    tool calls weighs more than one of two hundred in a listing.
    """
    holds = Holder(text)
    held: dict[str, float] = {}
    total: dict[str, float] = {}
    for item in evidence:
        weight = weight_of(item)
        there = weight if holds(item) else 0.0
        for key in (item.kind.value, "all"):
            total[key] = total.get(key, 0.0) + weight
            held[key] = held.get(key, 0.0) + there
    return {key: round(held[key] / weight, 4) for key, weight in sorted(total.items()) if weight}


def weight_of(item: Evidence) -> float:
    """What the item counts for; one rule must not outweigh everything else."""
    return min(_HIGHEST_WEIGHT, max(item.rank, 0.01))


class Holder:
    """Tells whether a text holds an item, whatever the line breaks."""

    def __init__(self, text: str) -> None:
        self._values = Coverage(text)
        self._flat = " ".join(text.split())

    def __call__(self, item: Evidence) -> bool:
        value = item.value
        if self._values.holds(value):
            return True
        if item.kind not in _SPOKEN and " " not in value:
            return False
        words = value.split()
        if value.isascii() and not all(map(self._values.holds, filter(str.isalnum, words))):
            return False  # far cheaper than to look through the text for each of many names
        return " ".join(words) in self._flat


def room_for(evidence: Sequence[Evidence], floor: float) -> int:
    """Characters that the best of the evidence needs so that `floor` of it survives."""
    wanted = floor * sum(map(weight_of, evidence))
    room = 0
    for item in evidence:
        if wanted <= 0:
            break
        wanted -= weight_of(item)
        room += len(item.value) + 4
    return room


def lacking(evidence: Iterable[Evidence], text: str, floor: float) -> list[Evidence]:
    """The best of what `text` does not hold: so much of each kind that `floor` of the kind would survive.

    A kind that weighs little in the whole can be lost to the last item while the whole is above the floor.
    """
    holds = Holder(text)
    items = [(item, weight_of(item), holds(item)) for item in evidence]
    wanted: dict[EvidenceKind, float] = {}
    for item, weight, there in items:
        wanted[item.kind] = wanted.get(item.kind, 0.0) + weight * (floor - there)
    chosen: list[Evidence] = []
    for item, weight, there in items:
        if not there and wanted[item.kind] > 1e-9:
            wanted[item.kind] -= weight
            chosen.append(item)
    return chosen
