"""The ledger: units of a span, extracted once a message, and folded with those of earlier records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from compact.evidence.done import done_in
from compact.evidence.remembered import remembered
from compact.evidence.said import concluded_in, option_of, question_in, said_in
from compact.evidence.secrets import Hiding
from compact.evidence.steps import Step, arguments_of, steps_of
from compact.evidence.values import values_in
from compact.model.message import (
    Message,
    MessageKind,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    canonical_json,
)
from compact.model.summary import Evidence, EvidenceKind

USER, CALL, ASSISTANT, TOOL = range(4)
"""Who brought a value up, strongest claim first."""
_SOURCE_WEIGHT = (1.2, 1.6, 1.2, 0.8)
_KIND_WEIGHT = {
    EvidenceKind.PATH: 1.0,
    EvidenceKind.ID: 1.0,
    EvidenceKind.DATE: 0.9,
    EvidenceKind.SYMBOL: 0.8,
    EvidenceKind.URL: 0.6,
    EvidenceKind.NUMBER: 0.4,
}
_ALONE = {(CALL, EvidenceKind.SYMBOL): 0.25, (TOOL, EvidenceKind.PATH): 0.5}
"""Less for what nobody else said: a name in the agent's own script is its variable, and what a tool
listed it can list again."""
VALUES = frozenset((*_KIND_WEIGHT, EvidenceKind.ERROR, EvidenceKind.NAME, EvidenceKind.COMMAND))
WORDS = frozenset({EvidenceKind.SAID, EvidenceKind.RULE, EvidenceKind.APPROVAL})
"""With the kinds that records of earlier versions have for them."""
_MOST_VALUES = 4_000
"""Values that a span adds; the best by rank. More than a summary of 20,000 tokens can hold."""
_LEAST_OF_TOOLS, _TOKENS_A_VALUE = 1_000, 6
"""Of those that only tools said, twice what fits into their quarter of a summary, at three tokens each."""
MOST_UNITS = 6_000
"""Upper limit for the units of a folded ledger besides sayings, so that a compaction costs the same however
many came before."""
_FEWEST_UNITS = 1_000
_OPENING = 60
"""Units of what the user said first that always stay."""
_AGING = 0.95
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}|\d{3,}")
_ONCE_BY_TOOL = [0, 0, 0, 1]
_OURS = frozenset({MessageKind.MARKER, MessageKind.BRIDGE, MessageKind.SUMMARY_TRIGGER, MessageKind.SUMMARY})


@dataclass(frozen=True, slots=True)
class Ledger:
    """The units that a span adds, in order of the conversation, values after the rest, best first."""

    units: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    hiding: Hiding = field(default_factory=lambda: Hiding(None), compare=False)


class _Seen:
    """All mentions of one value in a span.

    Values of one kind that one message alone names share theirs: of a listing hardly any comes up again.
    """

    __slots__ = ("at", "density", "first", "is_shared", "kind", "last", "messages", "rank")

    def __init__(self, kind: EvidenceKind, at: int, source: int, density: float) -> None:
        self.kind, self.first, self.last, self.at = kind, at, at, at
        self.messages = [0, 0, 0, 0]
        self.messages[source] = 1
        self.density = density
        self.is_shared = True
        self.rank = -1.0

    def apart(self) -> _Seen:
        """The mentions so far, for one value of those that share them."""
        own = _Seen(self.kind, self.first, 0, self.density)
        own.messages = self.messages.copy()
        own.is_shared = False
        return own

    @property
    def is_spoken(self) -> bool:
        """Whether user, assistant or a call named it, not tools alone."""
        return self.messages != _ONCE_BY_TOOL and any(self.messages[:TOOL])


def extract(
    messages: Sequence[Message],
    positions: Sequence[int] = (),
    *,
    is_secret: Callable[[str], bool] | None = None,
    room: int | None = None,
) -> Ledger:
    """All units of `messages`, without a model. What `is_secret` recognizes is left out.

    `room`: tokens of the summary that they are for; what only tools said is then bounded by it.
    """
    where = tuple(positions) or tuple(range(len(messages)))
    hiding = Hiding(is_secret)
    steps = steps_of(messages, where, hiding)
    units: list[Evidence] = []
    seen: dict[str, _Seen] = {}
    asked, asked_at, opens = "", 0, min(where, default=0) <= 1
    unread = _unread(messages)
    for number, (at, message) in enumerate(zip(where, messages, strict=True)):
        if message.kind in _OURS:
            continue
        if number in unread:
            if message.role is Role.ASSISTANT and message.text:
                # What the user answers stands beside the answer.
                asked, asked_at = hiding.text(message.text) if number + 1 not in unread else "", at
            continue
        text = hiding.text(message.text)
        if message.role is Role.USER and text:
            question = option_of(text, asked) or question_in(asked)
            context = f"asked in [m{asked_at}]: {question}" if question else ""
            units += said_in(text, at, context, opens=opens)
            asked, opens = "", False
        elif message.role is Role.ASSISTANT and text:
            units += concluded_in(text, at, closes=not message.calls)
            asked, asked_at = text, at
        _take_values(seen, message, text, at, hiding)
    units += done_in(steps)
    of_tools = _MOST_VALUES if room is None else max(_LEAST_OF_TOOLS, room // _TOKENS_A_VALUE)
    units += _ranked(seen, where, of_tools)
    if hiding.values:
        units = [unit for unit in units if not hiding.holds(f"{unit.value} {unit.context}")]
    return Ledger(tuple(units), tuple(steps), hiding)


def _unread(messages: Sequence[Message]) -> set[int]:
    """The middle of a span with more messages than a ledger keeps units: nothing of it would be chosen.

    But the user's words are kept as said: all are read, unless they alone are more than that.
    """
    opening = MOST_UNITS // 6
    middle = set(range(opening, len(messages) - MOST_UNITS + opening))
    by_user = [number for number in middle if messages[number].role is Role.USER]
    return middle.difference(by_user) if len(by_user) <= MOST_UNITS else middle


def _take_values(seen: dict[str, _Seen], message: Message, text: str, at: int, hiding: Hiding) -> None:
    if text and message.role in (Role.USER, Role.ASSISTANT):
        _take(seen, _values_of(text), USER if message.role is Role.USER else ASSISTANT, at)
    for part in message.parts:
        if isinstance(part, ToolCall):
            _take(seen, _values_of(canonical_json(arguments_of(part, hiding))), CALL, at)
        elif isinstance(part, ToolResult) or (isinstance(part, Opaque) and not isinstance(part, Text)):
            _take(seen, _values_of(hiding.text(part.text)), TOOL, at)


@remembered
def _values_of(text: str, _: bool) -> dict[str, EvidenceKind]:
    return values_in(text)


def _take(seen: dict[str, _Seen], found: dict[str, EvidenceKind], source: int, at: int) -> None:
    if not found:
        return
    # A message that names three values is about them; one that lists three hundred is not.
    density = len(found) ** -0.5
    by_machine = source in (TOOL, CALL)
    new: dict[EvidenceKind, _Seen] = {}
    for value, kind in found.items():
        one = seen.get(value)
        if one is None:
            if by_machine and kind is EvidenceKind.NUMBER and value.isdigit():
                continue  # a line number, a size, an offset: nobody speaks of it
            one = new.get(kind)
            if one is None:
                one = new[kind] = _Seen(kind, at, source, density)
            seen[value] = one
            continue
        if one.is_shared:
            one = seen[value] = one.apart()
        one.messages[source] += 1
        one.last = at
        if density > one.density:
            one.density, one.at = density, at


def _ranked(seen: dict[str, _Seen], where: Sequence[int], of_tools: int) -> Iterator[Evidence]:
    """The best values of a span, each with the message where it stood in the smallest company."""
    first, last = (where[0], where[-1]) if where else (0, 0)
    spoken = {part for value, one in seen.items() if one.is_spoken for part in _parts(value)}
    figures = any(part[0].isdigit() for part in spoken)
    ranks: dict[tuple[float, int], list[str]] = {}
    for value, one in seen.items():
        if one.rank < 0:
            one.rank = _rank(one, first, last)
        rank = one.rank
        if (figures or one.kind is not EvidenceKind.NUMBER) and not one.is_spoken:
            rank *= 1 + _kinship(value, spoken)
        ranks.setdefault((-rank, one.first), []).append(value)
    left = _MOST_VALUES
    for place, values in sorted(ranks.items()):
        values.sort()
        for value in values[:left]:
            one = seen[value]
            if one.is_spoken:
                yield Evidence(one.kind, value, one.at, "", -place[0])
            elif of_tools:
                of_tools -= 1
                yield Evidence(one.kind, value, one.at, "", -place[0], untrusted=True)
        left -= len(values)
        if left <= 0:
            break


def _rank(one: _Seen, first: int, last: int) -> float:
    """How likely the value is needed again.

    A value that passed from one mouth to another (a tool returned it, the agent called with it, the user
    asked for it) was used, which says most; then how often it came up, and in how small a company.
    """
    sources = [source for source, count in enumerate(one.messages) if count]
    mentions = sum(min(count, 9) for count in one.messages)
    said: float = sum(_SOURCE_WEIGHT[source] for source in sources) * (len(sources) * mentions) ** 0.5
    focus = min(1.0, 2.5 * one.density) ** 0.8
    recency = 0.7 + 0.3 * (one.last - first + 1) / (last - first + 1)
    rank: float = said * _KIND_WEIGHT[one.kind] * focus * recency
    return round(rank * _ALONE.get((sources[0], one.kind), 1.0) if len(sources) == 1 else rank, 3)


@lru_cache(maxsize=20_000)
def _parts(value: str) -> tuple[str, ...]:
    """The words that a name is made of."""
    return tuple(part.lower() for part in _PART.findall(value) if len(part) > 3)


def _kinship(value: str, spoken: set[str]) -> float:
    """How much of a name that only tools said is made of words of names that somebody used."""
    parts = _parts(value)
    return sum(part in spoken for part in parts) / len(parts) if parts else 0.0


def most_units(summary: str) -> int:
    """Units to keep behind a summary: some five times as many as it holds, so that later ones can choose."""
    return min(MOST_UNITS, max(_FEWEST_UNITS, len(summary) // 10)) if summary else MOST_UNITS


def fold(
    earlier: Sequence[Evidence], units: Iterable[Evidence], most: int = MOST_UNITS
) -> tuple[Evidence, ...]:
    """An earlier ledger and a record's own units as one, each once.

    A value that comes up again keeps its newest message and gains rank; old values lose some. A file keeps
    its newest state, a command its newest ending. Words and conclusions are only ever added.
    """
    global _folded_last
    last = _folded_last
    if last[0] is not earlier or last[1] is not units:
        last = _folded_last = (earlier, units, _merged(earlier, list(units)))
    return _bounded(last[2], most)


_folded_last: tuple[Sequence[Evidence], Iterable[Evidence], list[Evidence]] = ((), (), [])
"""A summary is chosen from the fold that its record, once committed, stands for: the same two, folded once."""


def _merged(earlier: Sequence[Evidence], units: Sequence[Evidence]) -> list[Evidence]:
    values, keys = {unit.value for unit in units}, {(unit.kind, unit.value) for unit in units}
    kept: list[Evidence] = []
    merged: dict[tuple[EvidenceKind, str], Evidence] = {}  # what comes up again, and what is new
    for unit in earlier:
        if unit.kind in _KIND_WEIGHT:
            unit = Evidence(
                unit.kind, unit.value, unit.message, unit.context, unit.rank * 0.95, unit.untrusted
            )
        if unit.value in values and (key := (unit.kind, unit.value)) in keys:
            merged[key] = unit
        else:
            kept.append(unit)
    for unit in units:
        key = (unit.kind, unit.value)
        before = merged.pop(key, None)
        if before is not None and unit.kind in _KIND_WEIGHT:
            rank, untrusted = max(unit.rank, before.rank) + 0.5, unit.untrusted and before.untrusted
            unit = replace(unit, rank=rank, untrusted=untrusted, context=unit.context or before.context)
        elif before is not None and unit.kind is EvidenceKind.CONCLUDED:
            unit = replace(unit, rank=min(unit.rank, before.rank) * 0.5)  # what is repeated says little
        elif before is not None and unit.kind is EvidenceKind.SAID and len(unit.value) < 40:
            unit = before if before.context else unit
        merged[key] = unit
    return [*kept, *merged.values()]


def _bounded(units: list[Evidence], most: int) -> tuple[Evidence, ...]:
    """The whole, or where it is too much, what the user said first and last, and the best of the rest."""
    if len(units) > most:
        words = [place for place, unit in enumerate(units) if unit.kind in WORDS]
        others = [place for place, unit in enumerate(units) if unit.kind not in WORDS]
        # Best first, of equal rank the newest: two stable sorts by numbers need no pairs.
        others.sort(key=[unit.message for unit in units].__getitem__, reverse=True)
        others.sort(key=[unit.rank for unit in units].__getitem__, reverse=True)
        left_out = set(words[_OPENING : _OPENING - MOST_UNITS])
        left_out.update(others[max(most // 2, most - len(words) + len(left_out)) :])
        units = [unit for place, unit in enumerate(units) if place not in left_out]
    return tuple(units)


def fold_all(records: Iterable[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """The ledger of a chain of records, oldest first."""
    ledger: tuple[Evidence, ...] = ()
    for units in records:
        ledger = fold(ledger, units) if ledger else tuple(units)
    return ledger
