"""How much of a ledger a text still holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN
from compact.model.sections import Kept, Missing, SectionKind, Survival
from compact.model.summary import Evidence, EvidenceKind

_MOST_MISSING = 20
"""Of each kind."""
_COUNTED_VALUES = 400


class Holder:
    """Whether a text holds a unit, whatever the line breaks."""

    def __init__(self, text: str) -> None:
        self._flat = " ".join(text.split())
        self._words = set(self._flat.replace(",", " ").split())

    def __call__(self, unit: Evidence) -> bool:
        value = unit.value
        if value in self._words:
            return True
        if " " not in value:
            return value in self._flat
        return " ".join(value.split()).rstrip("…") in self._flat


def survival(kept: Survival) -> Mapping[str, float]:
    """The counts as shares, by kind; "all" is the whole, {} when there was nothing to keep."""
    counts = {"words": kept.words, "conclusions": kept.conclusions, "values": kept.values}
    total = sum(count.total for count in counts.values())
    if not total:
        return {}
    shares = {name: round(count.kept / count.total, 4) for name, count in counts.items() if count.total}
    return {"all": round(sum(count.kept for count in counts.values()) / total, 4), **shares}


def kind_of(unit: Evidence) -> SectionKind:
    if unit.kind in WORDS:
        return SectionKind.WORDS if unit.context != SHOWN else SectionKind.OTHER
    if unit.kind is EvidenceKind.CONCLUDED:
        return SectionKind.CONCLUSIONS
    return SectionKind.DONE if unit.kind is EvidenceKind.DONE else SectionKind.VALUES


def counted(ledger: Sequence[Evidence], text: str) -> Survival:
    """How many words, conclusions and values `text` holds, and the best of what it lacks.

    Values count up to the best few hundred: nobody misses the thousandth name of a listing.
    """
    holds = Holder(text)
    counts = {kind: [0, 0] for kind in (SectionKind.WORDS, SectionKind.CONCLUSIONS, SectionKind.VALUES)}
    lost: list[tuple[SectionKind, Evidence]] = []
    values = [unit for unit in ledger if unit.kind in VALUES and not unit.untrusted]
    values.sort(key=lambda unit: -unit.rank)
    spoken = [unit for unit in ledger if unit.kind not in VALUES]
    for unit in (*spoken, *values[:_COUNTED_VALUES]):
        kind = kind_of(unit)
        count = counts.get(kind)
        if count is None:
            continue
        count[1] += 1
        if holds(unit):
            count[0] += 1
        else:
            lost.append((kind, unit))
    order = list(counts)
    lost.sort(key=lambda entry: (order.index(entry[0]), -entry[1].rank, entry[1].message))
    listed = [entry for kind in order for entry in [one for one in lost if one[0] is kind][:_MOST_MISSING]]
    missing = tuple(Missing(kind, unit.value, unit.message) for kind, unit in listed)
    words, conclusions, named = (Kept(*counts[kind]) for kind in order)
    return Survival(words, conclusions, named, missing)
