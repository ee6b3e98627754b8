"""Prose and evidence as one summary: the model tells the story, the ledger keeps what stories lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil

from compact.core.checks import check_summary
from compact.core.evidence import extract, merge
from compact.core.evidence.focus import focused
from compact.core.render import request_positions
from compact.core.survival import Holder, lacking, room_for, survival
from compact.errors import SummaryRefused
from compact.model.summary import Evidence, EvidenceKind, RefusalReason, Summary, SummaryRequest
from compact.ports import Summarizer, TokenCounter
from compact.summarizers._beside import CHARS_PER_TOKEN, RULES_SHARE, Beside
from compact.summarizers._running import as_summary, summarize_async
from compact.summarizers.chain import Chain
from compact.summarizers.extractive import ExtractiveSummarizer


class Composer:
    """Asks `prose` for its part, checks it, and adds the evidence that it left out.

    Without `prose`, or where a chain comes to it, the embedded summarizer writes both. All of it fits
    `request.max_tokens`: evidence takes what the survival floor needs, at most `evidence_share`. Where less
    than the floor survived, it takes what the prose leaves over; of kinds that are under the floor while the
    whole is not, what the floor asks for, within `evidence_share` again.
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
        self._chain = prose if isinstance(prose, Chain) else Chain([prose or self._embedded])
        self._beside = Beside(counter)

    def __repr__(self) -> str:
        return f"Composer({self._prose!r})"

    def summarize(self, request: SummaryRequest) -> Summary:
        return self._chain.first(request, self._by)

    async def asummarize(self, request: SummaryRequest) -> Summary:
        return await self._chain.afirst(request, self._aby)

    def _by(self, link: Summarizer, request: SummaryRequest) -> Summary:
        if isinstance(link, ExtractiveSummarizer):
            return self._long_enough(self._embedded.summarize_within(request, self._floor))
        evidence = self._evidence(request)
        asked = self._prose_request(request, evidence)
        try:
            return self._compose(request, asked, evidence, as_summary(link.summarize(asked), asked))
        except SummaryRefused as refused:
            asked = _cold(asked, refused)
        return self._compose(request, asked, evidence, as_summary(link.summarize(asked), asked))

    async def _aby(self, link: Summarizer, request: SummaryRequest) -> Summary:
        if isinstance(link, ExtractiveSummarizer):
            return self._by(link, request)
        evidence = self._evidence(request)
        asked = self._prose_request(request, evidence)
        try:
            return self._compose(request, asked, evidence, await summarize_async(link, asked))
        except SummaryRefused as refused:
            asked = _cold(asked, refused)
        return self._compose(request, asked, evidence, await summarize_async(link, asked))

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
        rules = self._beside.room_for_rules(evidence, request.max_tokens)
        needed = max(int(room_for(evidence, self._floor) / CHARS_PER_TOKEN), ceil(rules / RULES_SHARE))
        reserved = min(needed, int(request.max_tokens * self._share))
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
        reserved = request.max_tokens - asked.max_tokens
        brief = request.strategy == "brief"
        # A brief is no place for all that there is room for: the rules, and what the floor asks for.
        told = self._with_lacking(evidence, prose) if brief else evidence
        text, untrusted = self._beside.written(prose, told, request, reserved)
        survived = survival(evidence, text)
        before_repair: Mapping[str, float] = {}
        room, narrow = self._room_to_repair(request, prose, survived)
        if room > reserved:
            told = self._with_lacking(evidence, text) if narrow or brief else evidence
            repaired_text, its_untrusted = self._beside.written(prose, told, request, room)
            repaired = survival(evidence, repaired_text)
            if repaired["all"] > survived["all"]:
                text, untrusted, before_repair, survived = repaired_text, its_untrusted, survived, repaired
        self._refuse_crowding(prose, text, evidence, asked.max_tokens, reserved)
        return replace(
            answer,
            text=text,
            tokens=self._counter.count(text),
            evidence=evidence,
            survival=survived,
            survival_before_repair=before_repair,
            untrusted=untrusted,
            strategy=request.strategy,
        )

    def _refuse_crowding(
        self, prose: str, text: str, evidence: tuple[Evidence, ...], asked: int, reserved: int
    ) -> None:
        """Prose longer than was asked for may not push out rules that would have had their room beside it."""
        size = self._counter.count(prose)
        if size <= asked:
            return
        holds = Holder(text)
        kept = sum(item.kind is EvidenceKind.RULE and holds(item) for item in evidence)
        if kept < self._beside.rules_fitting(evidence, int(reserved * RULES_SHARE)):
            reason = RefusalReason.TOO_LONG.value
            raise SummaryRefused(
                reason,
                f"The summary was refused ({reason}): with {size:,} tokens, {asked:,} were asked for, it "
                "leaves no room for the user's standing rules. Nothing was changed.",
            )

    def _room_to_repair(
        self, request: SummaryRequest, prose: str, survived: Mapping[str, float]
    ) -> tuple[int, bool]:
        """Tokens that evidence may take because too little survived, and whether only of some kinds."""
        if min(survived.values(), default=1.0) >= self._floor:
            return 0, False
        left = request.max_tokens - self._counter.count(prose)
        if survived["all"] < self._floor:
            return left, False
        return min(left, int(request.max_tokens * self._share)), True

    def _with_lacking(self, evidence: tuple[Evidence, ...], text: str) -> list[Evidence]:
        """What `text` holds already, and so much else of each kind that the floor is reached."""
        holds = Holder(text)
        wanted = {id(item) for item in lacking(evidence, text, self._floor)}
        return [
            item for item in evidence if item.kind is EvidenceKind.RULE or id(item) in wanted or holds(item)
        ]

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
