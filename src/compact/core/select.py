"""Choose which groups stay, from a policy's counts, and reduce the counts if they do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from compact.core.boundaries import Group, GroupKind, groups, is_finished, is_pinned, turns
from compact.core.view import Item
from compact.model.message import MessageKind, Role
from compact.model.policy import Policy, TurnUnit


@dataclass(frozen=True, slots=True)
class Counts:
    """How much stays. None means no limit of that kind."""

    turns: int | None
    messages: int | None
    steps: int | None
    old_steps: bool = True
    """Whether steps may stay if their turn is not kept."""
    texts: int | None = None
    """How many prose answers of the newest turn stay, at the very floor."""


@dataclass(frozen=True)
class Layout:
    """A view split into groups and turns, once for all decisions."""

    items: Sequence[Item]
    policy: Policy
    alternates: bool = False
    """Whether user and assistant have to take turns."""

    @cached_property
    def groups(self) -> list[Group]:
        return groups([item.message for item in self.items])

    def with_items(self, items: Sequence[Item]) -> Layout:
        """The same with other outputs: what groups they make does not depend on what tools said."""
        other = Layout(items, self.policy, self.alternates)
        vars(other)["groups"] = self.groups
        return other

    def indexes(self, numbers: Sequence[int] | frozenset[int]) -> list[int]:
        """The positions of these groups' messages, in order."""
        return [
            index
            for n in (sorted(numbers) if isinstance(numbers, frozenset) else numbers)
            for index in range(self.groups[n].start, self.groups[n].stop)
        ]

    @cached_property
    def turns(self) -> list[range]:
        return turns(self.groups, self.policy.turn_unit)

    @cached_property
    def user_turns(self) -> list[range]:
        return self.turns if self.policy.turn_unit is TurnUnit.USER else turns(self.groups)

    @cached_property
    def steps(self) -> list[int]:
        return [n for n, group in enumerate(self.groups) if group.kind is GroupKind.STEP]

    @cached_property
    def tokens(self) -> list[int]:
        """Of each group."""
        sizes = [item.tokens for item in self.items]
        return [sum(sizes[group.start : group.stop]) for group in self.groups]

    @cached_property
    def pinned(self) -> frozenset[int]:
        """Groups that may not change: protected, or with a role that is never pruned."""
        roles = self.policy.roles_never_prune
        fixed = {
            index
            for index, item in enumerate(self.items)
            if is_pinned(item.message, roles) and not item.message.is_ours
        }
        if not fixed:
            return frozenset()
        return frozenset(
            n
            for n, group in enumerate(self.groups)
            if group.kind is not GroupKind.OURS and not fixed.isdisjoint(range(group.start, group.stop))
        )

    @cached_property
    def has_summary(self) -> bool:
        return any(item.message.kind is MessageKind.SUMMARY for item in self.items)

    @cached_property
    def is_finished(self) -> bool:
        return is_finished([item.message for item in self.items[-1:]])

    @cached_property
    def finished_turns(self) -> int:
        """Turns that may fold: protected ones never do."""
        loose = sum(1 for turn in self.user_turns if turn.start not in self.pinned)
        return loose - (0 if self.is_finished else 1)

    @cached_property
    def newest_task(self) -> int | None:
        """The group of the newest user message: the current task."""
        return self.user_turns[-1].start if self.user_turns else None

    @cached_property
    def newest_words(self) -> int | None:
        """The newest step since that task with words next to its results: a user may have said them."""
        for n in reversed(self.steps):
            if n < (self.newest_task or 0):
                break
            group = self.groups[n]
            if any(self.items[i].message.role is Role.USER for i in range(group.start, group.stop)):
                return n
        return None

    @cached_property
    def newest_context(self) -> int | None:
        """The newest working memory, which stays; older ones that it superseded go."""
        for n in range(len(self.groups) - 1, -1, -1):
            if self.items[self.groups[n].start].message.kind is MessageKind.CONTEXT:
                return n
        return None


def initial_counts(layout: Layout) -> Counts:
    policy = layout.policy
    keep = policy.keep_recent_turns
    if layout.has_summary and policy.keep_recent_turns_with_summary is not None:
        keep = policy.keep_recent_turns_with_summary
    if keep is not None and not policy.count_new_message and not layout.is_finished:
        keep += 1
    return Counts(
        keep,
        policy.keep_recent_messages,
        policy.keep_tool_io_pairs,
        old_steps=policy.keep_tool_io_anywhere,
    )


def reductions(layout: Layout) -> Iterator[Counts]:
    """The counts to try, most first: turns down by one, then steps by one, again, to (1, 1).

    Below that, steps of earlier turns go, then all but the last answer in the newest turn: only the newest
    task with its last step is a floor that a run of one user message can live with.
    """
    counts = initial_counts(layout)
    yield counts
    if counts.turns is not None:
        counts = replace(counts, turns=min(counts.turns, max(1, len(layout.turns))))
    if counts.messages is not None:
        counts = replace(counts, messages=min(counts.messages, max(1, len(layout.items))))
    if counts.steps is not None:
        counts = replace(counts, steps=min(counts.steps, max(1, len(layout.steps))))
    while any(count is not None and count > 1 for count in (counts.turns, counts.messages, counts.steps)):
        if counts.turns is not None and counts.turns > 1:
            counts = replace(counts, turns=counts.turns - 1)
            yield counts
        if counts.messages is not None and counts.messages > 1:
            counts = replace(counts, messages=counts.messages - 1)
            yield counts
        if counts.steps is not None and counts.steps > 1:
            counts = replace(counts, steps=counts.steps - 1)
            yield counts
    if counts.turns is not None and layout.policy.turn_unit is TurnUnit.USER:
        if counts.steps is None:
            newest = layout.user_turns[-1] if layout.user_turns else range(0)
            steps = sum(1 for n in layout.steps if n in newest)
            # By halves: one step less at a time would leave no room, and the next call would compact again.
            while steps > 1:
                steps //= 2
                counts = replace(counts, steps=steps)
                yield counts
        counts = replace(counts, old_steps=False)
        yield counts
        yield replace(counts, texts=1)


def select(layout: Layout, counts: Counts) -> frozenset[int]:
    """The groups that stay, pinned ones included."""
    kept = set(layout.pinned)
    if layout.newest_task is not None:
        kept.add(layout.newest_task)
    if layout.newest_words is not None and not _is_floor(layout, counts):
        kept.add(layout.newest_words)
    kept.update(first_turns(layout))
    if counts.messages is not None:
        kept.update(_last_messages(layout, counts.messages))
    if counts.turns is not None:
        kept.update(_recent_turns(layout, counts))
    if layout.newest_context is not None:
        kept.add(layout.newest_context)
    return frozenset(kept)


def _is_floor(layout: Layout, counts: Counts) -> bool:
    """Whether nothing less can be kept."""
    return counts.texts is not None or counts.messages == 1 or layout.policy.turn_unit is TurnUnit.MESSAGE


def first_turns(layout: Layout) -> Iterator[int]:
    for turn in layout.turns[: layout.policy.keep_first_turns]:
        yield from turn


def _last_messages(layout: Layout, count: int) -> Iterator[int]:
    # Whole groups, newest first, until at least `count` messages stay: it rounds outward.
    left = count
    oldest: int | None = None
    for n in range(len(layout.groups) - 1, -1, -1):
        if left <= 0:
            break
        group = layout.groups[n]
        if group.kind in (GroupKind.OURS, GroupKind.SYSTEM):
            continue
        yield n
        left -= group.stop - group.start
        oldest = n
    # If the cut falls inside a turn, its user message stays: an answer without its question misleads.
    yield from (turn.start for turn in layout.user_turns if oldest is not None and oldest in turn)


def _recent_turns(layout: Layout, counts: Counts) -> Iterator[int]:
    assert counts.turns is not None
    recent = [n for turn in layout.turns[-counts.turns :] for n in turn]
    if not layout.turns:
        # No user message at all (an assistant monologue): only the steps can stay.
        recent = [n for n, group in enumerate(layout.groups) if group.kind is not GroupKind.OURS][-1:]
    if layout.policy.turn_unit is TurnUnit.MESSAGE:
        yield from recent
        return
    in_recent = set(recent)
    anywhere = counts.old_steps or not layout.turns
    candidates = layout.steps if anywhere else [n for n in layout.steps if n in in_recent]
    if counts.steps is None:
        kept_steps = {n for n in recent if layout.groups[n].kind is GroupKind.STEP}
    else:
        kept_steps = set(candidates[-counts.steps :])
    texts = [n for n in recent if layout.groups[n].kind not in (GroupKind.STEP, GroupKind.OURS)]
    if counts.texts is not None:
        prose = [n for n in texts if layout.groups[n].kind is GroupKind.TEXT]
        # Prose after the last step is the newest answer; older prose of the turn may go.
        dropped = set(prose[: -counts.texts])
        texts = [n for n in texts if n not in dropped]
    yield from texts
    yield from kept_steps
