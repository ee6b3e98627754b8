"""The embedded summarizer: offline, deterministic, takes milliseconds, adds nothing to what the span says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, islice

from compact.core.render import UNTRUSTED_HEADING, is_empty_failure, neutralize, request_positions
from compact.core.seeming import whole
from compact.evidence import Choice, extract, fold
from compact.evidence.choose import Candidate, Group
from compact.evidence.pool import pool
from compact.evidence.reading import sentences
from compact.evidence.said import SHOWN
from compact.evidence.secrets import Redacts
from compact.evidence.survival import counted, survival
from compact.evidence.words import clip
from compact.model.message import MessageKind
from compact.model.sections import SectionKind, sections_of
from compact.model.summary import EMBEDDED, Evidence, EvidenceKind, Summary, SummaryRequest
from compact.ports import TokenCounter
from compact.summarizers.extractive.render import LAST_SAID, Draft, draft
from compact.summarizers.extractive.strategies import Strategy, strategy_for

__all__ = ["ExtractiveSummarizer", "Material", "fitted", "kept_units"]

_SAMPLE_CHARS, _SAMPLE_UNITS = 6_000, 150
# Costs are estimates: if less than this share is used, more is chosen; of too much the last choices go first.
_TRIES, _WELL_FILLED = 3, 0.97
_SHORT_LIST = 400  # characters of tools' values that any summary may have, however little else it says
_SLIVER, _LONG_LINE, _ENDING = 12, 420, ".… "


class Material:
    """One reading of the request: its own units, and the ledger with those of earlier records."""

    def __init__(
        self, request: SummaryRequest, redactor: Redacts | None = None, *, retell: bool = False
    ) -> None:
        """`retell`: also count lines of an earlier summary that no ledger has; no model carries them on."""
        has_content = [not is_empty_failure(message) for message in request.messages]
        messages = list(compress(request.messages, has_content))
        positions = list(compress(request_positions(request), has_content))
        earlier = request.previous_evidence
        self.own = extract(messages, positions, earlier, redactor=redactor, room=request.max_tokens)
        inside = [message.text for message in messages if message.kind is MessageKind.SUMMARY]
        self.summary = "\n".join(filter(None, (request.previous_summary, *inside)))
        if retell:
            self.own = (*_repeated(self.summary, earlier), *self.own)
        self.since = min(positions, default=0)
        """The first message of this span; ledger units before it are from earlier spans."""
        self.ledger = fold(earlier, self.own)


def _repeated(summary: str, ledger: Sequence[Evidence]) -> Iterator[Evidence]:
    """Lines of an earlier summary that are not in the ledger: a model's prose, or a record without one."""
    if not summary:
        return
    # Most lines are unchanged conclusions; only for the others is the whole ledger searched.
    concluded = {unit.value.rstrip(_ENDING) for unit in ledger if unit.kind is EvidenceKind.CONCLUDED}
    longest_first = sorted(concluded, key=len, reverse=True)
    all_held = ""
    for section in sections_of(neutralize(summary.partition(UNTRUSTED_HEADING)[0])):
        if ledger and section.kind not in (SectionKind.OTHER, SectionKind.CONCLUSIONS):
            continue
        for item in section.items:
            at = min(item.positions, default=0)
            line = " ".join(item.text.split()).removeprefix(LAST_SAID)
            if all(said.rstrip(_ENDING) in concluded for said in sentences(line)):
                continue
            # A line holds several; where one ends without a mark, they would read as one new sentence.
            for known in filter(line.__contains__, longest_first):
                line = re.sub(rf"(?:^|(?<=[.…;!?] )){re.escape(known)}(?=;|[.…]*(?:$| [^a-z]))", "\n", line)
            all_held = all_held or "\n".join(unit.value for unit in ledger)
            for said in sentences(line):
                if len(said) > _SLIVER and said.rstrip(_ENDING) not in all_held:
                    line = clip(said, _LONG_LINE)
                    yield Evidence(EvidenceKind.CONCLUDED, line, at, "", 1.0, untrusted=True)


class ExtractiveSummarizer:
    """Fills each strategy's sections from the structure of the conversation, without a model."""

    renders_prompt = True

    def __init__(self, counter: TokenCounter, *, redactor: Redacts | None = None) -> None:
        self._counter = counter
        self._redactor = redactor

    def __repr__(self) -> str:
        return "ExtractiveSummarizer()"

    def summarize(self, request: SummaryRequest) -> Summary:
        """A summary of at most `request.max_tokens`; empty if there is no room or nothing to say."""
        material = Material(request, self._redactor, retell=True)
        made, tokens = fitted(
            material, strategy_for(request.strategy), request.max_tokens, self._counter.count, request.focus
        )
        text = whole(made.text)
        kept = counted(material.ledger, text)
        return Summary(
            text=text,
            tokens=tokens,
            evidence=material.ledger,
            added=kept_units(material, len(text)),
            survival=survival(kept),
            untrusted=whole(made.untrusted),
            strategy=request.strategy,
            model=EMBEDDED,
            kept=kept,
        )


def fitted(
    material: Material,
    strategy: Strategy,
    limit: int,
    count: Callable[[str], int],
    focus: str = "",
    before: str = "",
) -> tuple[Draft, int]:
    """The choice for that many tokens as text, and its size; `before` is prose that precedes it."""
    all_chars = limit * _chars_per_token(material.ledger, count)
    headings = sum(len(title) + 4 for title in (*dict(strategy.headings), UNTRUSTED_HEADING))
    room = max(all_chars / 2, all_chars - headings)
    among = pool(material.ledger, material.since, int(room), strategy.shares.all_words, material.summary)
    choice = Choice(material.ledger, focus, before, among)

    def written(picked: Sequence[Candidate]) -> tuple[Draft, int]:
        made = draft(picked, strategy)
        return made, count(made.text)

    picked = list(choice.take(int(room), strategy.shares))
    made, tokens = written(picked) if picked else (Draft("", ""), 0)
    for _ in range(_TRIES):
        if not 0 < tokens < limit * _WELL_FILLED:
            break
        room *= limit / tokens
        taken = choice.take(int(room), strategy.shares)
        if len(taken) == len(picked):
            break
        picked = list(taken)
        made, tokens = written(picked)
    share, of_tools = strategy.shares.tool_values, sum(one.cost for one in picked if one.group is Group.TOOL)
    short = min(_SHORT_LIST, share * all_chars)
    over = min(of_tools - short, (of_tools - share * len(before + made.text)) / (1 - share))
    if over > 0:
        picked = _without_last(picked, over, (Group.TOOL,))
        made, tokens = written(picked)
    while tokens > limit and picked:
        size = sum(one.cost for one in picked)
        picked = _without_last(picked, size * max(0.005, 1 - limit / tokens), tuple(Group))
        made, tokens = written(picked)
    if not picked:
        return _at_least_something(material, strategy, limit, count)
    return made, tokens


def _at_least_something(
    material: Material, strategy: Strategy, limit: int, count: Callable[[str], int]
) -> tuple[Draft, int]:
    """The beginning of the first thing that was said, if no unit fits as a whole."""
    said = next((unit for unit in material.ledger if unit.context != SHOWN and " " in unit.value), None)
    if said is None:
        return Draft("", ""), 0
    for chars in (3 * limit, 2 * limit, limit):
        shown = replace(said, value=clip(said.value, max(chars - 30, 8)), context="")
        made = draft([Candidate(shown, 0, 0, Group.OWN)], strategy)
        if made.text and (tokens := count(made.text)) <= limit:
            return made, tokens
    return Draft("", ""), 0


def _without_last(picked: Sequence[Candidate], chars: float, groups: tuple[Group, ...]) -> list[Candidate]:
    """Without that many characters of the last choices of these groups; of a single one, if it is enough."""
    late = [one for one in picked[len(picked) * 2 // 3 :] if one.group in groups and one.cost >= chars]
    if late and late[-1].group is not Group.OWN:
        return [one for one in picked if one is not late[-1]]
    kept = []
    for one in reversed(picked):
        if chars > 0 and one.group in groups:
            chars -= one.cost
        else:
            kept.append(one)
    return kept[::-1]


def kept_units(material: Material, size: int) -> tuple[Evidence, ...]:
    """What the record keeps of its own units: all words, and whatever else later summaries may use."""
    room = {False: 6 * size + 4_000, True: 3 * size + 4_000}
    kept = []
    for unit in material.own:
        if unit.kind is not EvidenceKind.SAID:
            is_value = unit.kind is not EvidenceKind.CONCLUDED and unit.kind is not EvidenceKind.DONE
            room[is_value] -= len(unit.value) + 8
            if room[is_value] < 0:
                continue
        kept.append(unit)
    return material.own if len(kept) == len(material.own) else tuple(kept)


def _chars_per_token(ledger: Sequence[Evidence], count: Callable[[str], int]) -> float:
    speech = (EvidenceKind.SAID, EvidenceKind.CONCLUDED)
    spoken = islice((unit.value for unit in ledger if unit.kind in speech), _SAMPLE_UNITS)
    values = islice((unit.value for unit in ledger if unit.kind not in speech), _SAMPLE_UNITS)
    sample = "\n".join(spoken)[: _SAMPLE_CHARS * 2 // 3] + ", ".join(values)[: _SAMPLE_CHARS // 3]
    return len(sample) / max(1, count(sample)) if sample else 4.0
