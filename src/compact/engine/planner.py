"""Asks core, with this manager's policy and window: is it due, within which limits, and what is to be done?

The rules themselves are in `core/trigger.py` (when) and `core/plan.py` (what).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compact.core.boundaries import is_finished
from compact.core.plan import make_plan
from compact.core.shorten import Sizes
from compact.core.trigger import Facts, decide, policy_limits, raised_above
from compact.core.view import Item
from compact.engine.state.history import History
from compact.model.event import Reason
from compact.model.message import Role
from compact.model.plan import Action, Limits, Mode, Plan, PlanStep
from compact.model.policy import Policy
from compact.model.record import Record


class Planner:
    def __init__(self, policy: Policy, window: int, sizes: Sizes) -> None:
        self.policy = policy
        self.window = window
        self.sizes = sizes

    def limits(self, fixed: int, protected: int, scale: float) -> Limits:
        return raised_above(fixed + protected, self.configured_limits(fixed, scale))

    def configured_limits(self, fixed: int, scale: float) -> Limits:
        return policy_limits(self.policy, self.window, fixed, scale)

    def decide(self, history: History, limits: Limits, fold_failed: bool) -> tuple[bool, Reason]:
        view = history.view
        total = limits.fixed + view.total
        # Most calls end here, so their facts are not gathered: a trigger is never above the budget.
        if total < limits.trigger and not self.policy.fold_on_turns:
            return False, Reason.BELOW_TRIGGER
        last = view.items[-1] if view.items else None
        waiting = last is not None and last.message.role is Role.USER and not last.message.is_ours
        finished = last is not None and is_finished([last.message])
        base = history.base
        facts = Facts(
            total=total,
            finished_turns=view.user_turns - (0 if finished else 1),
            summary_version=_summaries(base) if view.has_summary and base is not None else 0,
            newest_user_tokens=last.tokens if last is not None and waiting else 0,
            after_last=limits.ours(base.tokens_after) if base is not None else None,
            fold_failed=fold_failed,
        )
        return decide(facts, limits, self.policy)

    def plan(self, items: Sequence[Item], limits: Limits, reason: Reason, alternates: bool) -> Plan:
        return make_plan(items, limits, self.policy, self.sizes, reason, alternates)

    def least(self, history: History, limits: Limits) -> Mapping[str, int]:
        """The parts of the smallest prompt that a compaction could leave, if the floor is over the budget.

        More than the floor: there is always a newest turn, and the rest has to leave room for it.
        """
        plan = self.plan(history.view.items, limits, Reason.OVERFLOW, history.alternates)
        # Only a plan that changes what may not change could fit.
        floor = {"system_and_tools": limits.fixed, "protected": history.view.pinned_tokens}
        return plan.insufficient or floor

    def preview(self, history: History, limits: Limits, triggered: bool, reason: Reason) -> Plan:
        """The plan for display: with its messages, even if there is nothing to do."""
        items = history.view.items
        shown = tuple(item.message for item in items)
        if triggered:
            return replace(self.plan(items, limits, reason, history.alternates), messages=shown)
        steps = tuple(PlanStep(Action.KEEP, n, item.tokens) for n, item in enumerate(items))
        total = limits.fixed + history.view.total
        return Plan(
            mode=Mode.NONE,
            reason=reason,
            triggered=False,
            limits=limits,
            before=total,
            after=total,
            steps=steps,
            recent=tuple(range(len(steps))),
            messages=shown,
        )


def _summaries(base: Record) -> int:
    """How many there were. The version alone does not say: it keeps counting after an undo."""
    is_first_since_undo = base.parent is None and base.revision > 0
    return 1 if is_first_since_undo else base.version
