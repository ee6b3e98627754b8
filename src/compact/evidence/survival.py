"""How much of a ledger a text still holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest

from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN
from compact.evidence.words import clip
from compact.model.sections import Kept, Missing, SectionKind, Survival
from compact.model.summary import Evidence, EvidenceKind

_MOST_MISSING = 20
"""Of each kind."""
_SHOWN_CHARS = 80
"""Of something missing. The message is named beside it; a record need not hold it a second time."""
_COUNTED_VALUES = 400


class Holder:
    """Whether a text holds a unit, whatever the line breaks."""

    def __init__(self, text: str) -> None:
        words = text.split()
        self._flat = " ".join(words)
        self._words = {*words, *self._flat.replace(",", " ").split()}
        self._runs = set(zip(words, words[1:], words[2:], strict=False))

    def __call__(self, unit: Evidence) -> bool:
        value = unit.value
        if value in self._words:
            return True
        if " " not in value:
            return value in self._flat
        return self._may_hold(value) and " ".join(value.split()).rstrip("…") in self._flat

    def roughly(self, unit: Evidence) -> bool:
        """The same for thousands of units: a value counts as a word of its own only."""
        return unit.value in self._words or (" " in unit.value and self._may_hold(unit.value) and self(unit))

    def _may_hold(self, value: str) -> bool:
        """False where words that stand between blanks in any text that holds the whole are not there."""
        words = value.split(None, 4)  # the first may have a quote before it, the last a mark behind
        if len(words) == 5:
            return (words[1], words[2], words[3]) in self._runs
        return self._words.issuperset(words[1:-1])


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
    values = [unit for unit in ledger if unit.kind in VALUES and not unit.untrusted]
    values.sort(key=lambda unit: -unit.rank)
    wanted: dict[SectionKind, list[Evidence]] = {
        SectionKind.WORDS: [],
        SectionKind.CONCLUSIONS: [],
        SectionKind.VALUES: values[:_COUNTED_VALUES],
    }
    for unit in ledger:
        if unit.kind not in VALUES and (kind := kind_of(unit)) in wanted:
            wanted[kind].append(unit)
    counts, missing = [], []
    for kind, units in wanted.items():
        lost = [unit for unit in units if not holds(unit)]
        counts.append(Kept(len(units) - len(lost), len(units)))
        worst = nsmallest(_MOST_MISSING, lost, key=lambda unit: (-unit.rank, unit.message))
        missing += [Missing(kind, clip(unit.value, _SHOWN_CHARS), unit.message) for unit in worst]
    words, conclusions, named = counts
    return Survival(words, conclusions, named, tuple(missing))
