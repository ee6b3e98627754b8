"""Whether to compact now. The effective trigger never lies above the budget."""

from __future__ import annotations

from dataclasses import dataclass

from compact.model.event import Reason
from compact.model.plan import Limits
from compact.model.policy import Policy


@dataclass(frozen=True, slots=True)
class Facts:
    """What the decision rests on."""

    total: int
    finished_turns: int
    has_summary: bool
    newest_user_tokens: int = 0
    """Tokens of an unanswered newest user message."""
    after_last: int | None = None
    """What the last compaction left, if there was one."""


def decide(facts: Facts, limits: Limits, policy: Policy) -> tuple[bool, Reason]:
    over_budget = facts.total > limits.budget
    reason = _reason(facts, limits, policy)
    if reason is None and not over_budget:
        return False, Reason.BELOW_TRIGGER
    if over_budget:
        return True, Reason.OVERFLOW
    if facts.newest_user_tokens > policy.long_message_pct * limits.window:
        return False, Reason.LONG_MESSAGE
    if reason is Reason.OVERFLOW and facts.after_last is not None:
        # Without growth since the last compaction another one would find nothing new to take.
        grown = facts.total - facts.after_last
        if 0 <= grown < policy.growth_pct * limits.window:
            return False, Reason.NO_GROWTH
    return True, reason or Reason.OVERFLOW


def _reason(facts: Facts, limits: Limits, policy: Policy) -> Reason | None:
    reached = facts.total > limits.trigger if policy.trigger_above else facts.total >= limits.trigger
    if reached:
        return Reason.OVERFLOW
    if policy.fold_on_turns and facts.finished_turns > live_turns(policy, facts.has_summary):
        return Reason.TURNS
    return None


def live_turns(policy: Policy, has_summary: bool) -> int:
    """How many finished turns may live before they fold."""
    if has_summary and policy.keep_recent_turns_with_summary is not None:
        return policy.keep_recent_turns_with_summary + policy.fold_slack_turns
    return policy.keep_recent_turns or 0
