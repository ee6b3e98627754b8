"""Tool calls and their results: which answers which, and where the provider expects the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compact.core.lint.types import Provider, Report, ViolationCode, is_chat_call, is_reference
from compact.model.message import Message, Role, StepStart, ToolCall, ToolResult

Place = tuple[int, int]
"""Position of a message and of a part in it."""


@dataclass(slots=True, eq=False)
class Group:
    """Calls that the provider sees as one assistant turn, and those of them still open."""

    end: int
    chat: bool = False
    """Whether each message of calls wants its results right after it, not after the last one."""
    ids: set[str] = field(default_factory=set)
    open: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)
    results: list[tuple[int, Place]] = field(default_factory=list)
    """Results that follow the group, each with the position of its call."""


@dataclass(slots=True)
class Pairing:
    """What a repair needs to know; keyed by the assistant message that a result goes after."""

    moved: dict[int, list[Place]] = field(default_factory=dict)
    unanswered: dict[int, list[ToolCall]] = field(default_factory=dict)
    dropped: list[Place] = field(default_factory=list)


def pair_calls(
    messages: Sequence[Message], provider: Provider, report: Report, continues: bool = False
) -> Pairing:
    """Walk the list once, match each result with its call and report what does not match.

    `continues`: the provider holds an earlier part, so a result may answer a call that is not here.
    """
    walk = _Walk(provider, report)
    # A reference represents an item that the provider has: it may be the call.
    walk.elsewhere = continues or any(is_reference(message) for message in messages)
    for position, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            walk.assistant(position, message)
        else:
            walk.other(position, message)
    return walk.finish()


class _Walk:
    def __init__(self, provider: Provider, report: Report) -> None:
        self.provider = provider
        self.report = report
        self.pairing = Pairing()
        self.group: Group | None = None
        self.answering = False
        """Whether results of the current group have begun."""
        self.seen: set[str] = set()
        self.answered: set[str] = set()
        self.late: dict[str, tuple[int, ToolCall, int]] = {}
        """Calls that were open when something else came, and where their result goes if it still follows."""
        self.elsewhere = False
        """Whether only the provider may know some calls."""
        self.early: list[tuple[Place, str]] = []
        """Results with no call before them."""

    @property
    def has_open_calls(self) -> bool:
        return self.group is not None and bool(self.group.open)

    def assistant(self, position: int, message: Message) -> None:
        group = self.group
        separate = group is not None and group.chat and self.provider is Provider.OPENAI
        if group is not None and (self.answering or (separate and group.open)):
            self.close()
        for index, part in enumerate(message.parts):
            if type(part) is ToolCall:
                self.call(position, message, part)
            elif type(part) is ToolResult:
                # A tool that the provider ran itself answers inside the assistant message.
                self.result((position, index), part)
        if self.group is not None:
            self.group.end = position

    def call(self, position: int, message: Message, part: ToolCall) -> None:
        group = self.group
        if group is None:
            group = self.group = Group(end=position)
        group.chat = group.chat or is_chat_call(message)
        # Anthropic needs ids that are unique in the whole request; OpenAI only among calls answered together.
        if part.call_id in (self.seen if self.provider is Provider.ANTHROPIC else group.ids):
            self.report.add(
                ViolationCode.DUPLICATE_CALL,
                position,
                f"Two tool calls have the id {part.call_id!r}; give each call an id of its own.",
            )
        self.seen.add(part.call_id)
        self.answered.discard(part.call_id)
        group.ids.add(part.call_id)
        group.open[part.call_id] = (position, part)

    def other(self, position: int, message: Message) -> None:
        found = False
        for index, part in enumerate(message.parts):
            if type(part) is ToolResult:
                found = self.answering = True
                self.result((position, index), part)
            elif message.role is not Role.TOOL and type(part) is not StepStart and self.has_open_calls:
                # Text may follow the results in their message, but not precede one of them.
                self.close()
        if not found:
            self.close()

    def result(self, place: Place, part: ToolResult) -> None:
        call_id = part.call_id
        if self.group is not None and call_id in self.group.open:
            position, _ = self.group.open.pop(call_id)
            self.answered.add(call_id)
            if self.answering:
                self.group.results.append((position, place))
        elif call_id in self.late:
            _, _, after = self.late.pop(call_id)
            self.answered.add(call_id)
            self.pairing.moved.setdefault(after, []).append(place)
            self.report.add(
                ViolationCode.DISPLACED_RESULT,
                place[0],
                f"The result of call {call_id!r} does not directly follow its call; "
                "move it there, before any other message.",
                fixable=True,
            )
        elif call_id in self.answered:
            self.drop(
                ViolationCode.DUPLICATE_RESULT,
                place,
                f"Call {call_id!r} has a result already; drop this one.",
            )
        else:
            self.early.append((place, call_id))

    def drop(self, code: ViolationCode, place: Place, text: str) -> None:
        self.pairing.dropped.append(place)
        self.report.add(code, place[0], text, fixable=True)

    def close(self) -> None:
        """The current group is over; what is open in it can be answered only from the wrong place."""
        group = self.group
        if group is not None:
            for call_id, (position, call) in group.open.items():
                # Also where the provider joins the messages: what is repaired stays valid in its own format.
                self.late[call_id] = (position, call, position if group.chat else group.end)
            # The results of a repaired group can't stay together: the added ones would stand in between.
            for position, place in group.results if group.chat and group.open else ():
                if position != group.end:
                    self.pairing.moved.setdefault(position, []).append(place)
        self.group = None
        self.answering = False

    def finish(self) -> Pairing:
        in_progress = {} if self.group is None or self.answering else dict(self.group.open)
        self.close()
        for place, call_id in self.early:
            self.settle_early(place, call_id)
        for call_id, (position, call, after) in self.late.items():
            if call_id in in_progress:
                self.report.add(
                    ViolationCode.CALL_IN_PROGRESS,
                    position,
                    f"The conversation ends with call {call_id!r} and no result; "
                    "run the call and append its result before sending.",
                )
                continue
            self.pairing.unanswered.setdefault(after, []).append(call)
            self.report.add(
                ViolationCode.UNANSWERED_CALL,
                position,
                f"Call {call_id!r} has no result; add one directly after it, or drop the call.",
                fixable=True,
            )
        return self.pairing

    def settle_early(self, place: Place, call_id: str) -> None:
        if call_id not in self.seen and self.elsewhere:
            return
        if call_id not in self.seen:
            text = f"No call has the id {call_id!r}; drop this result."
            self.drop(ViolationCode.ORPHAN_RESULT, place, text)
        elif call_id in self.late:
            _, _, after = self.late.pop(call_id)
            self.pairing.moved.setdefault(after, []).append(place)
            self.report.add(
                ViolationCode.RESULT_BEFORE_CALL,
                place[0],
                f"The result of call {call_id!r} comes before the call; move it directly after it.",
                fixable=True,
            )
        else:
            text = f"A result of call {call_id!r} comes before it, and another after it; drop this one."
            self.drop(ViolationCode.RESULT_BEFORE_CALL, place, text)
