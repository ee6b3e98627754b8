"""Repair what the lint finds, if it is safe; nothing is invented beyond two fixed lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from compact.core.lint.check import inspect_messages, provider_named
from compact.core.lint.pairs import Pairing, Place
from compact.core.lint.types import Finding, Provider, Target, Violation, ViolationCode
from compact.model.message import (
    Message,
    MessageKind,
    Part,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
    make,
    with_parts,
)

NO_RESULT = "[No result: the call was interrupted]"
FIRST_USER_LINE = "Continue with the conversation below."

# A repair can uncover another fault (dropping an empty message makes the next one the first).
_ROUNDS = 5

_DROP_MESSAGE = (ViolationCode.EMPTY_CONTENT, ViolationCode.DANGLING_REASONING)


def fix_messages(
    messages: Sequence[Message], provider: Provider | str, target: Target | None = None
) -> tuple[list[Message], list[Violation]]:
    """The messages with every fixable violation repaired, and those violations.

    Unchanged messages are the same objects. A result that moves out of a message with more content keeps that
    message's origin; an added result is a tool message without one.
    """
    target = target or Target(provider_named(provider))
    current = list(messages)
    fixed: list[Violation] = []
    for _ in range(_ROUNDS):
        findings, pairing = inspect_messages(current, target)
        fixable = [finding for finding in findings if finding.violation.fixable]
        if not fixable:
            break
        fixed += [finding.violation for finding in fixable]
        current = _repair(current, fixable, pairing)
    return current, fixed


def _repair(messages: list[Message], findings: list[Finding], pairing: Pairing) -> list[Message]:
    gone: defaultdict[int, set[int]] = defaultdict(set)
    """Parts that move out of their message, by position."""
    skipped: set[int] = set()
    answers: defaultdict[int, list[Message]] = defaultdict(list)
    """Results to insert after the message at this position."""

    for position, index in pairing.dropped:
        gone[position].add(index)
    for after, places in pairing.moved.items():
        for position, indexes in _by_message(places).items():
            message = messages[position]
            if len(indexes) == len(message.parts):
                answers[after].append(message)
                skipped.add(position)
            else:
                gone[position].update(indexes)
                answers[after].append(with_parts(message, tuple(message.parts[index] for index in indexes)))
    for after, calls in pairing.unanswered.items():
        answers[after] += [_interrupted(call) for call in calls]

    opening: int | None = None
    stripped: int | None = None
    for finding in findings:
        code = finding.violation.code
        if code in _DROP_MESSAGE:
            skipped.add(finding.position)
        elif code is ViolationCode.EMPTY_TEXT:
            gone[finding.position].update(finding.parts)
        elif code is ViolationCode.FIRST_ROLE:
            opening = finding.position
        elif code is ViolationCode.PREFILL_WHITESPACE:
            stripped = finding.position

    out: list[Message] = []
    for position, message in enumerate(messages):
        if position == opening:
            out.append(make(MessageKind.BRIDGE, Role.USER, FIRST_USER_LINE))
        if position not in skipped:
            parts = tuple(part for at, part in enumerate(message.parts) if at not in gone[position])
            if position == stripped:
                parts = (*parts[:-1], _stripped(parts[-1]))
            if parts == message.parts:
                out.append(message)
            elif any(not isinstance(part, StepStart) for part in parts):
                out.append(with_parts(message, parts))
        elif _parts_thinking(out, message, messages[position + 1 :]):
            out.append(make(MessageKind.BRIDGE, Role.USER, FIRST_USER_LINE))
        out += answers.get(position, ())
    return out


def _parts_thinking(before: list[Message], dropped: Message, after: Sequence[Message]) -> bool:
    """Whether an answer that begins with thinking would be joined to the one before and so be rejected."""
    return (
        dropped.role is Role.USER
        and bool(before and before[-1].role is Role.ASSISTANT)
        and bool(after and after[0].role is Role.ASSISTANT)
        and any(isinstance(part, Reasoning) for part in after[0].parts)
    )


def _by_message(places: list[Place]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for position, index in places:
        found.setdefault(position, []).append(index)
    return found


def _interrupted(call: ToolCall) -> Message:
    parts = (ToolResult(call_id=call.call_id, text=NO_RESULT, name=call.name, is_error=True),)
    return Message(role=Role.TOOL, parts=parts, digest=digest_of(Role.TOOL, parts), kind=MessageKind.BRIDGE)


def _stripped(part: Part) -> Part:
    return Text(part.text.rstrip()) if isinstance(part, Text) else part
