"""The ledger: ranked, literal facts of a span, merged with those of earlier compactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath

from compact.core.evidence.actions import Step, StepKind
from compact.core.evidence.answers import answers_in
from compact.core.evidence.figures import label_beside
from compact.core.evidence.hiding import Hiding
from compact.core.evidence.kinship import kinship_of
from compact.core.evidence.lexicon import is_common_access
from compact.core.evidence.reading import Reading, read
from compact.core.evidence.releases import settle
from compact.core.evidence.rule_topics import newest
from compact.core.evidence.rules import rules_in
from compact.core.evidence.scan import ASSISTANT, CALL, TOOL, USER, Scanner, Sighting
from compact.model.message import Message
from compact.model.summary import Evidence, EvidenceKind

MAX_ITEMS = 4_000
RULE_RANK = 100.0
_USER_FOCUS = 0.8
"""A user who pastes a long report still means every line of it more than a tool means its listing."""
_APPROVAL_RANK = 6.0
_COMMON_ACCESS = 0.6
_UNSAID_OPTION = 0.3
"""`--oneline`, in a command that nobody speaks of."""
_COUNTER_LENGTH = 5
_COUNTER_RANK = 0.05

_KIND_WEIGHT = {
    EvidenceKind.PATH: 1.0,
    EvidenceKind.ID: 1.0,
    EvidenceKind.DATE: 0.9,
    EvidenceKind.SYMBOL: 0.8,
    EvidenceKind.URL: 0.6,
    EvidenceKind.NUMBER: 0.35,
    EvidenceKind.NAME: 0.25,
}
_SOURCE_WEIGHT = {USER: 1.2, CALL: 1.6, ASSISTANT: 1.2, TOOL: 0.8}


@dataclass(frozen=True, slots=True)
class Ledger:
    """Evidence, best first, and the tool steps it was read from."""

    items: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    """Their indexes count within the span; `positions` turns them into logical positions."""
    positions: tuple[int, ...] = ()
    reading: Reading | None = None
    """The span as it was read, so that whoever writes prose need not read it again."""
    hiding: Hiding | None = field(default=None, compare=False)
    """What must not be said, whoever says it."""
    previous: tuple[Evidence, ...] = ()
    """Earlier evidence, its rules as they stand after this span: this is what to merge the items with."""
    ended: frozenset[str] = frozenset()
    """Rules of before or of this span that do not stand any more, word for word."""


def extract(
    messages: Sequence[Message],
    positions: Sequence[int] = (),
    *,
    is_secret: Callable[[str], bool] | None = None,
    previous: Sequence[Evidence] = (),
) -> Ledger:
    """All evidence of `messages`, without a model. What `is_secret` recognizes is left out.

    Of `previous`, the evidence of earlier records, `Ledger.previous` tells what became of its rules.
    """
    where = tuple(positions) or tuple(range(len(messages)))
    hiding = Hiding(is_secret)
    scanner = Scanner(hiding)
    reading = read(messages)
    steps = scanner.scan(reading)
    count = max(1, len(messages))
    sightings = _without_partial_paths(scanner.sightings.values())
    visits = {seen.value: sum(seen.messages) for seen in sightings if seen.kind is EvidenceKind.PATH}
    kin = kinship_of(sightings)
    items = [
        _as_evidence(seen, _rank(seen, count, visits.get(seen.subject, 0), kin), where, reading)
        for seen in sightings
    ]
    items.extend(_step_evidence(steps, count, where))
    items.extend(replace(answer, rank=_APPROVAL_RANK) for answer in answers_in(reading, where))
    earlier = [item for item in previous if item.kind is EvidenceKind.RULE]
    settled = settle(earlier, rules_in(reading), reading, where, RULE_RANK, hiding.hides)
    items.extend(settled.said)
    others = (item for item in previous if item.kind is not EvidenceKind.RULE) if earlier else previous
    if is_secret is not None:
        items = [item for item in items if not hiding.hides(item.value, item.context)]
    return Ledger(
        _ranked(_without_counters(items))[:MAX_ITEMS], tuple(steps), where, reading, hiding,
        previous=(*settled.earlier, *others), ended=settled.ended,
    )  # fmt: skip


def merge(old: Sequence[Evidence], new: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Evidence of an earlier record and of a new span as one list, each value once, best first.

    A value seen again keeps the better rank and its newest message, and is untrusted only if both are.
    Old items lose some rank, rules none; a rule that a newer one takes back goes.
    """
    merged: dict[tuple[EvidenceKind, str], Evidence] = {}
    for item in old:
        if item.kind is not EvidenceKind.RULE:
            # Written out, for `replace` is slow and there may be thousands.
            merged[item.kind, item.value] = Evidence(
                item.kind, item.value, item.message, item.context, item.rank * 0.9, item.untrusted
            )
    for item in new:
        if item.kind is EvidenceKind.RULE:
            continue
        before = merged.get((item.kind, item.value))
        if before is not None:
            item = replace(
                item,
                rank=max(item.rank, before.rank) + 0.5,
                untrusted=item.untrusted and before.untrusted,
                context=item.context or before.context,
            )
        merged[item.kind, item.value] = item
    said = [item for item in (*old, *new) if item.kind is EvidenceKind.RULE]
    by_text = {item.value: item for item in said}
    rules = [
        replace(by_text[text], message=at)
        for text, at in newest((item.value, item.message) for item in sorted(said, key=_age))
    ]
    return _ranked([*rules, *_without_counters(merged.values())])[:MAX_ITEMS]


_COUNTED = re.compile(r"([A-Za-z]{2,})([1-9]?\d{1,3}|\d)")
"""`word12`: a word that is counted, unlike `inv_00012`."""


def _without_counters(items: Iterable[Evidence]) -> list[Evidence]:
    """Numbers that count on ("item 113, 114, …") step back, all but the first and the last of a run."""
    kept = list(items)
    runs: dict[str, set[int]] = {}
    counted: list[tuple[int, str, int]] = []
    for at, item in enumerate(kept):
        if item.kind is EvidenceKind.NUMBER and item.value.isdecimal():
            counted.append((at, item.context, int(item.value)))
        elif item.kind is EvidenceKind.ID and not item.context and (found := _COUNTED.fullmatch(item.value)):
            counted.append((at, f"{found.group(1)}#", int(found.group(2))))
    for _, run, value in counted:
        runs.setdefault(run, set()).add(value)
    for at, run, value in counted:
        item, others = kept[at], runs[run]
        if value - 1 in others and value + 1 in others and len(others) >= _COUNTER_LENGTH:
            kept[at] = replace(item, rank=min(item.rank, _COUNTER_RANK))
    return kept


def _age(item: Evidence) -> int:
    return item.message


def _ranked(items: Iterable[Evidence]) -> tuple[Evidence, ...]:
    # Rules stay in the order they were given; ties fall to the earlier message, then to the text.
    return tuple(sorted(items, key=lambda item: (-item.rank, item.message, item.value)))


def _rank(seen: Sighting, count: int, visits: int, kin: Mapping[str, float]) -> float:
    """How likely the value is needed again, as a product of what speaks for it.

    A value that passed from one mouth to another (a tool returned it, the agent called with it, the user
    asked for it) was used, which says most; then how often it came up, in how small a company, and how
    often the file it stands in was visited; and of what only tools said, how much it sounds like the rest.
    """
    weight = _KIND_WEIGHT[seen.kind]
    if seen.kind is EvidenceKind.NUMBER and not seen.value.isdigit():
        weight += 0.15  # an amount, a percentage or a measure says more than a bare count
    if seen.kind is EvidenceKind.SYMBOL and is_common_access(seen.value):
        weight *= _COMMON_ACCESS
    if seen.value[0] == "-" and not (seen.messages[USER] or seen.messages[ASSISTANT]):
        weight *= _UNSAID_OPTION
    focus = min(1.0, 2.5 * seen.density) ** 0.8
    if seen.messages[USER]:
        focus = max(focus, _USER_FOCUS)
    recency = 0.7 + 0.3 * (seen.last + 1) / count
    nearness = (1 + visits) ** 0.2 * (1 + kin.get(seen.value, 0.0))
    return round(float(_said(*seen.messages) * weight * focus * recency * nearness), 4)


@lru_cache(maxsize=4_096)
def _said(*messages: int) -> float:
    """What it says for a value that so many messages of each source name it."""
    sources = [source for source, count in enumerate(messages) if count]
    mentions = sum(min(count, 9) for count in messages)
    return float(sum(_SOURCE_WEIGHT[source] for source in sources) * len(sources) ** 0.5 * mentions**0.5)


def _as_evidence(seen: Sighting, rank: float, where: tuple[int, ...], reading: Reading) -> Evidence:
    context = seen.label
    if seen.kind is EvidenceKind.PATH and seen.lines:
        context = f"{context or 'seen'} {seen.lines}"
    elif not context and seen.subject and seen.subject != seen.value:
        context = f"in {_file_name(seen.subject)}"
    elif not context and seen.kind in (EvidenceKind.NUMBER, EvidenceKind.ID) and not seen.only_tools:
        context = label_beside(reading.texts[seen.at], seen.value, seen.kind)
    # A label is that of the message which gave it: of two amounts alike, one is the price.
    at = seen.labelled if seen.label and seen.kind is not EvidenceKind.PATH else seen.at
    return Evidence(seen.kind, seen.value, where[at], context, rank, seen.only_tools)


def _file_name(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if name.strip(".") else PurePosixPath(path).name


def _without_partial_paths(sightings: Iterable[Sighting]) -> list[Sighting]:
    """`fields.py` and `src/app/fields.py` are one file: the short form's use counts for the long one."""
    kept: list[Sighting] = []
    paths: list[Sighting] = []
    for seen in sightings:
        (paths if seen.kind is EvidenceKind.PATH else kept).append(seen)
    listed = {seen.value for seen in paths if seen.only_tools}
    whole_of: dict[str, Sighting] = {}
    paths.sort(key=lambda seen: (-seen.value.count("/"), -sum(seen.messages), seen.first, seen.value))
    for seen in paths:
        whole = whole_of.get(seen.value)
        if whole is not None:
            _absorb(whole, seen, only_listed=whole.value in listed)
            continue
        kept.append(seen)
        segments = seen.value.split("/")
        for start in range(1, len(segments)):
            short = "/".join(segments[start:])
            held = whole_of.get(short)
            # Of several files of that name, the one that is used most is meant.
            if held is None or sum(held.messages) < sum(seen.messages):
                whole_of[short] = seen
    return kept


def _absorb(whole: Sighting, part: Sighting, *, only_listed: bool) -> None:
    for source, messages in enumerate(part.messages):
        whole.messages[source] = max(whole.messages[source], messages)
    whole.first = min(whole.first, part.first)
    whole.last = max(whole.last, part.last)
    whole.density = max(whole.density, part.density)
    if part.label == StepKind.WROTE.value and whole.label != part.label:
        # What only tools name by the long name may have been moved there since.
        if not only_listed:
            whole.label, whole.at = part.label, part.at
    else:
        whole.label = whole.label or part.label
    whole.lines = whole.lines or part.lines


def _step_evidence(steps: Sequence[Step], count: int, where: tuple[int, ...]) -> list[Evidence]:
    found: dict[tuple[EvidenceKind, str], Evidence] = {}
    for step in steps:
        recency = 0.5 + 0.5 * (step.index + 1) / count
        if step.command:
            value = step.command if len(step.command) <= 160 else step.command[:159] + "…"
            rank = round((1.6 if step.failed else 1.0) * recency, 4)
            found[EvidenceKind.COMMAND, value] = Evidence(
                EvidenceKind.COMMAND, value, where[step.index], step.status, rank
            )
        if step.error:
            value = " ".join(step.error.split())[:240]
            context = step.command.split(" ")[0] if step.command else step.tool
            rank = round(1.8 * recency, 4)
            found[EvidenceKind.ERROR, value] = Evidence(
                EvidenceKind.ERROR, value, where[step.result_index], context, rank, True
            )
        for test in step.failing_tests:
            rank = round(1.4 * recency, 4)
            found[EvidenceKind.ERROR, test] = Evidence(
                EvidenceKind.ERROR, test, where[step.result_index], "failing test", rank, True
            )
    return list(found.values())
