"""Where history may be cut. Every policy cuts only between groups, so no cut can break a prompt.

A group is the smallest run of messages that must stay together: a tool call with all its results, all calls
of a parallel group, text that shares an object with results, reasoning with its message. A turn is a run of
groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

from compact.model.message import Message, Reasoning, Role, StepStart, ToolCall, ToolResult
from compact.model.policy import TurnUnit
from compact.model.value import value

_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL


class GroupKind(StrEnum):
    SYSTEM = "system"
    USER = "user"
    TEXT = "text"
    STEP = "step"
    OURS = "ours"
    """One of our own messages (summary, marker, bridge, context): never a turn, never pinned."""
    ORPHAN = "orphan"
    """A result without its call; the input was already broken."""


_STEP = GroupKind.STEP


@value
class Group:
    kind: GroupKind
    start: int
    stop: int


def is_pinned(message: Message, roles: Sequence[Role]) -> bool:
    """Whether an original may not change: it is protected, or its role is never pruned."""
    return message.protected or message.role in roles


def groups(messages: Sequence[Message]) -> list[Group]:
    """The messages as a list of groups without gaps."""
    found: list[Group] = []
    at = 0
    while at < len(messages):
        group = _group_at(messages, at)
        found.append(group)
        at = group.stop
    return found


_ALONE = {
    Role.SYSTEM: GroupKind.SYSTEM,
    Role.DEVELOPER: GroupKind.SYSTEM,
    Role.USER: GroupKind.USER,
    Role.TOOL: GroupKind.ORPHAN,
}


def _group_at(messages: Sequence[Message], start: int) -> Group:
    first = messages[start]
    if first.is_ours:
        return Group(GroupKind.OURS, start, start + 1)
    if first.role is _ASSISTANT:
        return _assistant_group(messages, start)
    return Group(_ALONE[first.role], start, start + 1)


def _assistant_group(messages: Sequence[Message], start: int) -> Group:
    if _is_answered_at_once(messages, start):
        return Group(_STEP, start, start + 2)
    at = start
    # Reasoning on its own belongs to the assistant message after it.
    while _only_reasoning(messages[at]) and _follows_assistant(messages, at):
        at += 1
    asked = {call.call_id for call in messages[at].calls}
    if not asked:
        return Group(GroupKind.TEXT, start, at + 1)
    waiting = asked - {result.call_id for result in messages[at].results}
    at += 1
    while at < len(messages):
        message = messages[at]
        if message.is_ours:
            break
        answers = {result.call_id for result in message.results} if message.role is _TOOL else ()
        if answers and not asked.isdisjoint(answers):
            waiting.difference_update(answers)
        elif is_beside_results(message, messages[at - 1]):
            pass
        elif message.role is _ASSISTANT and waiting:
            calls = {call.call_id for call in message.calls}
            asked |= calls
            waiting |= calls
        else:
            break
        at += 1
    return Group(_STEP, start, at)


def _is_answered_at_once(messages: Sequence[Message], at: int) -> bool:
    """Whether this is one call and its result, and the group ends there: most steps of most agents."""
    if at + 1 == len(messages):
        return False
    asks, answer = messages[at].parts, messages[at + 1]
    if len(asks) != 1 or len(answer.parts) != 1 or answer.role is not _TOOL or answer.is_ours:
        return False
    call, result = asks[0], answer.parts[0]
    if type(call) is not ToolCall or type(result) is not ToolResult or call.call_id != result.call_id:
        return False
    return at + 2 == len(messages) or not _goes_on(messages[at + 2], answer)


def _goes_on(message: Message, before: Message) -> bool:
    return message.role is _TOOL or is_beside_results(message, before)


def is_beside_results(message: Message, before: Message) -> bool:
    """Whether the user's words are in the same object as the tool results before them.

    Usually a harness put them there, at every step, so they are not a task of their own.
    """
    if message.role is not _USER or before.role is not _TOOL:
        return False
    words, results = message.origin, before.origin
    return words is not None and results is not None and words.part == results.part + 1


def _only_reasoning(message: Message) -> bool:
    if not message.parts or type(message.parts[0]) not in (Reasoning, StepStart):
        return False
    return all(type(part) in (Reasoning, StepStart) for part in message.parts)


def _follows_assistant(messages: Sequence[Message], at: int) -> bool:
    after = at + 1
    return after < len(messages) and messages[after].role is _ASSISTANT and not messages[after].is_ours


def turns(found: Sequence[Group], unit: TurnUnit = TurnUnit.USER) -> list[range]:
    """Turns as ranges of group numbers; groups before the first turn belong to none.

    With `TurnUnit.MESSAGE`, every user, text or step group is its own turn.
    """
    if unit is TurnUnit.MESSAGE:
        conversational = (GroupKind.USER, GroupKind.TEXT, GroupKind.STEP)
        return [range(n, n + 1) for n, group in enumerate(found) if group.kind in conversational]
    starts = [n for n, group in enumerate(found) if group.kind is GroupKind.USER]
    return [range(start, stop) for start, stop in pairwise([*starts, len(found)])]


def is_finished(messages: Sequence[Message]) -> bool:
    """Whether the newest turn has its closing answer: only instructions may follow the assistant's prose."""
    said = (one for one in reversed(messages) if one.role not in (Role.SYSTEM, Role.DEVELOPER))
    last = next(said, None)
    return last is not None and last.role is Role.ASSISTANT and not last.calls
