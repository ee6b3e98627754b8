"""What a compaction would do, as a value that can be shown, tested and replayed without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from compact.model.event import Reason
from compact.model.message import Message
from compact.model.record import Cleared
from compact.model.value import value


class Action(StrEnum):
    """What happens to one message of the view."""

    KEEP = "kept"
    PIN = "pinned"
    CLEAR = "cleared"
    SUMMARIZE = "summarized"
    DROP = "dropped"
    INJECT = "injected"
    WARN = "warning"


class Mode(StrEnum):
    NONE = "none"
    PRUNE = "prune"
    SUMMARIZE = "summarize"
    DISCARD = "discard"


@value
class PlanStep:
    """One line of a plan: message `index` of the view, or None for an injection or a warning."""

    action: Action
    index: int | None
    tokens: int
    saves: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers a plan is made for, in tokens as we count them."""

    window: int
    budget: int
    trigger: int
    fixed: int
    """System prompt and tool schemas given separately, and priming: what no compaction can change."""
    summary: int
    """The most a summary may take, evidence included."""
    scale: float = 1.0
    """The provider's count divided by ours."""
    marks: tuple[tuple[int, int], ...] = ()
    """Window, budget and trigger: ours, and as configured. Converting back and forth would miss them by
    rounding."""
    trigger_above: bool = False
    """Whether the trigger is reached only above it, not at it."""

    def reached(self, total: int) -> bool:
        """Whether a prompt of this size reaches the trigger."""
        return total > self.below_trigger

    @property
    def below_trigger(self) -> int:
        """The largest prompt that does not reach the trigger."""
        return self.trigger if self.trigger_above else self.trigger - 1

    def real(self, tokens: int) -> int:
        """Tokens as the provider counts them, for display."""
        if self.scale == 1.0:
            return tokens
        return next((real for ours, real in self.marks if ours == tokens), round(tokens * self.scale))

    def ours(self, real: int) -> int:
        """Converts tokens as the provider counts them to our own."""
        return real if self.scale == 1.0 else round(real / self.scale)

    def real_parts(self, parts: Mapping[str, int], total: int) -> dict[str, int]:
        """The same for parts of a whole. The rounding difference goes to the largest part, so that they add
        up."""
        real = {name: self.real(value) for name, value in parts.items()}
        if real:
            real[max(real, key=lambda name: real[name])] += total - sum(real.values())
        return real


@dataclass(frozen=True, slots=True)
class KeptCounts:
    pinned: int
    recent_turns: int
    tool_pairs: int


@dataclass(frozen=True, slots=True)
class Plan:
    mode: Mode
    reason: Reason
    triggered: bool
    limits: Limits
    before: int
    after: int
    """What is expected to be sent; the summary counts with its maximum size."""
    steps: tuple[PlanStep, ...] = ()
    kept_counts: KeptCounts = KeptCounts(0, 0, 0)
    leading: tuple[int, ...] = ()
    """View indexes that come before the summary or marker, in order."""
    recent: tuple[int, ...] = ()
    """View indexes that come after it, in order."""
    replaced: tuple[int, ...] = ()
    """View indexes that are removed: summarized or dropped."""
    cleared: Mapping[int, Cleared] = field(default_factory=dict)
    cleared_tools: tuple[str, ...] = ()
    summary_tokens: int = 0
    strategy: str = ""
    carries_summary: bool = True
    """Whether the earlier summary stays if no new one is made."""
    marked: bool = False
    """Whether a marker replaces what is removed without a summary."""
    messages: tuple[Message, ...] = field(default=(), compare=False)
    """The view that the indexes refer to, for display. Not compared: equal input makes equal plans."""
    insufficient: Mapping[str, int] | None = None
    """The sum that does not fit, if not even the floor does."""

    @property
    def saved_by_clearing(self) -> int:
        """What cleared and shortened tool outputs save, as the provider counts."""
        return self.limits.real(sum(step.saves for step in self.steps if step.action is Action.CLEAR))

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(step.detail for step in self.steps if step.action is Action.WARN)
