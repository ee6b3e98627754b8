"""What each unit would still add: the worth of its features, and little of it for those already covered.

Always exact: once a feature is covered, all units that share it are worth less. As each feature is covered at
most once, a whole choice costs as much as its units have in common, however many of them are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, filterfalse, repeat
from math import fsum, sqrt

from compact.evidence.features import PAIR, SINGLE, Features, weights_of, worth_of_names
from compact.evidence.ledger import VALUES
from compact.model.summary import Evidence

_AGAIN = 0.1  # the share of its worth that a feature keeps once it is covered
_VALUE = 24  # a value's rank against the weight of words: higher keeps more identifiers, fewer phrases
_UNRANKED = 0.3
_SAYING, _NEW_WORDS = 12.0, 3  # the worth of a saying with that many new words: many short ones count most


class Coverage:
    """Units are identified by their number. A single value covers itself."""

    def __init__(
        self, units: Sequence[Evidence], features: Sequence[Features], said: Sequence[bool], before: Features
    ) -> None:
        """`said`: whether each is a saying. `before`: of a text that is already in place."""
        self._features, self._said = features, said
        self._ranks = {unit.value: unit.rank for unit in units if unit.kind in VALUES}
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
            # Pairs of sayings are counted and covered, but a saying is worth what its words are.
            for feature in filter(is_shared, one.words if said[number] else chain(one.words, one.pairs)):
                self._holders[feature].append(number)
        self._names_said = worth_of_names([one.names for one, own in zip(features, said, strict=True) if own])
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
        if not self._said[number]:
            gain += sum(map(left.get, one.pairs, repeat(PAIR)))
        for name in one.names:
            self._naming.setdefault(name, []).append(number)
            gain += 0.0 if name in self._covered else self._worth(number, name)
        if self._said[number]:
            words = filterfalse(self._covered.__contains__, one.words) if self._covered else one.words
            self._new_words[number] = new = sum(map(str.isalpha, words))
            gain += _SAYING * min(1.0, new / _NEW_WORDS)
        return gain

    def _worth(self, number: int, name: str) -> float:
        """Names have cheap lines of their own, so in sayings each counts like a word."""
        return self._names_said[name] if self._said[number] else _VALUE * self._ranks.get(name, _UNRANKED)

    def cover(self, features: Features, value: str) -> None:
        """A text with these features is in place now, or that single value."""
        gains, said, new_words = self.gains, self._said, self._new_words
        new = (value,) if features is SINGLE else (*features.words, *features.pairs, *features.names)
        for feature in new:
            if feature in self._covered:
                continue
            self._covered.add(feature)
            if held := self._holders.get(feature):
                drop = (1 - _AGAIN) * self.weights.get(feature, PAIR)
                is_word = feature.isalpha()
                for number in held:
                    gains[number] -= drop
                    if is_word and said[number]:
                        new_words[number] -= 1
                        if new_words[number] < _NEW_WORDS:
                            gains[number] -= _SAYING / _NEW_WORDS
            for number in self._naming.get(feature, ()):
                gains[number] -= self._worth(number, feature)

    def alike(self, numbers: Sequence[int], most: int) -> Iterator[tuple[int, int, float]]:
        """Pairs of these that share two words or more, in order, and how alike they are, from 0 to 1.

        A word in more than `most` of them counts for none.
        """
        among, shared = set(numbers), Counter[tuple[int, int]]()
        for word in self._shared_words:
            both = [number for number in self._holders[word] if number in among]
            if len(both) <= most:
                shared.update(combinations(both, 2))
        words = {number: set(self._features[number].words) for pair in shared for number in pair}
        # Sets are unordered, so sums must not depend on order.
        size = {number: fsum(map(self.weights.__getitem__, one)) for number, one in words.items()}
        for (one, other), count in shared.items():
            if count > 1:
                common = fsum(map(self.weights.__getitem__, words[one] & words[other]))
                yield one, other, common / sqrt(size[one] * size[other])


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
