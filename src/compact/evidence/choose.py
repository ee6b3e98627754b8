"""One choice under a budget: greedy by gain over cost, with diminishing returns and guaranteed shares.

What is covered are features: content words and pairs of them, and values. A feature that is covered already
adds little, so a sentence that repeats another is worth little, and a value that a sentence names needs no
line of its own (monotone submodular coverage after Lin and Bilmes 2011, where greedy is near the best).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from math import fsum, log

from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN
from compact.evidence.survival import Holder
from compact.evidence.values import values_in
from compact.evidence.words import content_words
from compact.model.summary import Evidence, EvidenceKind
from compact.model.value import value

_AGAIN = 0.1
"""What a feature is worth that is covered already, of what it was worth before."""
_PAIR = 0.8
_REPEATED_PAIR = 4.0
"""Two words said together in several messages are the matter at hand."""
_VALUE = 24
"""A value's rank against the weight of words, set by hand on the benchmark's conversations. Higher keeps more
identifiers and fewer phrases; how much of each was not measured apart."""
_SAME_MATTER = 0.4
"""Share of the shorter one's weight that two sayings must have in common to be about one matter."""
_FEW_SAYINGS = 4
"""A word that more sayings have is talk of the day and links none of them."""
_FOCUS = 4.0
_SAYING = 12.0
"""What a saying is worth apart from its words, if it says something new: many short ones count most."""
_NAME = 2.0
_HANDED_ON = 0.42
"""Of the room that the user's words leave over, what goes to conclusions before all kinds compete for it."""
_FRAGMENT, _ONE_MORE = 24, 2
"""Characters that every sentence costs on top, or shreds would look cheap, and every value of a list."""
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Shares:
    """How the room is shared out. What a kind leaves over is the others'."""

    words: float = 0.60
    """Guaranteed to what the user said."""
    all_words: float = 0.70
    """The same where all of it fits into that much."""
    conclusions: float = 0.15
    done: float = 0.05
    values: float = 0.20
    tool_values: float = 0.25
    """The most that values may take which only tools said."""
    rest_chars: int = 1_000_000
    """The most that all but the user's words may take: a brief stays brief, however much room there is."""


class Group(Enum):
    """What shares a part of the room."""

    OWN = "what the user said"
    SHOWN = "what the user quoted or pasted"
    CONCLUDED = "what the assistant stated"
    DONE = "what was done"
    VALUE = "values that somebody used"
    TOOL = "what only tools said"

    __hash__ = object.__hash__  # the enum's own is a call of Python, and a choice counts by group


@value
class Features:
    """What a text covers, read once and kept: most units of a ledger go from one choice to the next."""

    words: tuple[str, ...] = ()
    """Content words and pairs of neighbors, in small letters."""
    names: tuple[str, ...] = ()
    capitals: tuple[str, ...] = ()
    """Words that are written with a capital."""
    single: frozenset[str] = frozenset()
    """Words alone, without pairs."""
    letters: frozenset[str] = frozenset()
    """Those made of letters only."""
    numbered: tuple[tuple[str, str], ...] = ()
    """Numbers with the word before them."""
    on_top: int = _FRAGMENT


@dataclass(slots=True, eq=False)
class Candidate:
    unit: Evidence
    order: int
    cost: int
    features: Features
    group: Group
    weight: float = 1.0
    later: Candidate | None = None
    """What the user said later on the same matter: this one may stay only where that one does."""
    most: float = 0.0
    """What it was worth when last looked at; less now, if anything."""
    fresh: frozenset[str] = frozenset()
    """Words of a saying that were not covered then."""


@lru_cache(maxsize=20_000)
def _features(text: str) -> Features:
    written = content_words(text)
    words = [word.lower() for word in written]
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    single = frozenset(words)
    return Features(
        words=tuple(dict.fromkeys([*words, *pairs])),
        names=tuple(values_in(text)),
        capitals=tuple(low for low, word in zip(words, written, strict=True) if low != word),
        single=single,
        letters=frozenset(filter(str.isalpha, single)),
        numbered=tuple((before, word) for before, word in pairwise(words) if word[0].isdigit()),
    )


VALUE_ALONE = Features(on_top=_ONE_MORE)
"""Of a unit that is one value: it covers itself."""


def _group_of(unit: Evidence) -> Group:
    if unit.kind in WORDS:
        return Group.SHOWN if unit.context == SHOWN else Group.OWN
    return Group.TOOL if unit.untrusted else _GROUPS.get(unit.kind, Group.VALUE)


_GROUPS = {EvidenceKind.CONCLUDED: Group.CONCLUDED, EvidenceKind.DONE: Group.DONE}


class Choice:
    """Candidates of a ledger, and which of them were taken so far."""

    def __init__(
        self,
        ledger: Sequence[Evidence],
        focus: str = "",
        before: str = "",
        among: Iterable[int] | None = None,
    ) -> None:
        """`before` is text that stands already: what it covers is covered. `among`: places in the ledger."""
        places = range(len(ledger)) if among is None else among
        self.candidates = [_candidate(place, ledger[place]) for place in places]
        self._ranks = {unit.value: unit.rank for unit in ledger if unit.kind in VALUES}
        self._weights = _weights(self.candidates)
        self._series = _series(self.candidates)
        self._left = self._weights.copy()
        """What covering a feature adds now."""
        self._covered: set[str] = set()
        if before:
            self._cover(before, _features(before))
        self.picked: list[Candidate] = []
        self._taken: set[int] = set()
        self._used = 0
        self._spent: Counter[Group] = Counter()
        self._of: dict[Group, list[Candidate]] = {group: [] for group in Group}
        for one in self.candidates:
            self._of[one.group].append(one)
        self._standing(frozenset(map(str.lower, content_words(focus))))
        for one in self.candidates:
            one.most = self._most_worth(one)
        if before:
            flat = " ".join(before.split())
            self._taken.update(
                id(one) for one in self.candidates if one.features.words and one.unit.value in flat
            )
        self._answered()
        _link(self.candidates, self._weights)

    def _answered(self) -> None:
        """A question stands with its answer: it needs no line of its own."""
        asked = Holder("\n".join(one.unit.context for one in self._of[Group.OWN] if one.unit.context))
        stated = self._of[Group.CONCLUDED]
        self._taken.update(id(stated[place]) for place in asked.among([one.unit for one in stated]))

    def take(self, room: int, shares: Shares) -> list[Candidate]:
        """The choice for `room` characters, in the order in which it was made: the last may go first.

        Asked again for a larger room, it goes on from where it stopped.
        """
        own = self._of[Group.OWN]
        first = min((one.unit.message for one in (*own, *self._of[Group.SHOWN])), default=-1)
        opening = [one for one in (*own, *self._of[Group.SHOWN]) if one.unit.message == first]
        self._fill(opening, room, dict.fromkeys((Group.OWN, Group.SHOWN), room // 4), in_order=True)
        words = room if shares.rest_chars < room else int(room * self._share_of_words(room, shares))
        self._fill(own, room, {Group.OWN: words})
        room = min(room, self._spent[Group.OWN] + self._spent[Group.SHOWN] + shares.rest_chars)
        spared = max(0.0, shares.words - self._spent[Group.OWN] / max(1, room))
        for group, share in (
            (Group.CONCLUDED, shares.conclusions + _HANDED_ON * spared),
            (Group.DONE, shares.done),
            (Group.VALUE, shares.values),
        ):
            self._fill(self._of[group], room, {group: int(room * share)})
        most = {Group.TOOL: int(room * shares.tool_values), Group.SHOWN: room // 10}
        self._fill(self.candidates, room, most)
        return self.picked

    def _share_of_words(self, room: int, shares: Shares) -> float:
        """More where that is enough for all that the user said: only what does not fit is ranked."""
        needed = sum(one.cost for one in self._of[Group.OWN])
        return shares.all_words if needed <= room * shares.all_words else shares.words

    def _standing(self, focus: frozenset[str]) -> None:
        """Weights by position, newest before older, and by what the user asked to keep in view."""
        spoken = [one for one in self.candidates if one.unit.kind not in VALUES]
        newest = max((one.unit.message for one in spoken), default=0)
        for one in spoken:
            age = one.unit.message / newest if newest else 1.0
            # What the user said first or last goes before the middle; of the rest the newest counts.
            one.weight = one.unit.rank * (
                1 + 0.2 * abs(2 * age - 1) if one.group is Group.OWN else 0.75 + 0.5 * age
            )
        if focus:
            about = {one.unit.message for one in spoken if not focus.isdisjoint(one.features.words)}
            for one in self.candidates:
                if one.unit.message in about:
                    one.weight *= _FOCUS

    def _most_worth(self, one: Candidate) -> float:
        """What a unit would be worth with nothing covered: no less than it ever is."""
        features = one.features
        if features is VALUE_ALONE:
            return _VALUE * self._ranks[one.unit.value] * one.weight
        gain = sum(map(self._weights.__getitem__, features.words)) + self._naming(one, features.names)
        return (gain + _SAYING if one.unit.kind in WORDS else gain) * one.weight

    def _worth(self, one: Candidate) -> float:
        features, covered = one.features, self._covered
        if features is VALUE_ALONE:
            return 0.0 if one.unit.value in covered else one.most
        gain = sum(map(self._left.__getitem__, features.words))
        gain += self._naming(one, [name for name in features.names if name not in covered])
        if one.unit.kind in WORDS:
            one.fresh -= covered
            gain += _SAYING * min(1.0, len(one.fresh) / 3)
        worth = one.most = gain * one.weight
        return worth

    def _naming(self, one: Candidate, names: Sequence[str]) -> float:
        """Names have cheap lines of their own: among sayings each counts like a word."""
        if not names:
            return 0.0
        if one.unit.kind in WORDS:
            return sum(map(self._series.__getitem__, names))
        ranks = self._ranks
        return _VALUE * sum(ranks.get(name, 0.3) for name in names)

    def _cover(self, text: str, features: Features) -> None:
        left = self._left
        covered = (text,) if features is VALUE_ALONE else (*features.words, *features.names)
        for feature in covered:
            if feature in left:
                left[feature] *= _AGAIN
        self._covered.update(covered)

    def _fill(
        self,
        units: Iterable[Candidate],
        room: int,
        most: Mapping[Group, int],
        *,
        in_order: bool = False,
    ) -> None:
        """Take the best of the units while there is room; `most` says what groups may take in all.

        A unit's worth only ever falls, so what it was worth when last looked at is a bound, and only what
        comes to the top of the heap and would fit is looked at again.
        """
        left_for = {
            group: min(room - self._used, most.get(group, room) - self._spent[group]) for group in Group
        }
        heap = [
            (0.0 if in_order else -one.most / (one.cost + one.features.on_top), one.order, one)
            for one in units
            if one.cost <= left_for[one.group] and id(one) not in self._taken
        ]
        heapify(heap)
        while heap:
            ratio, order, one = heappop(heap)
            left = min(room - self._used, most.get(one.group, room) - self._spent[one.group])
            if id(one) in self._taken or one.cost > left:
                continue
            now = 0.0 if in_order else -self._worth(one) / (one.cost + one.features.on_top)
            if now > ratio + 1e-9 and heap and now > heap[0][0]:
                heappush(heap, (now, order, one))
            elif now < -1e-9 or one.unit.kind in WORDS:  # words are kept though they say nothing new
                self._pick(one, room, most)

    def _pick(self, one: Candidate, room: int, most: Mapping[Group, int]) -> bool:
        later = one.later
        if later is not None and id(later) not in self._taken and not self._pick(later, room, most):
            return False
        spent = self._spent[one.group] + one.cost
        if self._used + one.cost > room or spent > most.get(one.group, room):
            return False
        self._taken.add(id(one))
        self.picked.append(one)
        self._used += one.cost
        self._spent[one.group] = spent
        self._cover(one.unit.value, one.features)
        return True


def _candidate(order: int, unit: Evidence) -> Candidate:
    size = len(unit.value)
    if unit.kind in VALUES and unit.kind not in (EvidenceKind.ERROR, EvidenceKind.COMMAND):
        return Candidate(unit, order, size + 2 + len(unit.context), VALUE_ALONE, _group_of(unit))
    extra = len(unit.context) if unit.kind in WORDS else 6
    features = _features(unit.value)
    return Candidate(unit, order, size + extra + 8, features, _group_of(unit), fresh=features.letters)


def _weights(candidates: Sequence[Candidate]) -> dict[str, float]:
    """What covering a word or a pair is worth: most for the matter that several messages are about."""
    within: dict[int, list[tuple[str, ...]]] = {}
    spoken = [one for one in candidates if one.features.words]
    for one in spoken:
        within.setdefault(one.unit.message, []).append(one.features.words)
    said = (features[0] if len(features) == 1 else set().union(*features) for features in within.values())
    counts = Counter(chain.from_iterable(said))
    total = len(spoken) + 1
    capitals = Counter(chain.from_iterable(one.features.capitals for one in spoken))
    numbered = _numbered(spoken)
    weights: dict[str, float] = {}
    for feature, count in counts.items():
        if " " in feature:
            weights[feature] = _PAIR if count == 1 else _REPEATED_PAIR
        else:
            is_number = feature[0].isdigit()
            # A word said once may be a slip; said twice it counts as much as a word can.
            weights[feature] = log(1 + total / max(2, numbered.get(feature, count) if is_number else count))
            if is_number or capitals[feature] >= count:
                weights[feature] *= _NAME
    return weights


def series_of(name: str) -> str:
    return _DIGITS.sub("#", name)


def _series(candidates: Sequence[Candidate]) -> dict[str, float]:
    """What naming a value is worth in a saying: little for one of a series, `part_12.py` of `part_#.py`."""
    said = [one.features.names for one in candidates if one.unit.kind in WORDS]
    series = {name: series_of(name) for names in said for name in names}
    counts = Counter(one for names in said if names for one in {series[name] for name in names})
    return {name: _NAME * log(1 + (len(said) + 1) / max(2, counts[one])) for name, one in series.items()}


def _numbered(spoken: Sequence[Candidate]) -> dict[str, int]:
    """For each number, in how many messages one has its place: "step 12" says little after "step 11"."""
    within: dict[tuple[str, str], set[int]] = {}
    for one in spoken:
        for pair in one.features.numbered:
            within.setdefault(pair, set()).add(one.unit.message)
    places: dict[str, set[int]] = {}
    stands: dict[str, str] = {}
    for (before, number), messages in within.items():
        places.setdefault(before, set()).update(messages)
        if len(places[before]) >= len(places.get(stands.get(number, ""), ())):
            stands[number] = before
    return {number: len(places[before]) for number, before in stands.items()}


def _link(candidates: Sequence[Candidate], weights: dict[str, float]) -> None:
    """Give each saying what was said later on the same matter."""
    said = [one for one in candidates if one.group is Group.OWN]
    # Sets have no order of their own: sums that do not depend on it, and the newest of equals.
    sums = [fsum(map(weights.__getitem__, one.features.single)) for one in said]
    holding: dict[str, list[int]] = {}
    common: set[str] = set()  # words that too many sayings have
    for number, one in enumerate(said):
        shared: dict[int, int] = {}
        for word in one.features.single - common:
            before = holding.setdefault(word, [])
            for other in before:
                shared[other] = shared.get(other, 0) + 1
            before.append(number)
            if len(before) >= _FEW_SAYINGS:
                common.add(word)
        best, score = -1, _SAME_MATTER
        for other in sorted((other for other, count in shared.items() if count > 1), reverse=True):
            least = min(sums[other], sums[number])
            if said[other].unit.message == one.unit.message or not least:
                continue
            words = one.features.single & said[other].features.single
            alike = fsum(map(weights.__getitem__, words)) / least
            if alike > score:
                best, score = other, alike
        if best >= 0 and said[best].later is None:
            said[best].later = one
