"""One choice under a budget: greedy by gain over cost, with diminishing returns and guaranteed shares.

What is covered are features: content words and pairs of them, and values. A feature that is covered already
adds little, so a sentence that repeats another is worth little, and a value that a sentence names needs no
line of its own (monotone submodular coverage after Lin and Bilmes 2011, where greedy is near the best).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import log

from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN, STATED
from compact.evidence.values import values_in
from compact.evidence.words import content_words
from compact.model.summary import Evidence, EvidenceKind

_AGAIN = 0.1
"""What a feature is worth that is covered already, of what it was worth before."""
_PAIR = 0.2
_REPEATED_PAIR = 1.5
"""Two words said together in several messages are the matter at hand."""
_VALUE = 24
"""A value's rank against the weight of words, set by hand on the benchmark's conversations. Higher keeps more
identifiers and fewer phrases; how much of each was not measured apart."""
_SAME_MATTER = 0.4
"""Share of the shorter one's weight that two sayings must have in common to be about one matter."""
_FOCUS = 4.0
_SAYING = 12.0
"""What a saying is worth apart from its words, if it says something new: many short ones count most."""
_NAME = 2.0
_FRAGMENT = 14
_LENGTH_POWER = 0.6


@dataclass(frozen=True, slots=True)
class Shares:
    """How the room is shared out. What a kind leaves over is the others'."""

    words: float = 0.55
    """Guaranteed to what the user said."""
    conclusions: float = 0.25
    done: float = 0.10
    tool_values: float = 0.25
    """The most that values may take which only tools said."""
    rest_chars: int = 1_000_000
    """The most that all but the user's words may take: a brief stays brief, however much room there is."""


@dataclass(slots=True, eq=False)
class Candidate:
    unit: Evidence
    order: int
    cost: int
    words: tuple[str, ...]
    names: tuple[str, ...]
    capitals: tuple[str, ...] = ()
    weight: float = 1.0
    later: Candidate | None = None
    """What the user said later on the same matter: this one may stay only where that one does."""
    most: float = 0.0
    """What it was worth when last looked at; less now, if anything."""


@lru_cache(maxsize=20_000)
def _features(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Words and pairs in small letters, values, and the words that are written with a capital."""
    written = content_words(text)
    words = [word.lower() for word in written]
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    capitals = tuple(low for low, word in zip(words, written, strict=True) if low != word)
    return tuple(dict.fromkeys([*words, *pairs])), tuple(values_in(text)), capitals


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
        self._covered: Counter[str] = Counter()
        if before:
            words, names, _ = _features(before)
            self._covered.update((*words, *names))
        self.picked: list[Candidate] = []
        self._taken: set[int] = set()
        self._used = 0
        self._standing(frozenset(map(str.lower, content_words(focus))))
        for one in self.candidates:
            one.most = self._most_worth(one)
        if before:
            flat = " ".join(before.split())
            self._taken.update(id(one) for one in self.candidates if one.words and one.unit.value in flat)
        _link(self.candidates, self._weights)

    def take(self, room: int, shares: Shares) -> list[Candidate]:
        """The choice for so many characters, in the order in which it was made: the last may go first."""
        words = [one for one in self.candidates if one.unit.kind in WORDS]
        own = [one for one in words if one.unit.context != SHOWN]
        asked = "\n".join(one.unit.context for one in own)  # a question stands with its answer
        for one in self.candidates:
            if one.unit.kind is EvidenceKind.CONCLUDED and one.unit.value in asked:
                self._taken.add(id(one))
        concluded = [one for one in self.candidates if one.unit.kind is EvidenceKind.CONCLUDED]
        done = [one for one in self.candidates if one.unit.kind is EvidenceKind.DONE]
        first = min((one.unit.message for one in words), default=-1)
        self._fill([one for one in words if one.unit.message == first], room, room // 4, in_order=True)
        brief = shares.rest_chars < room
        limit = room if brief else int(room * shares.words)
        stated = [one for one in own if one.unit.rank >= STATED]
        self._fill(stated, room, limit - self._used, repeats=False)
        self._fill(own, room, limit - self._used)
        room = min(room, self._used + shares.rest_chars)
        self._fill(concluded, room, int(room * shares.conclusions))
        self._fill(done, room, int(room * shares.done))
        mine = set(map(id, own))
        trusted = [one for one in self.candidates if not one.unit.untrusted or id(one) in mine]
        tools = [one for one in self.candidates if one.unit.untrusted and one.unit.kind not in WORDS]
        shown = [one for one in words if one.unit.context == SHOWN]
        limits = (int(room * shares.tool_values), room // 10)
        self._fill(trusted, room, room, others=((tools, limits[0]), (shown, limits[1])))
        return self.picked

    def _standing(self, focus: frozenset[str]) -> None:
        """Weights by position, newest before older, and by what the user asked to keep in view."""
        spoken = [one for one in self.candidates if one.unit.kind not in VALUES]
        newest = max((one.unit.message for one in spoken), default=0)
        for one in spoken:
            age = one.unit.message / newest if newest else 1.0
            one.weight = one.unit.rank * (0.75 + 0.5 * age)
        if focus:
            about = {one.unit.message for one in spoken if not focus.isdisjoint(one.words)}
            for one in self.candidates:
                if one.unit.message in about:
                    one.weight *= _FOCUS

    def _most_worth(self, one: Candidate) -> float:
        """What a unit would be worth with nothing covered: no less than it ever is."""
        ranks = self._ranks
        gain = sum(map(self._weights.__getitem__, one.words))
        gain += _VALUE * sum(ranks.get(name, 0.3) for name in one.names)
        if one.unit.kind in WORDS:
            gain += _SAYING
        return gain * one.weight

    def _worth(self, one: Candidate) -> float:
        covered, weights = self._covered, self._weights
        known = [feature for feature in one.words if feature in covered]
        gain = sum(map(weights.__getitem__, one.words))
        for feature in known:
            gain -= weights[feature] * (1.0 - _AGAIN ** covered[feature])
        ranks = self._ranks
        for name in one.names:
            if name not in covered:
                gain += _VALUE * ranks.get(name, 0.3)
        if one.unit.kind in WORDS:
            fresh = sum(map(str.isalpha, one.words)) - sum(map(str.isalpha, known))
            gain += _SAYING * min(1.0, fresh / 3)
        worth = one.most = gain * one.weight
        return worth

    def _fill(
        self,
        units: Iterable[Candidate],
        room: int,
        share: int,
        *,
        in_order: bool = False,
        repeats: bool = True,
        others: Sequence[tuple[Sequence[Candidate], int]] = (),
    ) -> None:
        """Take the best of the units for at most `share` characters; `others` have limits of their own.

        `repeats`: words are taken though they say nothing that others do not.

        A unit's worth only ever falls, so what it was worth when last looked at is a bound, and only what
        comes to the top of the heap and would fit is looked at again.
        """
        left: dict[int, list[int]] = {}
        heap: list[tuple[float, int, Candidate]] = []
        purse = [share]
        for group, limit in ((units, share), *others):
            own = purse if limit == share else [limit]
            for one in group:
                if id(one) not in self._taken:
                    left[id(one)] = own
                    bound = 0.0 if in_order else -one.most / _price(one.cost)
                    heap.append((bound, one.order, one))
        heapify(heap)
        while heap:
            ratio, order, one = heappop(heap)
            if id(one) in self._taken or one.cost > min(room - self._used, left[id(one)][0]):
                continue
            now = -self._worth(one) / _price(one.cost) if not in_order else 0.0
            if now > ratio + 1e-9 and heap and now > heap[0][0]:
                if now < -1e-6 or (repeats and one.unit.kind in WORDS):
                    heappush(heap, (now, order, one))
                continue
            if now < -1e-9 or (repeats and one.unit.kind in WORDS):
                self._pick(one, room, left[id(one)])

    def _pick(self, one: Candidate, room: int, left: list[int]) -> bool:
        later = one.later
        if later is not None and id(later) not in self._taken and not self._pick(later, room, left):
            return False
        if self._used + one.cost > room or one.cost > left[0]:
            return False
        self._taken.add(id(one))
        self.picked.append(one)
        self._used += one.cost
        left[0] -= one.cost
        for feature in one.words:
            self._covered[feature] += 1
        for name in one.names:
            self._covered[name] += 1
        return True


@cache
def _price(cost: int) -> float:
    """Less than proportional, or shreds would look cheap."""
    return float((cost + _FRAGMENT) ** _LENGTH_POWER)


def _candidate(order: int, unit: Evidence) -> Candidate:
    if unit.kind in VALUES and unit.kind not in (EvidenceKind.ERROR, EvidenceKind.COMMAND):
        return Candidate(unit, order, len(unit.value) + 2 + len(unit.context), (), (unit.value,))
    words, names, capitals = _features(unit.value)
    extra = len(unit.context) if unit.kind in WORDS else 6
    return Candidate(unit, order, len(unit.value) + extra + 8, words, names, capitals)


def _weights(candidates: Sequence[Candidate]) -> dict[str, float]:
    """What covering a word or a pair is worth: most for the matter that several messages are about."""
    within: dict[str, set[int]] = {}
    spoken = [one for one in candidates if one.words]
    for one in spoken:
        at = one.unit.message
        for feature in one.words:
            within.setdefault(feature, set()).add(at)
    total = len(spoken) + 1
    capitals = Counter(word for one in spoken for word in one.capitals)
    weights: dict[str, float] = {}
    for feature, messages in within.items():
        count = len(messages)
        if " " in feature:
            weights[feature] = _PAIR if count == 1 else _REPEATED_PAIR
        else:
            # A word said once may be a slip; said twice it counts as much as a word can.
            weights[feature] = log(1 + total / max(2, count))
            if feature[0].isdigit() or capitals[feature] >= count:
                weights[feature] *= _NAME
    return weights


def _link(candidates: Sequence[Candidate], weights: dict[str, float]) -> None:
    """Give each saying what was said later on the same matter."""
    said = [one for one in candidates if one.unit.kind in WORDS and one.unit.context != SHOWN]
    heavy = [{word for word in one.words if " " not in word} for one in said]
    sums = [sum(weights[word] for word in words) for words in heavy]
    holding: dict[str, list[int]] = {}
    for number, words in enumerate(heavy):
        shared: Counter[int] = Counter()
        for word in words:
            before = holding.setdefault(word, [])
            if len(before) < 12:
                for other in before:
                    shared[other] += 1
        best, score = -1, _SAME_MATTER
        for other, count in shared.items():
            if said[other].unit.message == said[number].unit.message or count < 2:
                continue
            common = sum(weights[word] for word in words & heavy[other])
            least = min(sums[other], sums[number])
            if least and common / least > score:
                best, score = other, common / least
        if best >= 0 and said[best].later is None:
            said[best].later = said[number]
        for word in words:
            holding[word].append(number)
