"""A compaction prepared in the background: its summary is made before it is due, and used if it still fits.

Staging holds no lease and writes nothing. At the trigger, the staged summary replaces exactly the messages it
was made from; what came since is kept. If they are no longer the same, it is discarded (S5.13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compact.core.job import Job
from compact.core.view import Item
from compact.model.plan import Action, Mode, Plan, Step
from compact.model.summary import Summary
from compact.model.value import entity


@entity
class Staged:
    """A summary, the view it was made for, and the planned cut."""

    summary: Summary
    items: Sequence[Item]
    plan: Plan
    base: str | None
    """Id of the record that the view began with."""

    def matches(self, items: Sequence[Item], base: str | None) -> bool:
        """Whether this view begins with the one that the summary was made for."""
        known = len(self.items)
        if base != self.base or len(items) < known:
            return False
        if any(items[index].message.protected for index in self.plan.replaced):
            return False  # protected since
        same = zip(self.items, items[:known], strict=True)
        return all(mine.message.digest == theirs.message.digest for mine, theirs in same)


def staged_plan(staged: Staged, job: Job, due: Plan) -> Plan | None:
    """The plan that uses the staged summary: its cut, with everything since then kept.

    None if that would leave the prompt at the trigger: then a new summary is better.
    """
    plan, known = staged.plan, len(staged.items)
    fresh = job.items[known:]
    before = job.limits.fixed + sum(item.tokens for item in job.items)
    after = plan.after - plan.limits.fixed + job.limits.fixed + sum(item.tokens for item in fresh)
    if due.mode is not Mode.SUMMARIZE or after >= job.limits.trigger:
        return None
    injected = [step for step in plan.steps if step.index is None]
    steps = [step for step in plan.steps if step.index is not None]
    steps += [Step(Action.KEEP, known + n, item.tokens) for n, item in enumerate(fresh)]
    return replace(
        plan,
        reason=due.reason,
        limits=job.limits,
        before=before,
        after=after,
        steps=(*steps, *injected),
        recent=(*plan.recent, *range(known, len(job.items))),
    )
