"""Which units a text contains, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from compact.model.summary import Evidence

_WINDOW, _MOST_KNOWN = 16, 10_000
_AROUND = re.compile("[,“”]")  # our marks: in a script without spaces, a sentence is one word between them


class Holder:
    """Whether a text contains a unit, ignoring line breaks. Units have none."""

    def __init__(self, text: str) -> None:
        words = text.split()
        self._flat = " ".join(words)
        self._words = set(words)
        for word in list(filter(_AROUND.search, self._words)):
            listed = word.removesuffix(",")
            self._words.update((listed, listed.removeprefix("“").removesuffix("”"), *_AROUND.split(word)))
        self._each = " ".join(self._words)  # every word once: text without a space is in one, or nowhere
        starts = list(accumulate([len(word) + 1 for word in words], initial=0))
        # The characters from the start of a word on, and their last position.
        self._windows = {self._flat[start : start + _WINDOW]: start for start in starts}
        self._known: dict[str, bool] = {}

    def among(self, units: Sequence[Evidence], *, roughly: bool = False) -> set[int]:
        """Places of the units that the text contains; of thousands, only a few are compared closely."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()  # Many sessions may ask about one text.
        known, words, found = self._known, self._words, set[int]()
        for place, unit in enumerate(units):
            value = unit.value
            if value in words:
                holds = True
            elif " " not in value:
                holds = not roughly and value in self._each
            else:
                holds = known[value] if value in known else known.setdefault(value, self._holds(value))
            if holds:
                found.add(place)
        return found

    def _holds(self, value: str) -> bool:
        # A quote may precede the first word and a mark follow the last, so what is between decides.
        start = value.find(" ") + 1
        if len(value) <= start + _WINDOW:
            return self._words.issuperset(value.split()[1:-1]) and value.rstrip("…") in self._flat
        at = self._windows.get(value[start : start + _WINDOW])
        return at is not None and self._holds_at(at - start, value.rstrip("…"))

    def _holds_at(self, at: int, value: str) -> bool:
        if self._flat.startswith(value, at):
            return True
        # Many begin alike ("The cause of …"), so a later place is compared too before the whole.
        later = value.find(" ", len(value) // 2) + 1
        window = value[later : later + _WINDOW]
        return (len(window) < _WINDOW or window in self._windows) and value in self._flat


@lru_cache(maxsize=4)
def holder(text: str) -> Holder:
    """The text, split once: the next compaction chooses by what this one counts."""
    return Holder(text)
