"""Choose units under a budget: greedy by gain over cost, with diminishing returns and guaranteed shares.

Each unit covers features: content words, pairs of them, and values. A feature that is already covered adds
little, so a sentence that repeats another is worth little, and a value that a sentence names needs no line of
its own (monotone submodular coverage after Lin and Bilmes 2011, where greedy is near the best).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from heapq import heapify, heappop, heapreplace
from itertools import pairwise

from compact.evidence.coverage import Coverage
from compact.evidence.done import FILE, RAN
from compact.evidence.features import SINGLE, features_of
from compact.evidence.holder import Holder
from compact.evidence.ledger import VALUES, WORDS
from compact.evidence.said import SHOWN, STATED
from compact.evidence.words import clip, content_words, is_about
from compact.model.summary import Evidence, EvidenceKind

_SAME_MATTER = 0.36  # how alike two sayings on one matter are; no correction in the benchmark is less so
_PLAINLY = 0.50  # how alike where the later stands beside the earlier, unless it says that it corrects
_FEW_SAYINGS, _COMMON = 4, 12  # two words in so few of them link two; a word in more than that links none
_FOCUS = 4.0
_HANDED_ON = 0.46  # of what the user's words leave, for conclusions before all kinds compete for it
_FRAGMENT, _ONE_MORE, _LEAST = 24, 2, 20  # extra characters for a sentence, for a value; the least of a task


@dataclass(frozen=True, slots=True)
class Shares:
    """How the room is divided, set on half of the data (docs/EVALUATION.md). What is left goes to others."""

    words: float = 0.72  # guaranteed to what the user said
    all_words: float = 0.80  # the same, if all of it fits in that much
    conclusions: float = 0.12
    newest: float = 0.08  # of those, for what the assistant stated last: where things stand, what is next
    done: float = 0.10  # for what changed something; half of it for commands, if that leaves any
    values: float = 0.20
    tool_values: float = 0.25  # the most that values named only by tools may take
    rest_chars: int = 1_000_000  # the most for all but the user's words, so that a brief stays brief


class Group(Enum):
    """Kinds that share a part of the room."""

    OWN = "what the user said"
    SHOWN = "what the user quoted or pasted"
    CONCLUDED = "what the assistant stated"
    DONE = "what was done"
    VALUE = "values that somebody used"
    TOOL = "what only tools said"

    __hash__ = object.__hash__  # The enum's own hash runs in Python, and a choice counts by group.


@dataclass(slots=True, eq=False)
class Candidate:
    unit: Evidence
    order: int
    cost: int
    group: Group
    names: tuple[str, ...] = ()
    later: Candidate | None = None  # said later on the same matter; this unit may stay only if that one does


def _group_of(unit: Evidence) -> Group:
    if unit.kind in WORDS:
        return Group.SHOWN if unit.context == SHOWN else Group.OWN
    return Group.TOOL if unit.untrusted else _GROUPS.get(unit.kind, Group.VALUE)


_GROUPS = {EvidenceKind.CONCLUDED: Group.CONCLUDED, EvidenceKind.DONE: Group.DONE}


class Choice:
    """Units of a ledger, and which of them are taken so far. Units are identified by their number here."""

    def __init__(
        self,
        ledger: Sequence[Evidence],
        focus: str = "",
        before: str = "",
        among: Iterable[int] | None = None,
    ) -> None:
        """`before` is text already in place: what it covers is covered. `among`: places in the ledger."""
        places = range(len(ledger)) if among is None else among
        self._places = [place for place in places if not _is_bare(ledger[place])]
        self._units = units = [ledger[place] for place in self._places]
        self._groups = list(map(_group_of, units))
        self._costs = list(map(_cost, units))
        self._features = [
            SINGLE if unit.kind in _SINGLE_VALUES else features_of(_words_of(unit)) for unit in units
        ]
        self._coverage = Coverage(units, self._features, features_of(before), ledger)
        self._standing = self._standings(frozenset(content_words(focus)))
        self._extra = [_ONE_MORE if one is SINGLE else _FRAGMENT for one in self._features]
        self.picked: list[Candidate] = []
        self._taken: dict[int, Candidate | None] = {}
        """Units that need no further choice, with the candidate they were picked with."""
        self._used = 0
        self._spent: Counter[Group] = Counter()
        self._of: dict[Group, list[int]] = {group: [] for group in Group}
        for number, group in enumerate(self._groups):
            self._of[group].append(number)
        if before:
            flat = " ".join(before.split())
            spoken = (number for number, one in enumerate(self._features) if one.words)
            self._taken.update((number, None) for number in spoken if units[number].value in flat)
        self._beside: set[int] = set()  # sayings that plainly take up an earlier one, and so stand beside it
        self._later = self._links()

    def _answered(self, room: int) -> None:
        """A question stays with its answer, unless words do not fit and the answer repeats it."""
        own = self._of[Group.OWN]
        if sum(self._costs[number] for number in own) > room:
            for number in own:
                unit = self._units[number]
                words = content_words(unit.value) if unit.context else ()
                if len(set(words).intersection(content_words(unit.context))) > 1:
                    self._units[number] = replace(unit, context="")
                    self._costs[number] -= len(unit.context)
        asked = [self._units[number].context for number in own]
        stated = self._of[Group.CONCLUDED]
        held = Holder("\n".join(filter(None, asked))).among([self._units[number] for number in stated])
        self._taken.update(dict.fromkeys([stated[place] for place in held]))

    def take(self, room: int, shares: Shares) -> list[Candidate]:
        """The choice for `room` characters, best first. For a larger room it continues from there."""
        own = self._of[Group.OWN]
        if not self.picked:
            self._answered(int(room * shares.all_words))
        shown = self._of[Group.SHOWN]
        at = [unit.message for unit in self._units]
        stated = self._of[Group.CONCLUDED]
        first = min((at[number] for number in (*own, *shown)), default=-1)
        newest, report = (max((at[number] for number in ones), default=-1) for ones in (own, stated))
        # More if that is enough for everything the user said: only what does not fit is ranked.
        all_fit = sum(self._costs[number] for number in own) <= room * shares.all_words
        most = shares.all_words if all_fit else shares.words
        words = room if shares.rest_chars < room else int(room * most)
        # The task is there whatever else was said, and so is what nobody answered yet.
        for message, numbers, share in (
            (first, own, shares.words / 2),
            (first, shown, 0.25),
            (newest if newest > report else -1, own, shares.words * 0.75),
        ):
            its = [number for number in numbers if at[number] == message]
            task = its[:1] if message == first else []
            for number in task:
                if sum(self._costs[one] for one in self._chain(number) if one not in self._taken) > words:
                    self._shorten(number, words)
            if not any([self._pick(number, int(room * share), {}) for number in its]) and task:
                self._pick(task[0], words, {})
        for numbers in ([number for number in own if at[number] != first], own):
            self._fill(numbers, room, {Group.OWN: words})
        room = min(room, self._spent[Group.OWN] + self._spent[Group.SHOWN] + shares.rest_chars)
        spared = max(0.0, shares.words - self._spent[Group.OWN] / max(1, room))
        done, values = self._of[Group.DONE], self._of[Group.VALUE]
        acts = [number for number in done if not self._units[number].context.startswith(RAN)]
        calls = [number for number in acts if not self._units[number].context.startswith(FILE)]
        last = [number for number in stated if at[number] == report]
        # Conclusions seldom repeat a call, but they name files, and count for less where those stand already.
        for numbers, group, share in (
            (calls, Group.DONE, shares.done),
            (last, Group.CONCLUDED, shares.newest),
            (stated, Group.CONCLUDED, shares.conclusions + _HANDED_ON * spared),
            (acts, Group.DONE, shares.done),
            (done, Group.DONE, shares.done / 2),
            (values, Group.VALUE, shares.values),
        ):
            self._fill(numbers, room, {group: int(room * share)})
        last_in = {Group.TOOL: int(room * shares.tool_values), Group.SHOWN: room // 10}
        self._fill(range(len(self._units)), room, last_in)
        return self.picked

    def _shorten(self, number: int, room: int) -> None:
        """Take the newest word on a matter and the first, each in half of the room: head and tail."""
        for one in dict.fromkeys((self._chain(number)[-1], number)):
            unit, cost = self._units[one], self._costs[one]
            left = min(room // 2, room - self._used) - cost + len(unit.value)
            if one not in self._taken and _LEAST <= left < len(unit.value):
                head = clip(unit.value, left * 2 // 3)
                value = f"{head} {unit.value[len(head) - left :].partition(' ')[2]}".rstrip()
                self._units[one] = replace(unit, value=value)
                self._costs[one] = cost - len(unit.value) + len(value)
            self._pick_alone(one, room, {})

    def _standings(self, focus: frozenset[str]) -> list[float]:
        """Weights by position, newest first, and by what the user asked to focus on."""
        newest = max((unit.message for unit in self._units if unit.kind not in VALUES), default=0)
        standing: list[float] = []
        for unit, group in zip(self._units, self._groups, strict=True):
            age = unit.message / newest if newest else 1.0
            # What the user said first or last outranks the middle; of the rest, the newest counts most.
            if unit.kind in VALUES:
                standing.append(1.0)
            elif group is Group.OWN:
                standing.append(unit.rank * (1 + 0.2 * abs(2 * age - 1)))
            else:
                standing.append(unit.rank * (0.75 + 0.5 * age))
        if focus:
            about = {
                unit.message
                for unit, one in zip(self._units, self._features, strict=True)
                if unit.kind not in VALUES and not focus.isdisjoint(one.words)
            }
            for number, unit in enumerate(self._units):
                if unit.message in about:
                    standing[number] *= _FOCUS
        return standing

    def _fill(self, numbers: Iterable[int], room: int, most: Mapping[Group, int]) -> None:
        """Take the best units while there is room; `most` limits what groups may take in total.

        A unit's worth only ever drops, so one that comes to the top with what it is worth now is the best.
        """
        costs, groups, taken = self._costs, self._groups, self._taken
        gains, standing, extra = self._coverage.gains, self._standing, self._extra
        limits = {group: most.get(group, room) for group in Group}
        left_for = {group: min(room - self._used, limits[group] - self._spent[group]) for group in Group}
        queue = [
            (-gains[number] * standing[number] / (costs[number] + extra[number]), number)
            for number in numbers
            if costs[number] <= left_for[groups[number]] and number not in taken
        ]
        heapify(queue)
        while queue:
            rate, number = queue[0]
            cost, group = costs[number], groups[number]
            if cost > min(room - self._used, limits[group] - self._spent[group]) or number in taken:
                heappop(queue)
            elif (now := -gains[number] * standing[number] / (cost + extra[number])) > rate:
                heapreplace(queue, (now, number))
            else:
                heappop(queue)
                if rate < -1e-9 or self._coverage.said[number]:  # words are kept even if they say nothing new
                    self._pick(number, room, most)

    def _pick(self, number: int, room: int, most: Mapping[Group, int]) -> bool:
        """Take a unit, and before it what was said later on its matter; without that it does not stay."""
        return all(self._pick_alone(one, room, most) for one in reversed(self._chain(number)))

    def _chain(self, number: int) -> list[int]:
        chain = [number]
        while (later := self._later.get(chain[-1])) is not None and chain[-1] not in self._taken:
            chain.append(later)
        return chain

    def _pick_alone(self, number: int, room: int, most: Mapping[Group, int]) -> bool:
        if number in self._taken:
            return True
        unit, cost, group = self._units[number], self._costs[number], self._groups[number]
        spent = self._spent[group] + cost
        if self._used + cost > room or spent > most.get(group, room):
            return False
        after = self._taken.get(self._later[number]) if self._later.get(number) in self._beside else None
        one = Candidate(unit, self._places[number], cost, group, self._features[number].names, after)
        self._taken[number] = one
        self.picked.append(one)
        self._used += cost
        self._spent[group] = spent
        self._coverage.cover(self._features[number], unit.value)
        return True

    def _links(self) -> dict[int, int]:
        """For each saying, what was said later on the same matter."""
        # A question or thanks neither changes nor is changed.
        said = [number for number in self._of[Group.OWN] if self._units[number].rank >= STATED]
        found: dict[int, int] = {}
        first = self._units[said[0]].message if said else -1
        for previous, number in pairwise(said):
            unit = self._units[number]
            # "Take Petra. No wait, …" must not become "Take Petra." But the task stays, whatever follows it.
            together = first != unit.message == self._units[previous].message
            if together and is_about(unit.value.split(), "corrects"):
                found[previous] = number
        best: dict[int, tuple[float, int, bool]] = {}
        for other, number, score, rare in self._coverage.alike(said, _FEW_SAYINGS, _COMMON):
            apart = self._units[other].message != self._units[number].message
            if apart and score > (_SAME_MATTER if rare else _PLAINLY):
                # The newest of equals.
                best[number] = max(best.get(number, (0.0, -1, False)), (score, other, rare))
        for number, (score, other, rare) in sorted(best.items()):
            if other not in found:
                found[other] = number
                plainly = rare and score >= _PLAINLY
                if plainly or is_about(self._units[number].value.split(), "corrects", "anew"):
                    self._beside.add(number)
        return found


def _is_bare(unit: Evidence) -> bool:
    """A number that says nothing without its sentence: 155, 7:30, 15th or 10.5, not 12.50 or $12."""
    alone = unit.kind is EvidenceKind.NUMBER and not unit.value.strip("0123456789.,:stndrh")
    return alone and ("." not in unit.value or len(unit.value.lstrip("0.")) < 5)


def _words_of(unit: Evidence) -> str:
    """What it says; an answer alone may say nothing ("the second one"), so with what was asked."""
    asked = unit.kind in WORDS and unit.context != SHOWN and unit.context.partition(": ")[2]
    return f"{asked} {unit.value}" if asked else unit.value


def _cost(unit: Evidence) -> int:
    """Characters of a unit, with what surrounds it."""
    if unit.kind in _SINGLE_VALUES:
        return len(unit.value) + 2 + len(unit.context)
    return len(unit.value) + 8 + (len(unit.context) if unit.kind in WORDS else 6)


_SINGLE_VALUES = VALUES - {EvidenceKind.ERROR, EvidenceKind.COMMAND}
