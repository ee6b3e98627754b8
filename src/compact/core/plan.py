"""Plan a compaction: total, deterministic, no clock, no ids, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from compact.core.layers import (
    RESUME_LINE,
    earlier_summary,
    instructs_in_turns,
    marker_message,
    split_layers,
    trimmed_line,
)
from compact.core.plan_builder import PlanBuilder
from compact.core.prune import NOTHING
from compact.core.select import Layout
from compact.core.short_plans import with_short_outputs
from compact.core.shorten import Sizes
from compact.core.trigger import live_turns
from compact.core.view import Item, span_handle
from compact.model.event import Reason
from compact.model.message import MessageKind, Role, make
from compact.model.plan import Action, Limits, Mode, Plan, PlanStep
from compact.model.policy import LEAST_SUMMARY, Policy, Rest

_MARKER = marker_message(100_000, span_handle(()))
"""The number of turns it will cover is not known yet, so there is room for any number."""

_LINE = make(MessageKind.BRIDGE, Role.USER, RESUME_LINE)


def make_plan(
    items: Sequence[Item],
    limits: Limits,
    policy: Policy,
    sizes: Sizes,
    reason: Reason,
    alternates: bool = False,
) -> Plan:
    """What a compaction for this reason would do with this view; large outputs that stay are shortened."""
    builder = PlanBuilder(Layout(items, policy, alternates), limits, sizes, reason)
    pruning = builder.pruning() if policy.prune else NOTHING
    # A small prune breaks the cache for little gain: then the unpruned, warm view is summarized.
    accepted = min(limits.below_trigger, int(limits.window * policy.prune_accept_pct))
    enough = pruning.cleared and builder.before - pruning.saved <= accepted and not _must_fold(builder)
    if enough or reason is Reason.END_TURN:
        return builder.prune(pruning)
    return with_short_outputs(builder, _summarize_or_drop, partial(_loses_words, policy))


def plan_without_summary(
    items: Sequence[Item],
    limits: Limits,
    policy: Policy,
    sizes: Sizes,
    reason: Reason,
    alternates: bool = False,
) -> Plan:
    """The plan if no summary can be made: clear outputs if that is enough, else drop the span."""
    builder = PlanBuilder(Layout(items, policy, alternates), limits, sizes, reason)
    if policy.prune and not _must_fold(builder):
        pruning = builder.pruning()
        if pruning.cleared and not limits.reached(builder.before - pruning.saved):
            return builder.prune(pruning)
    return with_short_outputs(builder, partial(_summarize_or_drop, summary_possible=False), _drops_unmarked)


def _loses_words(policy: Policy, plan: Plan) -> bool:
    """Whether there is no room for a summary, or for less than half of the one that there should be."""
    if plan.mode is Mode.SUMMARIZE:
        replaced = sum(step.saves for step in plan.steps if step.action is Action.SUMMARIZE)
        return plan.summary_tokens < min(plan.limits.summary, replaced) // 2
    return plan.mode is Mode.DISCARD and policy.rest is Rest.SUMMARIZE


def _drops_unmarked(plan: Plan) -> bool:
    """Whether nothing in the prompt will show that messages were dropped."""
    return plan.mode is Mode.DISCARD and not plan.marked


def _must_fold(builder: PlanBuilder) -> bool:
    """Whether turns are due: clearing outputs leaves as many, so the next call would compact again."""
    layout = builder.layout
    live = live_turns(layout.policy, summary_version=2 if layout.has_summary else 0)
    due = layout.policy.fold_on_turns and layout.finished_turns > live
    return due or builder.reason is Reason.TURNS


def _summarize_or_drop(builder: PlanBuilder, summary_possible: bool = True) -> Plan:
    """Keep what the counts say, less if it does not fit; the rest is summarized or dropped."""
    if builder.layout.policy.rest is Rest.DISCARD:
        return _trim_plan(builder)
    if summary_possible:
        plan = _summary_plan(builder)
        if plan is not None:
            return plan
        if builder.fits:
            return builder.unchanged()
    return _drop_plan(builder)


def _nothing(kept: frozenset[int]) -> int:
    return 0


def _lines_between(builder: PlanBuilder, kept: frozenset[int]) -> int:
    """Tokens of the lines that what is kept needs; to alternate, a summary needs one on each side."""
    sides = 2 * builder.sizes.of_message(_LINE) if builder.layout.alternates else 0
    return sides + builder.injected((), kept)


def _summary_plan(builder: PlanBuilder) -> Plan | None:
    """None if no summary fits, or none would be smaller than what it replaces."""
    layout, limits, sizes = builder.layout, builder.limits, builder.sizes
    room = limits.budget - limits.fixed - sizes.frame
    # Lines around system messages, and lines for alternating roles, add to the frame of a summary.
    has_lines = layout.alternates or instructs_in_turns(layout.items)
    around = partial(_lines_between, builder) if has_lines else _nothing
    kept = builder.largest_fit(room - limits.summary, around)
    # At the floor a smaller summary is better than none.
    allowance = min(limits.summary, room - builder.tokens(kept) - around(kept))
    if allowance < LEAST_SUMMARY or not builder.replaces_originals(kept):
        return None
    replaced_tokens = builder.tokens(builder.replaced(kept))
    # If the earlier summary were halved too, little of it would be left after a few compactions.
    carried = sum(map(sizes.of_message, earlier_summary(layout.items)))
    least = 256 if builder.reason is Reason.TURNS else LEAST_SUMMARY
    allowance = min(allowance, max(least, carried + (replaced_tokens - carried) // 2))
    injected = allowance + sizes.frame + around(kept)
    if builder.reason is not Reason.TURNS and replaced_tokens <= injected:
        return None
    plan = builder.cut(kept, Mode.SUMMARIZE, injected, "summary")
    return replace(plan, summary_tokens=allowance, strategy=layout.policy.strategy)


def _drop_plan(builder: PlanBuilder) -> Plan:
    """No new summary: the span is dropped, a marker says so, and the earlier summary stays.

    Unless the prompt fits only without them.
    """
    room, earlier = builder.limits.budget - builder.limits.fixed, earlier_summary(builder.layout.items)
    for carried, marked in product((earlier, []) if earlier else ([],), (True, False)):
        inject = partial(builder.injected, [*carried, *([_MARKER] if marked else [])])
        kept = builder.largest_fit(room, inject)
        injected = inject(kept)
        if builder.tokens(kept) + injected <= room:
            break
    else:
        return builder.unchanged() if builder.fits else builder.insufficient(kept, injected)
    # Over the budget, our own messages may go even if none of the caller's can.
    if builder.fits and not builder.replaces_originals(kept):
        return builder.unchanged()
    detail = "earlier summary" if carried else "marker" if marked else "bridge line"
    plan = builder.cut(kept, Mode.DISCARD, injected, detail)
    return replace(plan, carries_summary=bool(carried), marked=marked)


def _trim_plan(builder: PlanBuilder) -> Plan:
    """The span is dropped and a marker says so.

    A trim costs no model call, so it lowers its counts until the trigger is out of reach again (S1.10).
    """
    layout, limits = builder.layout, builder.limits
    inject = partial(builder.injected, [_MARKER])
    kept = builder.largest_fit(limits.below_trigger - limits.fixed, inject)
    injected = inject(kept)
    if limits.fixed + builder.tokens(kept) + injected > limits.budget:
        return builder.unchanged() if builder.fits else builder.insufficient(kept, injected)
    if builder.fits and not builder.replaces_originals(kept):
        return builder.unchanged()
    plan = builder.cut(kept, Mode.DISCARD, injected, "marker")
    _, recent = split_layers(layout, kept)
    first = min(layout.policy.keep_first_turns, len(layout.turns))
    last = sum(1 for turn in layout.turns if turn.start in recent)
    warning = PlanStep(Action.WARN, None, 0, 0, trimmed_line(first, last))
    return replace(plan, steps=(*plan.steps, warning), carries_summary=False, marked=True)
