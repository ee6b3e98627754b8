"""Plan a compaction: total, deterministic, no clock, no ids, no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from types import MappingProxyType

from compact.core.boundaries import GroupKind
from compact.core.layers import (
    RESUME_LINE,
    arrange,
    earlier_summary,
    instructs_in_turns,
    marker_message,
    split_layers,
    trimmed_line,
)
from compact.core.prune import NOTHING, Pruning, plan_prune
from compact.core.select import Layout, first_turns, reductions, select
from compact.core.short_plans import with_short_outputs
from compact.core.shorten import Sizes
from compact.core.trigger import live_turns
from compact.core.view import Item, span_handle
from compact.model.event import Reason
from compact.model.message import Message, MessageKind, Role, make
from compact.model.plan import Action, KeptCounts, Limits, Mode, Plan, PlanStep
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
    layout = Layout(items, policy, alternates)
    before = limits.fixed + sum(item.tokens for item in items)
    pruning = plan_prune(layout, limits.window, sizes.of_results, sizes.of_text) if policy.prune else NOTHING
    # A small prune breaks the cache for little gain: then the unpruned, warm view is summarized.
    accepted = min(limits.below_trigger, int(limits.window * policy.prune_accept_pct))
    enough = pruning.cleared and before - pruning.saved <= accepted and not _must_fold(layout, reason)
    if enough or reason is Reason.END_TURN:
        return _prune_plan(layout, pruning, limits, before, reason)
    plan_for = partial(_summarize_or_drop, limits, sizes, reason)
    return with_short_outputs(layout, limits, sizes, plan_for, partial(_loses_words, policy))


def plan_without_summary(
    items: Sequence[Item],
    limits: Limits,
    policy: Policy,
    sizes: Sizes,
    reason: Reason,
    alternates: bool = False,
) -> Plan:
    """The plan if no summary can be made: clear outputs if that is enough, else drop the span."""
    layout = Layout(items, policy, alternates)
    before = limits.fixed + sum(item.tokens for item in items)
    if policy.prune and not _must_fold(layout, reason):
        pruning = plan_prune(layout, limits.window, sizes.of_results, sizes.of_text)
        if pruning.cleared and not limits.reached(before - pruning.saved):
            return _prune_plan(layout, pruning, limits, before, reason)
    plan_for = partial(_summarize_or_drop, limits, sizes, reason, summary_possible=False)
    return with_short_outputs(layout, limits, sizes, plan_for, _drops_unmarked)


def _loses_words(policy: Policy, plan: Plan) -> bool:
    """Whether there is no room for a summary, or for less than half of the one that there should be."""
    if plan.mode is Mode.SUMMARIZE:
        replaced = sum(step.saves for step in plan.steps if step.action is Action.SUMMARIZE)
        return plan.summary_tokens < min(plan.limits.summary, replaced) // 2
    return plan.mode is Mode.DISCARD and policy.rest is Rest.SUMMARIZE


def _drops_unmarked(plan: Plan) -> bool:
    """Whether nothing in the prompt will show that messages were dropped."""
    return plan.mode is Mode.DISCARD and not plan.marked


def _must_fold(layout: Layout, reason: Reason) -> bool:
    """Whether turns are due: clearing outputs leaves as many, so the next call would compact again."""
    live = live_turns(layout.policy, summary_version=2 if layout.has_summary else 0)
    due = layout.policy.fold_on_turns and layout.finished_turns > live
    return due or reason is Reason.TURNS


def _summarize_or_drop(
    limits: Limits, sizes: Sizes, reason: Reason, layout: Layout, summary_possible: bool = True
) -> Plan:
    """Keep what the counts say, less if it does not fit; the rest is summarized or dropped."""
    before = limits.fixed + sum(item.tokens for item in layout.items)
    if layout.policy.rest is Rest.DISCARD:
        return _trim_plan(layout, limits, before, sizes, reason)
    if summary_possible:
        plan = _summary_plan(layout, limits, before, sizes, reason)
        if plan is not None:
            return plan
        if before <= limits.budget:
            return _unchanged(layout, limits, before, Reason.NOTHING_TO_SHRINK, reason)
    return _drop_plan(layout, limits, before, sizes, reason)


def _nothing(kept: frozenset[int]) -> int:
    return 0


def _largest_fit(layout: Layout, target: int, injected: Callable[[frozenset[int]], int]) -> frozenset[int]:
    """The most that has `target` tokens together with what is injected; the least if nothing fits."""
    kept: frozenset[int] = frozenset()
    for counts in reductions(layout):
        kept = select(layout, counts)
        if _tokens(layout, kept) + injected(kept) <= target:
            break
    return kept


def _injected(layout: Layout, sizes: Sizes, ours: Sequence[Message], kept: frozenset[int]) -> int:
    """Tokens of these messages of ours and of the bridge lines that they and what is kept need."""
    leading, recent = (layout.indexes(part) for part in split_layers(layout, kept))
    order = arrange(leading, recent, layout.items, ours, layout.policy, layout.alternates)
    return sum(sizes.of_message(entry) for entry in order if not isinstance(entry, int))


def _lines_between(layout: Layout, sizes: Sizes, kept: frozenset[int]) -> int:
    """Tokens of the lines that what is kept needs; to alternate, a summary needs one on each side."""
    sides = 2 * sizes.of_message(_LINE) if layout.alternates else 0
    return sides + _injected(layout, sizes, (), kept)


def _summary_plan(layout: Layout, limits: Limits, before: int, sizes: Sizes, reason: Reason) -> Plan | None:
    """None if no summary fits, or none would be smaller than what it replaces."""
    room = limits.budget - limits.fixed - sizes.frame
    # Lines around system messages, and lines for alternating roles, add to the frame of a summary.
    has_lines = layout.alternates or instructs_in_turns(layout.items)
    around = partial(_lines_between, layout, sizes) if has_lines else _nothing
    kept = _largest_fit(layout, room - limits.summary, around)
    # At the floor a smaller summary is better than none.
    allowance = min(limits.summary, room - _tokens(layout, kept) - around(kept))
    replaced = _not(kept, layout)
    if allowance < LEAST_SUMMARY or not _originals(layout, replaced):
        return None
    replaced_tokens = _tokens(layout, replaced)
    # If the earlier summary were halved too, little of it would be left after a few compactions.
    carried = sum(map(sizes.of_message, earlier_summary(layout.items)))
    least = 256 if reason is Reason.TURNS else LEAST_SUMMARY
    allowance = min(allowance, max(least, carried + (replaced_tokens - carried) // 2))
    injected = allowance + sizes.frame + around(kept)
    if reason is not Reason.TURNS and replaced_tokens <= injected:
        return None
    plan = _cut_plan(layout, limits, before, reason, kept, Mode.SUMMARIZE, injected, "summary")
    return replace(plan, summary_tokens=allowance, strategy=layout.policy.strategy)


def _drop_plan(layout: Layout, limits: Limits, before: int, sizes: Sizes, reason: Reason) -> Plan:
    """No new summary: the span is dropped, a marker says so, and the earlier summary stays.

    Unless the prompt fits only without them.
    """
    room, earlier = limits.budget - limits.fixed, earlier_summary(layout.items)
    for carried, marked in product((earlier, []) if earlier else ([],), (True, False)):
        inject = partial(_injected, layout, sizes, [*carried, *([_MARKER] if marked else [])])
        kept = _largest_fit(layout, room, inject)
        injected = inject(kept)
        if _tokens(layout, kept) + injected <= room:
            break
    else:
        if before <= limits.budget:
            return _unchanged(layout, limits, before, Reason.NOTHING_TO_SHRINK, reason)
        return _insufficient(layout, limits, before, kept, injected, reason)
    # Over the budget, our own messages may go even if none of the caller's can.
    if before <= limits.budget and not _originals(layout, _not(kept, layout)):
        return _unchanged(layout, limits, before, Reason.NOTHING_TO_SHRINK, reason)
    detail = "earlier summary" if carried else "marker" if marked else "bridge line"
    plan = _cut_plan(layout, limits, before, reason, kept, Mode.DISCARD, injected, detail)
    return replace(plan, carries_summary=bool(carried), marked=marked)


def _trim_plan(layout: Layout, limits: Limits, before: int, sizes: Sizes, reason: Reason) -> Plan:
    """The span is dropped and a marker says so.

    A trim costs no model call, so it lowers its counts until the trigger is out of reach again (S1.10).
    """
    inject = partial(_injected, layout, sizes, [_MARKER])
    kept = _largest_fit(layout, limits.below_trigger - limits.fixed, inject)
    injected = inject(kept)
    if limits.fixed + _tokens(layout, kept) + injected > limits.budget:
        if before <= limits.budget:
            return _unchanged(layout, limits, before, Reason.NOTHING_TO_SHRINK, reason)
        return _insufficient(layout, limits, before, kept, injected, reason)
    if before <= limits.budget and not _originals(layout, _not(kept, layout)):
        return _unchanged(layout, limits, before, Reason.NOTHING_TO_SHRINK, reason)
    plan = _cut_plan(layout, limits, before, reason, kept, Mode.DISCARD, injected, "marker")
    _, recent = split_layers(layout, kept)
    first = min(layout.policy.keep_first_turns, len(layout.turns))
    last = sum(1 for turn in layout.turns if turn.start in recent)
    warning = PlanStep(Action.WARN, None, 0, 0, trimmed_line(first, last))
    return replace(plan, steps=(*plan.steps, warning), carries_summary=False, marked=True)


def _cut_plan(
    layout: Layout,
    limits: Limits,
    before: int,
    reason: Reason,
    kept: frozenset[int],
    mode: Mode,
    injected: int,
    detail: str,
) -> Plan:
    leading, recent = split_layers(layout, kept)
    replaced = layout.indexes(_not(kept, layout))
    action = Action.SUMMARIZE if mode is Mode.SUMMARIZE else Action.DROP
    actions = dict.fromkeys(replaced, action)
    actions.update(dict.fromkeys(layout.indexes(kept & layout.pinned), Action.PIN))
    return Plan(
        mode=mode,
        reason=reason,
        triggered=True,
        limits=limits,
        before=before,
        after=limits.fixed + _tokens(layout, kept) + injected,
        steps=_steps(layout, actions, inject=injected, detail=detail),
        kept_counts=_kept_counts(layout, kept),
        leading=tuple(layout.indexes(leading)),
        recent=tuple(layout.indexes(recent)),
        replaced=tuple(replaced),
    )


def _not(kept: frozenset[int], layout: Layout) -> list[int]:
    return [n for n in range(len(layout.groups)) if n not in kept]


def _originals(layout: Layout, numbers: Sequence[int]) -> bool:
    """Whether any of the caller's messages are in these groups."""
    return any(layout.groups[n].kind is not GroupKind.OURS for n in numbers)


def _prune_plan(layout: Layout, pruning: Pruning, limits: Limits, before: int, reason: Reason) -> Plan:
    if not pruning.cleared:
        return _unchanged(layout, limits, before, Reason.NOTHING_TO_SHRINK, reason)
    actions = dict.fromkeys(pruning.cleared, Action.CLEAR)
    everything = range(len(layout.items))
    return Plan(
        mode=Mode.PRUNE,
        reason=reason,
        triggered=True,
        limits=limits,
        before=before,
        after=before - pruning.saved,
        steps=_steps(layout, actions, pruning.saves),
        kept_counts=_kept_counts(layout, frozenset(range(len(layout.groups)))),
        recent=tuple(everything),
        cleared=pruning.cleared,
        cleared_tools=pruning.tools,
    )


def _unchanged(layout: Layout, limits: Limits, before: int, reason: Reason, asked: Reason) -> Plan:
    return Plan(
        mode=Mode.NONE,
        reason=reason,
        triggered=asked is not Reason.END_TURN,
        limits=limits,
        before=before,
        after=before,
        steps=_steps(layout, {}),
        recent=tuple(range(len(layout.items))),
    )


def _insufficient(
    layout: Layout,
    limits: Limits,
    before: int,
    kept: frozenset[int],
    marks: int,
    reason: Reason,
) -> Plan:
    pinned = kept & layout.pinned
    newest = set(layout.turns[-1]) if layout.turns else set()
    first = kept.intersection(first_turns(layout)) - pinned - newest
    parts = {"protected": _tokens(layout, pinned), "first_turns": _tokens(layout, first)}
    parts["newest_turn"] = _tokens(layout, kept) - sum(parts.values())
    return Plan(
        mode=Mode.NONE,
        reason=reason,
        triggered=True,
        limits=limits,
        before=before,
        after=before,
        steps=_steps(layout, {}),
        recent=tuple(range(len(layout.items))),
        insufficient={
            "system_and_tools": limits.fixed,
            **{name: tokens for name, tokens in parts.items() if tokens or name != "first_turns"},
            **({"marks_of_ours": marks} if marks else {}),
        },
    )


def _tokens(layout: Layout, numbers: Sequence[int] | frozenset[int]) -> int:
    return sum(layout.tokens[n] for n in numbers)


def _kept_counts(layout: Layout, kept: frozenset[int]) -> KeptCounts:
    return KeptCounts(
        pinned=len(layout.indexes(kept & layout.pinned)),
        recent_turns=sum(1 for turn in layout.turns if turn.start in kept),
        tool_pairs=sum(1 for n in layout.steps if n in kept),
    )


def _steps(
    layout: Layout,
    actions: Mapping[int, Action],
    cleared: Mapping[int, int] = MappingProxyType({}),
    inject: int = 0,
    detail: str = "",
) -> tuple[PlanStep, ...]:
    """A step for each message and each injection; savings minus injections are what the plan saves."""
    steps = []
    kept, gone = Action.KEEP, (Action.SUMMARIZE, Action.DROP)
    for index, item in enumerate(layout.items):
        action = actions.get(index, kept)
        saves = item.tokens if action is not kept and action in gone else cleared.get(index, 0)
        steps.append(PlanStep(action, index, item.tokens, saves))
    if inject:
        steps.append(PlanStep(Action.INJECT, None, inject, 0, detail))
    return tuple(steps)
