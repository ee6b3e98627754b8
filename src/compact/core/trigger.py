"""Decide whether to compact now. The effective trigger is never above the budget."""

from __future__ import annotations

from compact.model.event import Reason
from compact.model.plan import Limits
from compact.model.policy import Policy
from compact.model.value import value


@value
class Facts:
    """The inputs of the decision."""

    total: int
    finished_turns: int
    summary_version: int = 0
    """How many summaries there have been; 0 for none."""
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
    if reason is Reason.OVERFLOW and not _has_grown(facts, limits, policy):
        return False, Reason.NO_GROWTH
    return True, reason or Reason.OVERFLOW


def _has_grown(facts: Facts, limits: Limits, policy: Policy) -> bool:
    """Without growth since the last compaction, another one would find nothing new to take."""
    if facts.after_last is None:
        return True
    growth = facts.total - facts.after_last
    return growth > 0 and growth >= policy.growth_pct * limits.window


def _reason(facts: Facts, limits: Limits, policy: Policy) -> Reason | None:
    if limits.reached(facts.total):
        return Reason.OVERFLOW
    if policy.fold_on_turns and facts.finished_turns > live_turns(policy, facts.summary_version):
        return Reason.TURNS
    return None


def live_turns(policy: Policy, summary_version: int) -> int:
    """How many finished turns may accumulate before they fold."""
    without = policy.keep_recent_turns or 0
    if not summary_version or policy.keep_recent_turns_with_summary is None:
        return without
    most = policy.keep_recent_turns_with_summary + policy.fold_slack_turns
    # The first fold left `without` turns. If they were too many right away, a repeated call would fold again:
    # the window shrinks at the next user message.
    return max(most, without) if summary_version == 1 else most
