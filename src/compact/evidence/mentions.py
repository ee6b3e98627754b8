"""The values of a span: who named each, how often and in what company, and the best of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from compact.model.summary import Evidence, EvidenceKind

USER, CALL, ASSISTANT, TOOL = range(4)  # who named a value, strongest claim first
_SOURCE_WEIGHT = (1.2, 1.6, 1.2, 0.8)
KIND_WEIGHT = {
    EvidenceKind.PATH: 1.0,
    EvidenceKind.ID: 1.0,
    EvidenceKind.DATE: 0.9,
    EvidenceKind.SYMBOL: 0.8,
    EvidenceKind.URL: 0.6,
    EvidenceKind.NUMBER: 0.2,
}
# Less for values that only one side named: an agent's own variables, and what a tool can list again.
_ALONE = {(CALL, EvidenceKind.SYMBOL): 0.05, (TOOL, EvidenceKind.PATH): 0.5, (TOOL, EvidenceKind.DATE): 0.3}
MOST_VALUES = 4_000  # that a span adds, best first: more than a summary of 20,000 tokens can hold
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}|\d{3,}")


class _Seen:
    """All mentions of one value in a span.

    Values of one kind that only one message names share one object, since hardly any of a listing comes up
    again. A value that does gets its own object, and `was_left` says so.
    """

    __slots__ = ("at", "density", "first", "is_shared", "kind", "last", "messages", "values", "was_left")

    def __init__(self, kind: EvidenceKind, at: int, source: int, density: float, values: list[str]) -> None:
        self.kind, self.first, self.last, self.at = kind, at, at, at
        self.messages = [0, 0, 0, 0]
        self.messages[source] = 1
        self.density = density
        self.values = values
        self.is_shared, self.was_left = True, False

    def apart(self, value: str) -> _Seen:
        """The mentions so far, for one of the values that share them."""
        own = _Seen(self.kind, self.first, 0, self.density, [value])
        own.messages = self.messages.copy()
        own.is_shared = False
        return own

    @property
    def is_spoken(self) -> bool:
        """Whether the user, the assistant or a call named it, not just tools."""
        return any(self.messages[:TOOL])


class Mentions:
    """Collects the values of one message after another."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._each: list[_Seen] = []

    def take(self, found: Mapping[str, EvidenceKind], source: int, at: int) -> None:
        """The values that one text names."""
        if not found:
            return
        seen = self._seen
        # A message that names three values is about them; one that lists three hundred is not.
        density = len(found) ** -0.5
        if not seen.keys().isdisjoint(found):
            again = seen.keys() & found.keys()
            for value in again:
                self._take_again(value, source, at, density)
            found = {value: kind for value, kind in found.items() if value not in again}
        kinds = set(found.values())
        for kind in kinds:
            if kind is EvidenceKind.NUMBER and source in (TOOL, CALL):
                continue  # A line number, a size, an offset: it means nothing until somebody mentions it.
            values = [value for value, its in found.items() if its is kind] if len(kinds) > 1 else list(found)
            shared = _Seen(kind, at, source, density, values)
            seen.update(dict.fromkeys(values, shared))
            self._each.append(shared)

    def _take_again(self, value: str, source: int, at: int, density: float) -> None:
        one = self._seen[value]
        if one.is_shared:
            one.was_left = True
            one = self._seen[value] = one.apart(value)
            self._each.append(one)
        one.messages[source] += 1
        one.last = at
        if density > one.density:
            one.density, one.at = density, at

    def best(self, where: Sequence[int], of_tools: int) -> Iterator[Evidence]:
        """The best values, each with the message that names it in the smallest company.

        At most `of_tools` of those that only tools named.
        """
        first, last = (where[0], where[-1]) if where else (0, 0)
        seen, used = self._seen, set[str]()
        for one in self._each:
            if one.was_left:
                one.values = [value for value in one.values if seen[value] is one]
            if one.is_spoken:
                used.update(one.values)
        spoken = {part for value in used for part in _parts(value)} if len(used) < len(seen) else set()
        ranks: dict[tuple[float, int], list[str]] = {}
        for one in self._each:
            rank = _rank(one, first, last)
            if one.is_spoken:
                ranks.setdefault((-rank, one.first), []).extend(one.values)
            else:
                for value in one.values:
                    kin = rank * (1 + _kinship(value, spoken))
                    ranks.setdefault((-kin, one.first), []).append(value)
        left = MOST_VALUES
        for place in sorted(ranks):
            values = ranks[place]
            if of_tools or not used.isdisjoint(values):
                values.sort()
                for value in values[:left]:
                    one = seen[value]
                    if value in used:
                        yield Evidence(one.kind, value, one.at, "", -place[0])
                    elif of_tools:
                        of_tools -= 1
                        yield Evidence(one.kind, value, one.at, "", -place[0], untrusted=True)
            left -= len(values)
            if left <= 0:
                break


def _rank(one: _Seen, first: int, last: int) -> float:
    """How likely the value is needed again.

    A value that changed hands (a tool returned it, the agent called with it, the user asked for it) was used,
    which counts most; then how often it came up, and in how small a company.
    """
    sources = [source for source, count in enumerate(one.messages) if count]
    mentions = sum([min(one.messages[source], 9) for source in sources])
    said: float = sum([_SOURCE_WEIGHT[source] for source in sources]) * (len(sources) * mentions) ** 0.5
    focus = min(1.0, 2.5 * one.density) ** 0.8
    recency = 0.7 + 0.3 * (one.last - first + 1) / (last - first + 1)
    rank: float = said * KIND_WEIGHT[one.kind] * focus * recency
    return round(rank * _ALONE.get((sources[0], one.kind), 1.0) if len(sources) == 1 else rank, 3)


@lru_cache(maxsize=20_000)
def _parts(value: str) -> tuple[str, ...]:
    """The words that a name consists of."""
    return tuple(part.lower() for part in _PART.findall(value) if len(part) > 3)


def _kinship(value: str, spoken: set[str]) -> float:
    """How much of a name that only tools said consists of words from names that somebody used."""
    parts = _parts(value)
    return sum(part in spoken for part in parts) / len(parts) if parts else 0.0
