"""Measure how much of a ledger a text still contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from compact.evidence.holder import holder
from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN
from compact.evidence.words import clip
from compact.model.sections import Kept, Missing, SectionKind, Survival
from compact.model.summary import Evidence, EvidenceKind

_MOST_MISSING = 20  # per kind
_SHOWN_CHARS = 80  # the message is listed separately, so a record need not hold it a second time
_COUNTED_VALUES = 400


def survival(kept: Survival) -> Mapping[str, float]:
    """The counts as shares, by kind; "all" is the total, {} if there was nothing to keep."""
    counts = {"words": kept.words, "conclusions": kept.conclusions, "values": kept.values}
    total = sum(count.total for count in counts.values())
    if not total:
        return {}
    shares = {name: round(count.kept / count.total, 4) for name, count in counts.items() if count.total}
    return {"all": round(sum(count.kept for count in counts.values()) / total, 4), **shares}


def counted(ledger: Sequence[Evidence], text: str) -> Survival:
    """How many words, conclusions and values `text` contains, and the best of what it lacks.

    Only the best few hundred values count: nobody misses the thousandth name of a listing.
    """
    holds = holder(text)
    words: list[Evidence] = []
    conclusions: list[Evidence] = []
    values: list[Evidence] = []
    for unit in ledger:
        if unit.kind in VALUES:
            if not unit.untrusted:
                values.append(unit)
        elif unit.kind is EvidenceKind.CONCLUDED:
            conclusions.append(unit)
        elif unit.kind in WORDS and unit.context != SHOWN:
            words.append(unit)
    values.sort(key=attrgetter("rank"), reverse=True)
    wanted = {
        SectionKind.WORDS: words,
        SectionKind.CONCLUSIONS: conclusions,
        SectionKind.VALUES: values[:_COUNTED_VALUES],
    }
    counts, missing = [], []
    for kind, units in wanted.items():
        held = holds.among(units)
        lost = [unit for place, unit in enumerate(units) if place not in held]
        counts.append(Kept(len(units) - len(lost), len(units)))
        lost.sort(key=attrgetter("message"))
        lost.sort(key=attrgetter("rank"), reverse=True)
        best = lost[:_MOST_MISSING]
        missing += [Missing(kind, clip(unit.value, _SHOWN_CHARS), unit.message) for unit in best]
    said, stated, named = counts
    return Survival(said, stated, named, tuple(missing))
