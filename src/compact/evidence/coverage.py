"""What each unit would still add: the worth of its features, and little of it for those already covered.

Exact at any time, and cheap: a feature is covered once, and then lowers all units that share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, filterfalse, repeat
from math import fsum, log, sqrt

from compact.evidence.features import PAIR, SINGLE, Features, weights_of
from compact.evidence.ledger import VALUES, WORDS
from compact.model.summary import Evidence

_AGAIN = 0.1  # the share of its worth that a word or pair keeps once it is covered
_VALUE = 24  # a value's rank against the weight of words: higher keeps more identifiers, fewer phrases
_UNRANKED = 0.3 * _VALUE
_SAYING, _NEW_WORDS = 12.0, 3  # the worth of a saying with that many new words: many short ones count most
Units = Sequence[Evidence]


class Coverage:
    """Units are identified by their number. A single value covers itself."""

    def __init__(self, units: Units, features: Sequence[Features], before: Features, ledger: Units) -> None:
        """`before`: what is in place. `ledger`: has the ranks of all values that units name."""
        self._features, self.said = features, [unit.kind in WORDS for unit in units]
        self._worth = {unit.value: _VALUE * unit.rank for unit in ledger if unit.kind in VALUES}
        spoken = [number for number, one in enumerate(features) if one.words]
        by_message: dict[int, list[Features]] = {}
        for number in spoken:
            by_message.setdefault(units[number].message, []).append(features[number])
        words, self._shared_words = _counts([one.words for one in texts] for texts in by_message.values())
        pairs, shared_pairs = _counts([one.pairs for one in texts] for texts in by_message.values())
        self.weights = weights_of([features[number] for number in spoken], words, pairs, len(by_message))
        self._holders: dict[str, list[int]] = {one: [] for one in chain(self._shared_words, shared_pairs)}
        is_shared = self._holders.__contains__
        for number in spoken:
            one = features[number]
            # A saying covers its pairs and names, but is worth what its words are.
            for feature in filter(is_shared, one.words if self.said[number] else chain(one.words, one.pairs)):
                self._holders[feature].append(number)
        self._naming: dict[str, list[int]] = {}
        self._new_words = [0] * len(units)
        self._covered = {*before.words, *before.pairs, *before.names}
        left = self.weights | {one: _AGAIN * self.weights.get(one, PAIR) for one in self._covered}
        self.gains: list[float] = []
        """What each would add now."""
        for number, (unit, one) in enumerate(zip(units, features, strict=True)):
            if one is SINGLE:
                self._naming.setdefault(unit.value, []).append(number)
                self.gains.append(0.0 if unit.value in self._covered else _VALUE * unit.rank)
            else:
                self.gains.append(self._gain(number, one, left))

    def _gain(self, number: int, one: Features, left: Mapping[str, float]) -> float:
        gain = sum(map(left.__getitem__, one.words))
        if not self.said[number]:
            gain += sum(map(left.get, one.pairs, repeat(PAIR)))
            for name in one.names:
                self._naming.setdefault(name, []).append(number)
                gain += 0.0 if name in self._covered else self._worth.get(name, _UNRANKED)
        else:
            words = filterfalse(self._covered.__contains__, one.words) if self._covered else one.words
            self._new_words[number] = new = sum(map(str.isidentifier, words))
            gain += _SAYING * min(1.0, new / _NEW_WORDS)
        return gain

    def cover(self, features: Features, value: str) -> None:
        """A text with these features is in place now, or that single value."""
        gains, said, new_words = self.gains, self.said, self._new_words
        new = (value,) if features is SINGLE else (*features.words, *features.pairs, *features.names)
        for feature in new:
            if feature in self._covered:
                continue
            self._covered.add(feature)
            if held := self._holders.get(feature):
                drop = (1 - _AGAIN) * self.weights.get(feature, PAIR)
                is_word = feature.isidentifier()  # letters with their signs; no number, no pair
                for number in held:
                    gains[number] -= drop
                    if is_word and said[number]:
                        new_words[number] -= 1
                        if new_words[number] < _NEW_WORDS:
                            gains[number] -= _SAYING / _NEW_WORDS
            for number in self._naming.get(feature, ()):
                gains[number] -= self._worth.get(feature, _UNRANKED)

    def alike(self, numbers: Sequence[int], few: int, most: int) -> Iterator[tuple[int, int, float, bool]]:
        """Pairs of these, in order; how alike they are, from 0 to 1; whether they share two rare words.

        `few` have a rare word. What a pair shares tells as much as two rare words: the more have a word, the
        less it tells. One that more than `most` have tells nothing.
        """
        among, told, rare = set(numbers), dict[tuple[int, int], float](), Counter[tuple[int, int]]()
        tells = [log(1 + (len(numbers) + 1) / max(1, count)) ** 2 for count in range(max(few, most) + 1)]
        for word in self._shared_words:
            both = [number for number in self._holders[word] if number in among]
            for pair in combinations(both, 2) if len(both) <= most else ():
                told[pair] = told.get(pair, 0.0) + tells[len(both)]
                rare[pair] += len(both) <= few
        pairs = [pair for pair, much in told.items() if much >= 2 * tells[few]]
        words = {number: set(self._features[number].words) for pair in pairs for number in pair}
        # Sets are unordered, so sums must not depend on order.
        size = {number: fsum(map(self.weights.__getitem__, one)) for number, one in words.items()}
        for one, other in pairs:
            common = fsum(map(self.weights.__getitem__, words[one] & words[other]))
            yield one, other, common / sqrt(size[one] * size[other]), rare[one, other] > 1


def _counts(messages: Iterable[list[tuple[str, ...]]]) -> tuple[Counter[str], list[str]]:
    """In how many messages each word or pair is, and those that come up more than once."""
    again: set[str] = set()
    each: list[Iterable[str]] = []
    for texts in messages:
        seen = set(texts[0]) if len(texts) > 1 else set[str]()
        for one in texts[1:]:
            again.update(seen.intersection(one))
            seen.update(one)
        each.append(seen or texts[0])
    counts = Counter(chain.from_iterable(each))
    return counts, [word for word, count in counts.items() if count > 1 or word in again]
