"""The same plan with large tool outputs cut, if that leaves less."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from compact.core.plan_builder import PlanBuilder
from compact.core.select import initial_counts, select
from compact.core.shorten import Sizes, cuttable, shorten_outputs
from compact.core.view import Item
from compact.model.plan import Action, Mode, Plan, PlanStep
from compact.model.record import Cleared

_LEAST_CAP = 8
"""Toward the target, outputs are cut to no less than this fraction of the cap."""
_NEWEST_CAPS = (2, 3, 4, 8, 16)
"""If nothing else fits, the newest outputs are cut to these fractions of the room."""
_LEAST_OUTPUT = 64


def with_short_outputs(
    builder: PlanBuilder, plan_for: Callable[[PlanBuilder], Plan], loses_words: Callable[[Plan], bool]
) -> Plan:
    """The plan for these items, or for the same items with outputs shortened, if that leaves less.

    Outputs that the counts would keep are cut to the cap, then to what brings the prompt down to the target.
    The newest output is cut only if the plan does not fit, or fits at the expense of words; then to what
    there is room for.
    """
    layout, limits, sizes = builder.layout, builder.limits, builder.sizes
    plan, items, policy = plan_for(builder), layout.items, layout.policy
    short = partial(_planned_short, plan, builder, plan_for)
    if plan.insufficient is None and plan.mode is Mode.SUMMARIZE:
        target, cap = int(limits.window * policy.target_pct), int(limits.window * policy.output_cap_pct)
        outputs = cuttable(layout, layout.indexes(select(layout, initial_counts(layout))))
        plan = _better(plan, short(outputs, max(1, cap)))
        if plan.after > target:
            fitting = _fitting_cap(plan, items, outputs, target, sizes)
            plan = _better(plan, short(outputs, max(1, cap // _LEAST_CAP, min(cap, fitting))))
    if policy.oversize == "raise" or (plan.insufficient is None and not loses_words(plan)):
        return plan
    for share in _NEWEST_CAPS:
        room = max(_LEAST_OUTPUT, (limits.budget - limits.fixed) // share)
        shorter = short(cuttable(layout, range(len(items)), newest=True), room)
        if shorter.insufficient is None and not loses_words(shorter):
            return shorter
        if plan.insufficient is not None:
            plan = shorter
    return plan


def _fitting_cap(plan: Plan, items: Sequence[Item], outputs: Sequence[int], room: int, sizes: Sizes) -> int:
    """The longest these outputs may be if they and the rest of the plan are to take `room` tokens."""
    kept = {*plan.leading, *plan.recent}.intersection(outputs)
    room -= plan.after - sum(items[index].tokens - plan.steps[index].saves for index in kept)
    found = sorted(size for index in kept for size in sizes.of_results(items[index].message))
    for at, size in enumerate(found):
        if size * (len(found) - at) > room:
            return room // (len(found) - at)
        room -= size
    return room


def _planned_short(
    whole: Plan,
    builder: PlanBuilder,
    plan_for: Callable[[PlanBuilder], Plan],
    outputs: Sequence[int],
    cap: int,
) -> Plan:
    """The plan with these outputs cut to `cap`; the `whole` one if none is that long."""
    items, sizes = builder.layout.items, builder.sizes
    shorter, cut = shorten_outputs(items, outputs, cap, sizes.of_results, sizes.of_message)
    if not cut:
        return whole
    plan = plan_for(builder.with_items(shorter))
    if plan.insufficient is not None:
        return replace(whole, insufficient=plan.insufficient)  # sizes of what exists, not of what was tried
    kept = {index: entry for index, entry in cut.items() if index in plan.leading or index in plan.recent}
    kept.update(plan.cleared)
    saved = sum(items[index].tokens - shorter[index].tokens for index in cut)
    names = {call.call_id: call.name for item in items for call in item.message.calls}
    tools = dict.fromkeys(names.get(one, "") for entry in kept.values() for one in entry.call_ids)
    steps = tuple(_cut_step(step, items, kept, shorter) for step in plan.steps)
    only_cut = plan.mode is Mode.NONE and bool(kept)
    return replace(
        plan,
        before=plan.before + saved,
        steps=steps,
        cleared=kept,
        cleared_tools=tuple(name for name in tools if name) if kept else plan.cleared_tools,
        mode=Mode.PRUNE if only_cut else plan.mode,
        reason=whole.reason if only_cut else plan.reason,
    )


def _cut_step(
    step: PlanStep, items: Sequence[Item], kept: Mapping[int, Cleared], shorter: Sequence[Item]
) -> PlanStep:
    if step.index is None:
        return step
    size = items[step.index].tokens
    if step.index not in kept or step.action is not Action.KEEP:
        gone = step.action in (Action.SUMMARIZE, Action.DROP)
        return replace(step, tokens=size, saves=size if gone else step.saves)
    return replace(step, action=Action.CLEAR, tokens=size, saves=size - shorter[step.index].tokens)


def _better(plan: Plan, other: Plan) -> Plan:
    """The one that leaves less in the same way; the first if neither does."""
    better = other.insufficient is None and other.mode is plan.mode and other.after < plan.after
    return other if better else plan
