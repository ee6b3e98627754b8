"""Tool results that Compact adds for unanswered calls, so that a provider accepts the conversation."""

from __future__ import annotations

from collections.abc import Sequence

from compact.errors import FormatError
from compact.model.message import Message, ToolResult, with_parts


def own_results(message: Message) -> tuple[ToolResult, ...]:
    """The results in a message that Compact created; empty if it holds anything else."""
    if message.origin is not None or len(message.results) != len(message.parts):
        return ()
    return message.results


def calling(messages: Sequence[Message], before: int, call_id: str) -> int:
    """The position of the nearest message before `before` that makes this call."""
    for position in range(before - 1, -1, -1):
        if any(call.call_id == call_id for call in messages[position].calls):
            return position
    raise FormatError(
        f"A result was made for the call {call_id!r}, but no message before it makes that call. "
        "The messages you passed are unchanged."
    )


def into_calls(messages: Sequence[Message]) -> list[Message]:
    """The messages, with each result that Compact added moved into the message that makes its call."""
    out: list[Message] = []
    for message in messages:
        results = own_results(message)
        for result in results:
            at = calling(out, len(out), result.call_id)
            out[at] = with_parts(out[at], (*out[at].parts, result))
        if not results:
            out.append(message)
    return out
