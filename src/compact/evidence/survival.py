"""Measure how much of a ledger a text still contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter

from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN
from compact.evidence.words import clip
from compact.model.sections import Kept, Missing, SectionKind, Survival
from compact.model.summary import Evidence, EvidenceKind

_MOST_MISSING = 20
"""Per kind."""
_SHOWN_CHARS = 80
"""What is missing. The message is listed separately, so a record need not hold it a second time."""
_COUNTED_VALUES = 400
_WINDOW = 16
_AROUND = ",“”"
"""Our own marks around a unit. In a script without spaces, a sentence is one word, right between them."""


class Holder:
    """Whether a text contains a unit, ignoring line breaks."""

    def __init__(self, text: str) -> None:
        words = text.split()
        self._flat = bare = " ".join(words)
        for mark in _AROUND:
            bare = bare.replace(mark, " ")
        self._words = {*words, *bare.split()}
        self._each = " ".join(self._words)
        """Every word once: text without a space is inside one of them, or nowhere."""
        starts = list(accumulate([len(word) + 1 for word in words], initial=0))
        self._windows = {self._flat[start : start + _WINDOW]: start for start in starts}
        """The characters from the start of a word on, and their last position."""

    def among(self, units: Sequence[Evidence], *, roughly: bool = False) -> set[int]:
        """Places of the units that the text contains; of thousands, only a few are compared closely."""
        words, windows = self._words, self._windows
        found = set()
        for place, unit in enumerate(units):
            value = unit.value
            if value in words:
                found.add(place)
            elif (start := value.find(" ") + 1) == 0:
                if not roughly and value in self._each:
                    found.add(place)
            elif (
                len(value) <= start + _WINDOW or value[start : start + _WINDOW] in windows
            ) and self._holds_words(value):
                found.add(place)
        return found

    def _holds_words(self, value: str) -> bool:
        """A quote may precede the first word and a mark follow the last, so only what is between counts."""
        flat = " ".join(value.split()).rstrip("…")
        start = flat.find(" ") + 1
        if len(flat) <= start + _WINDOW:
            # Words that are surrounded by spaces in any text that contains the whole.
            may_hold = self._words.issuperset(flat.split()[1:-1])
        elif (at := self._windows.get(flat[start : start + _WINDOW])) is None:
            return False
        elif self._flat.startswith(flat, at - start):
            return True
        else:
            # Many begin alike ("The cause of …"), so a later place is compared too before the whole.
            later = flat.find(" ", len(flat) // 2) + 1
            may_hold = (
                not later or len(flat) <= later + _WINDOW or flat[later : later + _WINDOW] in self._windows
            )
        return may_hold and flat in self._flat


@lru_cache(maxsize=4)
def holder(text: str) -> Holder:
    """The text, split once: the next compaction chooses by what this one counts."""
    return Holder(text)


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
