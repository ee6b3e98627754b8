"""Prose and evidence as one summary: the model tells the story, the ledger keeps what stories lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil

from compact.core.checks import check_summary
from compact.core.evidence import extract, merge
from compact.core.evidence.block import Coverage, build
from compact.core.evidence.focus import focused
from compact.core.evidence.releases import LATER, said_later
from compact.core.render import UNTRUSTED_HEADING, neutralize, request_positions
from compact.core.survival import Holder, room_for, survival
from compact.errors import SummaryRefused
from compact.model.summary import Evidence, EvidenceKind, RefusalReason, Summary, SummaryRequest
from compact.ports import Summarizer, TokenCounter
from compact.summarizers._running import as_summary, summarize_async
from compact.summarizers.extractive import ExtractiveSummarizer

RULES_HEADING = "## Standing rules"
EVIDENCE_HEADING = "## Evidence"
_CHARS_PER_TOKEN = 3.2
"""Ids and paths take more tokens than prose; a first guess, the result is counted."""
_TRIES = 6
_RULES_SHARE = 0.8
"""Of the room for evidence: a rule lost is worse than a fact that can be looked up again."""


class Composer:
    """Asks `prose` for its part, checks it, and adds the evidence that it left out.

    Without `prose` the embedded summarizer writes both. All of it fits `request.max_tokens`: evidence takes
    what the survival floor needs, at most `evidence_share`, and whatever the prose leaves over when less
    than the floor survived.
    """

    renders_prompt = True

    def __init__(
        self,
        prose: Summarizer | None,
        counter: TokenCounter,
        *,
        survival_floor: float = 0.8,
        evidence_share: float = 0.5,
        min_chars: int = 1,
        is_secret: Callable[[str], bool] | None = None,
    ) -> None:
        self._prose = prose
        self._counter = counter
        self._floor = survival_floor
        self._share = evidence_share
        self._min_chars = min_chars
        self._is_secret = is_secret
        self._embedded = ExtractiveSummarizer(counter, is_secret=is_secret)

    def __repr__(self) -> str:
        return f"Composer({self._prose!r})"

    def summarize(self, request: SummaryRequest) -> Summary:
        if self._prose is None:
            return self._long_enough(self._embedded.summarize_within(request, self._floor))
        evidence = self._evidence(request)
        asked = self._prose_request(request, evidence)
        try:
            return self._compose(request, asked, evidence, as_summary(self._prose.summarize(asked), asked))
        except SummaryRefused as refused:
            asked = _cold(asked, refused)
        return self._compose(request, asked, evidence, as_summary(self._prose.summarize(asked), asked))

    async def asummarize(self, request: SummaryRequest) -> Summary:
        if self._prose is None:
            return self.summarize(request)
        evidence = self._evidence(request)
        asked = self._prose_request(request, evidence)
        try:
            return self._compose(request, asked, evidence, await summarize_async(self._prose, asked))
        except SummaryRefused as refused:
            asked = _cold(asked, refused)
        return self._compose(request, asked, evidence, await summarize_async(self._prose, asked))

    def _evidence(self, request: SummaryRequest) -> tuple[Evidence, ...]:
        before = request.previous_evidence
        where = tuple(request_positions(request))
        found = extract(request.messages, where, is_secret=self._is_secret, previous=before)
        items = merge(found.previous, found.items) if before else found.items
        if not request.focus:
            return items
        said = dict(zip(found.positions, (message.text for message in request.messages), strict=True))
        return focused(items, request.focus, said)

    def _prose_request(self, request: SummaryRequest, evidence: tuple[Evidence, ...]) -> SummaryRequest:
        _, rules = self._rules("", evidence, request.max_tokens)
        needed = max(int(room_for(evidence, self._floor) / _CHARS_PER_TOKEN), ceil(rules / _RULES_SHARE))
        reserved = min(needed, int(request.max_tokens * self._share))
        if request.strategy == "brief":
            reserved = 0  # five sentences are what was asked for
        return replace(request, max_tokens=max(1, request.max_tokens - reserved))

    def _compose(
        self,
        request: SummaryRequest,
        asked: SummaryRequest,
        evidence: tuple[Evidence, ...],
        answer: Summary,
    ) -> Summary:
        # The prose may take all that was allowed; what it leaves is the evidence's.
        prose = check_summary(answer.text, request, self._counter.count, min_chars=self._min_chars)
        text, untrusted, survived = prose, "", None
        before_repair: Mapping[str, float] = {}
        if request.strategy != "brief":
            reserved = request.max_tokens - asked.max_tokens
            text, untrusted = self._with_evidence(prose, evidence, request, reserved)
            left = request.max_tokens - self._counter.count(prose)
            survived = survival(evidence, text)
            if left > reserved and survived.get("all", 1.0) < self._floor:
                text, untrusted = self._with_evidence(prose, evidence, request, left)
                before_repair, survived = survived, survival(evidence, text)
        return replace(
            answer,
            text=text,
            tokens=self._counter.count(text),
            evidence=evidence,
            survival=survived if survived is not None else survival(evidence, text),
            survival_before_repair=before_repair,
            untrusted=untrusted,
            strategy=request.strategy,
        )

    def _with_evidence(
        self, prose: str, evidence: tuple[Evidence, ...], request: SummaryRequest, tokens: int
    ) -> tuple[str, str]:
        """The prose with the rules that it lacks and as much other evidence after it as `tokens` allow."""
        rules, used = self._rules(prose, evidence, int(tokens * _RULES_SHARE))
        plain = "\n\n".join(filter(None, (prose, rules)))
        room = int((tokens - used) * _CHARS_PER_TOKEN)
        for _ in range(_TRIES):
            if room < len(EVIDENCE_HEADING) + 20:
                break
            trusted, untrusted = self._block(plain, evidence, request, room)
            text = "\n\n".join(filter(None, (prose, "\n".join(filter(None, (rules, trusted))), untrusted)))
            if self._counter.count(text) <= request.max_tokens:
                return text, untrusted
            room = int(room * 0.8)
        return (plain if self._counter.count(plain) <= request.max_tokens else prose), ""

    def _rules(self, prose: str, evidence: tuple[Evidence, ...], tokens: int) -> tuple[str, int]:
        """Rules that the prose lacks, in the order in which they were given, and what they take."""
        holds = Holder(prose)
        lines, used = [RULES_HEADING], self._counter.count(RULES_HEADING) + 1
        for item in sorted(evidence, key=lambda item: item.message):
            if item.kind is not EvidenceKind.RULE or (holds(item) and not item.context.startswith(LATER)):
                continue
            line = neutralize(f"- “{' '.join(item.value.split())}” [m{item.message}]{said_later(item)}")
            size = self._counter.count(line) + 1
            if used + size <= tokens:
                lines.append(line)
                used += size
        return ("\n".join(lines), used) if len(lines) > 1 else ("", 0)

    def _block(
        self, told: str, evidence: tuple[Evidence, ...], request: SummaryRequest, room: int
    ) -> tuple[str, str]:
        room -= len(EVIDENCE_HEADING) + len(UNTRUSTED_HEADING) + 4
        newest = min(request_positions(request), default=0) if request.previous_evidence else 0
        block = build(evidence, max(0, room), Coverage(told), newest_from=newest)
        trusted = [EVIDENCE_HEADING, *block.trusted] if block.trusted else []
        untrusted = [UNTRUSTED_HEADING, *block.untrusted] if block.untrusted else []
        return "\n".join(trusted), "\n".join(untrusted)

    def _long_enough(self, summary: Summary) -> Summary:
        size = len(summary.text.strip())
        if size and size >= self._min_chars:
            return summary
        reason = RefusalReason.TOO_SHORT if size else RefusalReason.EMPTY
        raise SummaryRefused(
            reason.value,
            f"The summary was refused ({reason.value}): it has {size} characters, {self._min_chars} are "
            "wanted. Nothing was changed.",
        )


_NOT_OF_THE_PREFIX = frozenset({RefusalReason.REFUSAL, RefusalReason.TOO_LONG})
"""These have steps of their own in the failure ladder."""


def _cold(asked: SummaryRequest, refused: SummaryRefused) -> SummaryRequest:
    """The request to make where an answer on the cached prefix did not pass; raises where there was none."""
    if asked.prefix_messages is None or refused.reason in _NOT_OF_THE_PREFIX:
        raise refused
    return asked.without_prefix()
