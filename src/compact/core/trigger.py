"""When to compact: the limits that a policy sets in a window, and whether a prompt is due.

Everything about "when" is here. What a compaction then does is planned in `plan`.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor

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
    fold_failed: bool = False
    """Whether the summary of these very turns failed before."""


def policy_limits(policy: Policy, window: int, fixed: int, scale: float = 1.0) -> Limits:
    """The limits of a window in our tokens, if the provider counts `scale` of its own for one of ours."""
    room = window - policy.reserve(window)
    ours, budget, trigger = int(window / scale), int(room / scale), _trigger(policy, window, room, scale)
    marks = ((ours, window), (budget, room), (trigger, _trigger(policy, window, room)))
    summary = policy.summary_tokens(ours)
    return Limits(ours, budget, trigger, fixed, summary, scale, marks, policy.trigger_above)


def _trigger(policy: Policy, window: int, room: int, scale: float = 1.0) -> int:
    """Never above the budget."""
    # "At" the share begins with the first whole token that reaches it, "above" after the last that does not
    # exceed it. Rounded, because 0.29 * 100 is slightly below 29.
    share = round(window * policy.trigger_pct / scale, 6)
    return min(floor(share) if policy.trigger_above else ceil(share), int(room / scale))


def raised_above(floor: int, limits: Limits) -> Limits:
    """With the trigger at the budget if what can never be removed, the floor, reaches it.

    Otherwise every call would compact and none would get below.
    """
    return replace(limits, trigger=limits.budget) if floor >= limits.trigger else limits


def decide(facts: Facts, limits: Limits, policy: Policy) -> tuple[bool, Reason]:
    """Whether to compact, and why, or why not."""
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
    if reason is Reason.TURNS and facts.fold_failed:
        # A summarizer that just failed is called again with the user's next message, not at every step.
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
