"""Builds the `Plan` values for a view, from which groups stay and what takes the place of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from compact.core.boundaries import GroupKind
from compact.core.layers import arrange, split_layers
from compact.core.prune import Pruning, plan_prune
from compact.core.select import Layout, first_turns, reductions, select
from compact.core.shorten import Sizes
from compact.core.view import Item
from compact.model.event import Reason
from compact.model.message import Message
from compact.model.plan import Action, KeptCounts, Limits, Mode, Plan, PlanStep


@dataclass(frozen=True)
class PlanBuilder:
    layout: Layout
    limits: Limits
    sizes: Sizes
    reason: Reason

    def with_items(self, items: Sequence[Item]) -> PlanBuilder:
        """The same with other outputs."""
        return replace(self, layout=self.layout.with_items(items))

    @cached_property
    def before(self) -> int:
        return self.limits.fixed + sum(item.tokens for item in self.layout.items)

    @property
    def fits(self) -> bool:
        """Whether the view could be sent as it is."""
        return self.before <= self.limits.budget

    # -- what stays ----------------------------------------------------------------------------------------

    def largest_fit(self, target: int, injected: Callable[[frozenset[int]], int]) -> frozenset[int]:
        """The most that has `target` tokens together with what is injected; the least if nothing fits."""
        kept: frozenset[int] = frozenset()
        for counts in reductions(self.layout):
            kept = select(self.layout, counts)
            if self.tokens(kept) + injected(kept) <= target:
                break
        return kept

    def injected(self, ours: Sequence[Message], kept: frozenset[int]) -> int:
        """Tokens of these messages of ours and of the bridge lines that they and what is kept need."""
        layout = self.layout
        leading, recent = (layout.indexes(part) for part in split_layers(layout, kept))
        order = arrange(leading, recent, layout.items, ours, layout.policy, layout.alternates)
        return sum(self.sizes.of_message(entry) for entry in order if not isinstance(entry, int))

    def replaced(self, kept: frozenset[int]) -> list[int]:
        """The other groups."""
        return [n for n in range(len(self.layout.groups)) if n not in kept]

    def replaces_originals(self, kept: frozenset[int]) -> bool:
        """Whether any of the caller's messages are among the others."""
        return any(self.layout.groups[n].kind is not GroupKind.OURS for n in self.replaced(kept))

    def tokens(self, groups: Sequence[int] | frozenset[int]) -> int:
        tokens = self.layout.tokens
        return sum([tokens[n] for n in groups])

    def pruning(self) -> Pruning:
        return plan_prune(self.layout, self.limits.window, self.sizes.of_results, self.sizes.of_text)

    # -- the plans -----------------------------------------------------------------------------------------

    def cut(self, kept: frozenset[int], mode: Mode, injected: int, detail: str) -> Plan:
        """The others are summarized or dropped, and `injected` tokens take their place."""
        layout = self.layout
        leading, recent = split_layers(layout, kept)
        replaced = layout.indexes(self.replaced(kept))
        action = Action.SUMMARIZE if mode is Mode.SUMMARIZE else Action.DROP
        actions = dict.fromkeys(replaced, action)
        actions.update(dict.fromkeys(layout.indexes(kept & layout.pinned), Action.PIN))
        return Plan(
            mode=mode,
            reason=self.reason,
            triggered=True,
            limits=self.limits,
            before=self.before,
            after=self.limits.fixed + self.tokens(kept) + injected,
            steps=self._steps(actions, inject=injected, detail=detail),
            kept_counts=self._kept_counts(kept),
            leading=tuple(layout.indexes(leading)),
            recent=tuple(layout.indexes(recent)),
            replaced=tuple(replaced),
        )

    def prune(self, pruning: Pruning) -> Plan:
        """Only tool outputs are cleared."""
        if not pruning.cleared:
            return self.unchanged()
        return Plan(
            mode=Mode.PRUNE,
            reason=self.reason,
            triggered=True,
            limits=self.limits,
            before=self.before,
            after=self.before - pruning.saved,
            steps=self._steps(dict.fromkeys(pruning.cleared, Action.CLEAR), pruning.saves),
            kept_counts=self._kept_counts(frozenset(range(len(self.layout.groups)))),
            recent=tuple(range(len(self.layout.items))),
            cleared=pruning.cleared,
            cleared_tools=pruning.tools,
        )

    def unchanged(self) -> Plan:
        """There is nothing to shrink."""
        return Plan(
            mode=Mode.NONE,
            reason=Reason.NOTHING_TO_SHRINK,
            triggered=self.reason is not Reason.END_TURN,
            limits=self.limits,
            before=self.before,
            after=self.before,
            steps=self._steps({}),
            recent=tuple(range(len(self.layout.items))),
        )

    def insufficient(self, kept: frozenset[int], injected: int) -> Plan:
        """Not even the least that may stay fits: the plan shows the sum."""
        layout = self.layout
        pinned = kept & layout.pinned
        newest = set(layout.turns[-1]) if layout.turns else set()
        first = kept.intersection(first_turns(layout)) - pinned - newest
        parts = {"protected": self.tokens(pinned), "first_turns": self.tokens(first)}
        parts["newest_turn"] = self.tokens(kept) - sum(parts.values())
        return replace(
            self.unchanged(),
            reason=self.reason,
            triggered=True,
            insufficient={
                "system_and_tools": self.limits.fixed,
                **{name: tokens for name, tokens in parts.items() if tokens or name != "first_turns"},
                **({"marks_of_ours": injected} if injected else {}),
            },
        )

    def _kept_counts(self, kept: frozenset[int]) -> KeptCounts:
        layout = self.layout
        return KeptCounts(
            pinned=len(layout.indexes(kept & layout.pinned)),
            recent_turns=sum(1 for turn in layout.turns if turn.start in kept),
            tool_pairs=sum(1 for n in layout.steps if n in kept),
        )

    def _steps(
        self,
        actions: Mapping[int, Action],
        cleared: Mapping[int, int] = MappingProxyType({}),
        inject: int = 0,
        detail: str = "",
    ) -> tuple[PlanStep, ...]:
        """A step for each message and each injection; savings minus injections are what the plan saves."""
        steps = []
        kept, gone = Action.KEEP, (Action.SUMMARIZE, Action.DROP)
        for index, item in enumerate(self.layout.items):
            action = actions.get(index, kept)
            saves = item.tokens if action is not kept and action in gone else cleared.get(index, 0)
            steps.append(PlanStep(action, index, item.tokens, saves))
        if inject:
            steps.append(PlanStep(Action.INJECT, None, inject, 0, detail))
        return tuple(steps)
