"""How a preparation ended, as values, and the results of `prepare`, `usage` and the overflow check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from compact.model.event import Reason
from compact.model.plan import Plan
from compact.model.record import Record
from compact.model.summary import Summary
from compact.model.value import value


class Stage(StrEnum):
    """Where a compaction failed."""

    PLAN = "plan"
    SUMMARIZE = "summarize"
    CHECK = "check"
    ARCHIVE = "archive"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction ran and was committed."""

    record: Record
    plan: Plan = field(repr=False)
    items: Sequence[Any] = field(repr=False)
    """The new view."""
    tokens_after: int
    summary: Summary | None = None
    warnings: tuple[str, ...] = ()
    """What a person should know, because it is not what they would expect."""


@value
class Unchanged:
    """Nothing was compacted, and why."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Failed:
    """A compaction failed; the session is unchanged."""

    stage: Stage
    cause: Exception


@dataclass(frozen=True, slots=True)
class Passed:
    """Preparing failed, and the prompt is returned unchanged (`on_error="pass"`)."""

    cause: Exception


Outcome = Compacted | Unchanged | Failed | Passed


def reason_of(outcome: Outcome) -> Reason:
    """The outcome in one word of the closed vocabulary."""
    match outcome:
        case Unchanged(reason=reason):
            return reason
        case Compacted(plan=plan):
            return plan.reason
        case Failed():
            return Reason.FAILED
        case Passed():
            return Reason.PASSED


@value
class TokenCounts:
    """The size of the prompt as it came, after each step of a compaction, and as it is returned."""

    before: int
    after_prune: int
    after_compact: int
    final: int


@value
class Debug:
    """What was done to the prompt, and why."""

    outputs_cleared: int = 0
    messages_compacted: int = 0
    tools_touched: tuple[str, ...] = ()
    """Tools whose outputs were cleared, and discovered tools that no kept message refers to."""
    reason: Reason = Reason.BELOW_TRIGGER
    warnings: tuple[str, ...] = ()


@value
class Prepared:
    """What `prepare` returns (S2.22)."""

    messages: Sequence[Any]
    was_pruned: bool
    was_compacted: bool
    tokens: TokenCounts
    debug: Debug
    outcome: Outcome = Unchanged(Reason.BELOW_TRIGGER)
    """Compacted, Unchanged(reason), Failed(stage, cause) or Passed(cause)."""
    tools: Any = None
    """The tool list to send: as given, minus discovered tools that nothing refers to any more (S2.17)."""
    record: Record | None = None
    stable: tuple[int, ...] = ()
    """Indexes of `messages` after which a cache breakpoint pays: the summary, the last stable message."""


@dataclass(frozen=True, slots=True)
class OverflowCheck:
    """The result of `overflow`, in tokens: `available` is what is left of the window without the reserve."""

    is_overflow: bool
    current: int
    available: int
    model_limit: int
    output_reserve: int


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """The result of `usage`: the view that would be sent, by share."""

    tokens: int
    window: int
    percent: float
    breakdown: Mapping[str, int] = field(default_factory=dict)
    budget: int = 0
    trigger: int = 0
    exact: bool = False
    record: Record | None = None
    """The compaction that the view begins with; one that another policy made stands, but is not used."""
