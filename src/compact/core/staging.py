"""A compaction prepared in the background: its summary is made before it is due, and used if it still fits.

Staging holds no lease and writes nothing. At the trigger, the staged summary replaces exactly the messages it
was made from; what came since is kept. If they are no longer the same, it is discarded (S5.13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compact.core.job import Job
from compact.core.select import Layout
from compact.core.view import Item
from compact.model.plan import Action, Mode, Plan, PlanStep
from compact.model.record import Record
from compact.model.summary import Summary
from compact.model.value import entity


@entity
class Staged:
    """A summary, the view it was made for, and the planned cut."""

    summary: Summary
    items: Sequence[Item]
    plan: Plan
    base: Record | None
    """The record that the view began with."""

    def matches(self, job: Job) -> bool:
        """Whether the view to be compacted begins with the one that the summary was made for."""
        items, known = job.items, len(self.items)
        if _id_of(job.base) != _id_of(self.base) or len(items) < known:
            return False
        layout = Layout(items, job.policy, job.alternates)
        if not {*self.plan.replaced, *self.plan.cleared}.isdisjoint(layout.indexes(layout.pinned)):
            return False  # protected since
        same = zip(self.items, items[:known], strict=True)
        return all(mine.message.digest == theirs.message.digest for mine, theirs in same)


def with_staged(staged: Staged | None, job: Job, plan: Plan) -> tuple[Job, Plan]:
    """The compaction with the staged summary, if its source is what is replaced now; else as it was."""
    if staged is None or job.note or not staged.matches(job):
        return job, plan
    found = _staged_plan(staged, job, plan)
    return (job, plan) if found is None else (replace(job, staged=staged.summary), found)


def _staged_plan(staged: Staged, job: Job, due: Plan) -> Plan | None:
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
    steps += [PlanStep(Action.KEEP, known + n, item.tokens) for n, item in enumerate(fresh)]
    return replace(
        plan,
        reason=due.reason,
        limits=job.limits,
        before=before,
        after=after,
        steps=(*steps, *injected),
        recent=(*plan.recent, *range(known, len(job.items))),
    )


def _id_of(record: Record | None) -> str | None:
    return record.id if record is not None else None
