"""The outcome of each conversation, and totals by source, preset and window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from compact.evaluation.scoring import Score

EVERY_SOURCE = "all"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One conversation through one preset at one window."""

    case: str
    source: str
    preset: str
    window: str
    """As it was requested: "20%" or "8,000"."""
    window_tokens: int
    tokens_before: int
    """Tokens of the conversation without system prompt and tools, which no compaction can change."""
    tokens_after: int = 0
    identifiers: Score = field(default_factory=Score)
    hard: Score = field(default_factory=Score)
    questions: Score = field(default_factory=Score)
    words: Score = field(default_factory=Score)
    """The user's phrases that occur again after the cut."""
    conclusions: Score = field(default_factory=Score)
    """The same for the assistant."""
    prompts: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    compactions: int = 0
    violations: int = 0
    seconds: float = 0.0
    error: str = ""
    """Why the last prompt could not be built; its probes count as lost, its tokens are not counted."""

    @property
    def kept(self) -> float | None:
        return self.tokens_after / self.tokens_before if self.tokens_before and not self.error else None


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: totals over the conversations of a source."""

    source: str
    preset: str
    window: str
    conversations: int
    failed: int
    identifiers: Score
    hard: Score
    questions: Score
    words: Score
    conclusions: Score
    tokens_before: int
    tokens_after: int
    prompts: int
    prompt_tokens: int
    cached_tokens: int
    compactions: int
    violations: int
    seconds: float

    @property
    def ratio(self) -> float | None:
        """The share of tokens kept."""
        return self.tokens_after / self.tokens_before if self.tokens_before else None

    @property
    def cache_hits(self) -> float | None:
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None

    def as_json(self) -> dict[str, Any]:
        shown = asdict(self)
        for name in ("identifiers", "hard", "questions", "words", "conclusions"):
            score: Score = getattr(self, name)
            shown[name] = {"kept": score.kept, "of": score.of, "share": rounded(score.share)}
        shown["seconds"] = round(self.seconds, 3)
        return {**shown, "ratio": rounded(self.ratio), "cache_hits": rounded(self.cache_hits)}


def rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def rows_of(outcomes: Iterable[Outcome]) -> list[Row]:
    """A row for every source, window and preset, in their original order; then one for all sources."""
    grouped: dict[tuple[str, str, str], list[Outcome]] = {}
    sources: dict[str, None] = {}
    windows: dict[str, None] = {}
    presets: dict[str, None] = {}
    for outcome in outcomes:
        sources[outcome.source] = windows[outcome.window] = presets[outcome.preset] = None
        for source in (outcome.source, EVERY_SOURCE):
            grouped.setdefault((source, outcome.window, outcome.preset), []).append(outcome)
    # With a single source, the total would only repeat it.
    shown = [*sources, *([EVERY_SOURCE] if len(sources) > 1 else [])]
    return [
        _summed(source, preset, window, grouped[source, window, preset])
        for source in shown
        for window in windows
        for preset in presets
        if (source, window, preset) in grouped
    ]


def _summed(source: str, preset: str, window: str, outcomes: Sequence[Outcome]) -> Row:
    sound = [outcome for outcome in outcomes if not outcome.error]

    def total(of: Callable[[Outcome], int], among: Sequence[Outcome] = outcomes) -> int:
        return sum(of(outcome) for outcome in among)

    return Row(
        source=source,
        preset=preset,
        window=window,
        conversations=len(outcomes),
        failed=len(outcomes) - len(sound),
        identifiers=sum((outcome.identifiers for outcome in outcomes), Score()),
        hard=sum((outcome.hard for outcome in outcomes), Score()),
        questions=sum((outcome.questions for outcome in outcomes), Score()),
        words=sum((outcome.words for outcome in outcomes), Score()),
        conclusions=sum((outcome.conclusions for outcome in outcomes), Score()),
        tokens_before=total(lambda outcome: outcome.tokens_before, sound),
        tokens_after=total(lambda outcome: outcome.tokens_after, sound),
        prompts=total(lambda outcome: outcome.prompts),
        prompt_tokens=total(lambda outcome: outcome.prompt_tokens),
        cached_tokens=total(lambda outcome: outcome.cached_tokens),
        compactions=total(lambda outcome: outcome.compactions),
        violations=total(lambda outcome: outcome.violations),
        seconds=sum(outcome.seconds for outcome in outcomes),
    )
