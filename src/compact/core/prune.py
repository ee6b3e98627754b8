"""Clear old tool outputs: the cheap half of the `agent` preset. The calls stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compact.core.boundaries import GroupKind
from compact.core.select import Layout
from compact.core.view import Item, cleared_text, handle, handles_of
from compact.model.message import Message, MessageKind, Role
from compact.model.policy import Policy
from compact.model.record import Cleared


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which outputs to clear, by index in the view, and what that saves."""

    cleared: dict[int, Cleared]
    saves: dict[int, int]
    tools: tuple[str, ...]

    @property
    def saved(self) -> int:
        return sum(self.saves.values())


NOTHING = Pruning({}, {}, ())


def protect_tokens(policy: Policy, window: int) -> int:
    return min(policy.prune_protect, int(window * policy.prune_protect_pct))


def minimum_tokens(policy: Policy, window: int) -> int:
    return min(policy.prune_minimum, int(window * policy.prune_minimum_pct))


def plan_prune(
    layout: Layout,
    window: int,
    sizes_of_results: Callable[[Message], Sequence[int]],
    size_of_text: Callable[[str], int],
) -> Pruning:
    """Walk backward; past the protected tokens of tool output, clear. All or nothing (S2.8)."""
    protect = protect_tokens(layout.policy, window)
    exempt = _exempt_groups(layout)
    cleared: dict[int, Cleared] = {}
    saves: dict[int, int] = {}
    seen = 0
    names = _tool_names(layout)
    tools: list[str] = []
    for n in range(len(layout.groups) - 1, -1, -1):
        group = layout.groups[n]
        if layout.items[group.start].message.kind is MessageKind.SUMMARY:
            break
        if group.kind is not GroupKind.STEP or n in exempt or n in layout.pinned:
            continue
        for index in range(group.stop - 1, group.start - 1, -1):
            item = layout.items[index]
            if item.message.role is Role.ASSISTANT and not item.message.results:
                continue
            ids: list[str] = []
            sizes: list[int] = []
            handles: list[str] = []
            found = zip(item.message.results, sizes_of_results(item.message), strict=True)
            for result, size in reversed(list(found)):
                if result.cleared_at is not None or _was_cleared(item, result.call_id):
                    continue
                seen += size
                if seen <= protect:
                    continue
                name = handle(result)
                gain = size - size_of_text(cleared_text(name))
                if gain <= 0:
                    continue
                handles.append(name)
                ids.append(result.call_id)
                sizes.append(size)
                saves[index] = saves.get(index, 0) + gain
                tool = names.get(result.call_id)
                if tool and tool not in tools:
                    tools.append(tool)
            if ids:
                cleared[index] = _merged(item, ids, sizes, handles)
    pruning = Pruning(cleared, saves, tuple(tools))
    enough = cleared and pruning.saved >= minimum_tokens(layout.policy, window)
    return pruning if enough else NOTHING


def _exempt_groups(layout: Layout) -> frozenset[int]:
    """The newest steps in the last turns: never cleared, and not counted as protected."""
    turns = layout.user_turns[-layout.policy.prune_keep_turns :] if layout.policy.prune_keep_turns else []
    inside = {n for turn in turns for n in turn}
    steps = [n for n in layout.steps if n in inside]
    return frozenset(steps[-(layout.policy.keep_tool_io_pairs or 1) :])


def _tool_names(layout: Layout) -> dict[str, str]:
    return {call.call_id: call.name for item in layout.items for call in item.message.calls}


def _was_cleared(item: Item, call_id: str) -> bool:
    return item.cleared is not None and call_id in item.cleared.call_ids


def _merged(item: Item, ids: list[str], sizes: list[int], handles: list[str]) -> Cleared:
    assert item.position is not None
    before = item.cleared
    if before is None:
        return Cleared(item.position, tuple(ids), tuple(sizes), tuple(handles))
    earlier = handles_of(before)
    texts = (*before.texts, *("" for _ in ids)) if before.texts else ()
    return Cleared(
        before.position,
        before.call_ids + tuple(ids),
        before.original_tokens + tuple(sizes),
        tuple(earlier[call_id] for call_id in before.call_ids) + tuple(handles),
        texts,
    )
