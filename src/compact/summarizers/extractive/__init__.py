"""The embedded summarizer: offline, deterministic, milliseconds. Nothing is said that the span does not "
"say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compact.core.seeming import whole
from compact.core.survival import survival
from compact.model.summary import Summary, SummaryRequest
from compact.ports import TokenCounter
from compact.summarizers.extractive.material import Material, gather
from compact.summarizers.extractive.strategies import Draft, write

__all__ = ["ExtractiveSummarizer"]

_SAMPLE_CHARS = 8_000
_TRIES = 5
_REPAIRING_SHARES = (0.4, 0.65)
"""Shares of the room that evidence gets when too little of it survived; prose keeps the rest."""


class ExtractiveSummarizer:
    """Fills each strategy's sections from the structure of the conversation, without a model."""

    renders_prompt = True

    def __init__(self, counter: TokenCounter, *, is_secret: Callable[[str], bool] | None = None) -> None:
        self._counter = counter
        self._is_secret = is_secret

    def __repr__(self) -> str:
        return "ExtractiveSummarizer()"

    def summarize(self, request: SummaryRequest) -> Summary:
        """A summary of at most `request.max_tokens`; empty when there is no room or nothing to say."""
        return self.summarize_within(request, 0.0)

    def summarize_within(self, request: SummaryRequest, survival_floor: float) -> Summary:
        """As `summarize`; below the floor, evidence gets more of the room as long as more survives."""
        material = gather(request, self._is_secret)
        best = first = self._written(material, request, 0.0)
        for share in _REPAIRING_SHARES if request.strategy != "brief" else ():
            if best.survival.get("all", 1.0) >= survival_floor:
                break
            material.choosers.clear()
            again = self._written(material, request, share)
            if again.survival.get("all", 1.0) > best.survival.get("all", 1.0):
                best = replace(again, survival_before_repair=first.survival)
        return best

    def _written(self, material: Material, request: SummaryRequest, evidence_share: float) -> Summary:
        draft, tokens = self._fit(material, request, evidence_share)
        return Summary(
            text=whole(draft.text),
            tokens=tokens,
            evidence=material.evidence,
            survival=survival(material.evidence, draft.text),
            untrusted=whole(draft.untrusted),
            strategy=request.strategy,
            model="extractive",
        )

    def _fit(self, material: Material, request: SummaryRequest, evidence_share: float) -> tuple[Draft, int]:
        """Write, count, and write smaller until it fits: rooms are in characters, the limit in tokens."""
        limit = request.max_tokens
        room = int(limit * self._chars_per_token(material))
        draft = Draft("", "", ())
        for _ in range(_TRIES):
            draft = write(material, request.strategy, room, evidence_share)
            tokens = self._counter.count(draft.text)
            if tokens <= limit:
                return draft, tokens
            room = int(room * min(0.97, limit / tokens * 0.96))  # the shorter, the denser
        return self._cut(draft, limit)

    def _chars_per_token(self, material: Material) -> float:
        sample = "\n".join(unit.text for unit in material.units[:200])[: _SAMPLE_CHARS // 2]
        sample += "\n".join(item.value for item in material.evidence[:300])[: _SAMPLE_CHARS // 2]
        return len(sample) / max(1, self._counter.count(sample)) if sample else 4.0

    def _cut(self, draft: Draft, limit: int) -> tuple[Draft, int]:
        trusted, untrusted = draft.trusted.splitlines(), draft.untrusted.splitlines()
        while trusted or untrusted:
            (untrusted or trusted).pop()
            shorter = Draft("\n".join(trusted), "\n".join(untrusted), draft.shown)
            tokens = self._counter.count(shorter.text)
            if tokens <= limit:
                return shorter, tokens
        return Draft("", "", ()), 0
