"""The ledger: units of a span, extracted once per message and folded with those of earlier records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf
from operator import attrgetter

from compact.evidence.done import done_in
from compact.evidence.holder import holder
from compact.evidence.mentions import ASSISTANT, CALL, KIND_WEIGHT, MOST_VALUES, TOOL, USER, Mentions
from compact.evidence.remembered import remembered
from compact.evidence.said import concluded_in, option_of, question_in, said_in
from compact.evidence.secrets import Hiding, Redacts
from compact.evidence.steps import Step, edits_in, steps_of
from compact.evidence.values import values_in
from compact.model.arguments import texts_in
from compact.model.message import Message, MessageKind, Opaque, Role, ToolCall, ToolResult
from compact.model.summary import Evidence, EvidenceKind

VALUES = frozenset((*KIND_WEIGHT, EvidenceKind.ERROR, EvidenceKind.NAME, EvidenceKind.COMMAND))
WORDS = frozenset({EvidenceKind.SAID, EvidenceKind.RULE, EvidenceKind.APPROVAL})  # two of earlier versions
_LEAST_OF_TOOLS, _TOKENS_A_VALUE = 1_000, 6
"""Of values that only tools named, twice what fits in their quarter of a summary, at three tokens each."""
MOST_UNITS = 6_000  # so that a compaction costs the same however many came before it
_FEWEST_UNITS, _FEWEST_CHARS, _TIMES_A_SUMMARY = 1_000, 20_000, 5
_OPENING = 60  # units of what the user said first, which always stay
_HINT = re.compile(r"\brecall r-[0-9a-f]{10}\b")  # in outputs that were cut, our own name for the whole
_values_of = remembered(values_in)
_SPEAKING, _OF_TOOLS = (Role.USER, Role.ASSISTANT), (ToolResult, Opaque)
_OURS = frozenset({MessageKind.MARKER, MessageKind.BRIDGE, MessageKind.SUMMARY_TRIGGER, MessageKind.SUMMARY})


def extract(
    messages: Sequence[Message],
    positions: Sequence[int] = (),
    earlier: Sequence[Evidence] = (),
    *,
    redactor: Redacts | None = None,
    room: int | None = None,
) -> tuple[Evidence, ...]:
    """All units of `messages`, in order, then their values, best first, without secrets if it has a redactor.

    `earlier`: the ledger so far, which may have the question that the first message answers. `room`: tokens
    of the summary they are for; it limits what only tools named.
    """
    where = tuple(positions) or tuple(range(len(messages)))
    hiding = Hiding(redactor)
    units: list[Evidence] = []
    steps: list[Step] = []
    mentions = Mentions()
    asked_at = min(where, default=0) - 1
    before = [unit for unit in earlier if unit.message == asked_at]
    asked = " ".join(unit.value for unit in before if unit.kind is EvidenceKind.CONCLUDED)
    unread = _unread(messages)
    for number, (at, message) in enumerate(zip(where, messages, strict=True)):
        if message.kind in _OURS:
            continue
        if number in unread:
            if message.role is Role.ASSISTANT and message.text:
                # What the user answers is listed next to the answer.
                asked, asked_at = hiding.text(message.text) if number + 1 not in unread else "", at
            continue
        text = hiding.text(message.text) if message.role in _SPEAKING else ""
        if message.role is Role.USER and text:
            question = option_of(text, asked) or question_in(asked)
            context = f"asked in [m{asked_at}]: {question}" if question else ""
            units += said_in(text, at, context)
            asked = ""
        elif message.role is Role.ASSISTANT and text:
            units += concluded_in(text, at, closes=not message.calls)
            steps += edits_in(text, at)
            asked, asked_at = text, at
        _take_values(mentions, message, text, at, hiding)
    steps += steps_of(messages, where, hiding)
    units += done_in(sorted(steps, key=attrgetter("position")))
    of_tools = MOST_VALUES if room is None else max(_LEAST_OF_TOOLS, room // _TOKENS_A_VALUE)
    units += mentions.best(where, of_tools)
    return tuple(_without_revealed(units, hiding) if hiding.revealed else units)


def _without_revealed(units: Iterable[Evidence], hiding: Hiding) -> Iterator[Evidence]:
    """Of a sentence or a line only the secret goes; a value goes if it has one or is a piece of one."""
    for unit in units:
        if hiding.holds(f"{unit.value} {unit.context}"):
            masked = replace(unit, value=hiding.masked(unit.value), context=hiding.masked(unit.context))
            if unit.kind not in KIND_WEIGHT and masked != unit:
                yield masked
        else:
            yield unit


def _unread(messages: Sequence[Message]) -> set[int]:
    """Skip the middle of a span with more messages than a ledger keeps units: none would be chosen.

    All of the user's messages are still read, unless they alone exceed the limit.
    """
    opening = MOST_UNITS // 6
    middle = set(range(opening, len(messages) - MOST_UNITS + opening))
    by_user = [number for number in middle if messages[number].role is Role.USER]
    return middle.difference(by_user) if len(by_user) <= MOST_UNITS else middle


def _take_values(mentions: Mentions, message: Message, text: str, at: int, hiding: Hiding) -> None:
    if text:
        mentions.take(_values_of(text), USER if message.role is Role.USER else ASSISTANT, at)
    for part in message.parts:
        if isinstance(part, ToolCall):
            given = "\n".join(texts_in(hiding.arguments(part)))
            mentions.take(_values_of(given), CALL, at)
        elif isinstance(part, _OF_TOOLS):
            mentions.take(_shown_by(part.text, hiding), TOOL, at)


def _shown_by(output: str, hiding: Hiding) -> Mapping[str, EvidenceKind]:
    """The values of an output; one without any is not searched for secrets."""
    found = _values_of(_HINT.sub("", output) if "recall" in output else output, True)
    if found and (shown := hiding.text(output)) is not output:
        return _values_of(_HINT.sub("", shown), True)
    return found


def fold(earlier: Sequence[Evidence], units: Sequence[Evidence], summary: str = "") -> tuple[Evidence, ...]:
    """Merge an earlier ledger and a record's own units, each once.

    A value that comes up again keeps its newest message and gains rank. A file keeps its newest state, a
    command its newest result. Words and conclusions are only added.
    After a `summary`, the ledger is limited to a few times what such a summary holds.
    """
    global _last
    known = _last  # A summary is chosen from the same fold that its record needs right after.
    if known is None or known[0] is not earlier or known[1] is not units:
        known = _last = (earlier, units, _merged(earlier, units))
    return _bounded(known[2], summary)


_last: tuple[Sequence[Evidence], Sequence[Evidence], list[Evidence]] | None = None


def _merged(earlier: Sequence[Evidence], units: Sequence[Evidence]) -> list[Evidence]:
    values, keys = {unit.value for unit in units}, {(unit.kind, unit.value) for unit in units}
    kept: list[Evidence] = []
    merged: dict[tuple[EvidenceKind, str], Evidence] = {}  # what comes up again, and what is new
    for unit in earlier:
        if unit.value in values and (key := (unit.kind, unit.value)) in keys:
            merged[key] = unit
        else:
            kept.append(unit)
    for unit in units:
        key = (unit.kind, unit.value)
        before = merged.pop(key, None)
        if before is not None and unit.kind in KIND_WEIGHT:
            rank, untrusted = max(unit.rank, before.rank) + 0.5, unit.untrusted and before.untrusted
            unit = replace(unit, rank=rank, untrusted=untrusted, context=unit.context or before.context)
        elif before is not None and unit.kind is EvidenceKind.CONCLUDED:
            unit = replace(unit, rank=min(unit.rank, before.rank) * 0.5)  # repetition says little
        elif before is not None and unit.kind is EvidenceKind.SAID and len(unit.value) < 40:
            unit = before if before.context else unit
        merged[key] = unit
    return [*kept, *merged.values()]


def _bounded(units: list[Evidence], summary: str) -> tuple[Evidence, ...]:
    """Everything, or if that is too much: what was said first, what the summary holds, the best others."""
    most = min(MOST_UNITS, max(_FEWEST_UNITS, len(summary) // 10)) if summary else MOST_UNITS
    if len(units) <= most:
        return tuple(units)
    words = [place for place, unit in enumerate(units) if unit.kind in WORDS]
    held = holder(summary).among([units[place] for place in words], roughly=True)
    kept = {*words[:_OPENING], *(words[number] for number in held)}
    # Best first, newest first among equals: two stable sorts by number need no pairs.
    best = sorted(range(len(units)), key=[unit.message for unit in units].__getitem__, reverse=True)
    best.sort(key=[unit.rank for unit in units].__getitem__, reverse=True)
    said = [place for place in best if units[place].kind in WORDS and place not in kept]
    said = said[: max(0, MOST_UNITS - len(kept))]
    sizes = accumulate(len(units[place].value) for place in said)
    room = _TIMES_A_SUMMARY * len(summary) + _FEWEST_CHARS if summary else inf
    kept.update(place for place, size in zip(said, sizes, strict=True) if size <= room)
    # Ranks of conclusions and of values do not compare, and a listing has hundreds of values.
    stated = [place for place in best if units[place].kind is EvidenceKind.CONCLUDED]
    kept.update(stated[: most // 2])
    others = [place for place in best if units[place].kind not in WORDS and place not in kept]
    kept.update(others[: max(most // 2, most - len(kept))])
    return tuple([unit for place, unit in enumerate(units) if place in kept])
