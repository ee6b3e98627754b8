"""What a chat model says while it answers: pieces as they come, then one end."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from compact.model.message import ToolCall, Usage
from compact.model.value import value


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool-calls"
    REFUSAL = "refusal"


@value
class TextPiece:
    text: str


@value
class ReasoningPiece:
    text: str


@value
class CallMade:
    """A tool call, complete; pieces of arguments are gathered before."""

    call: ToolCall


@value
class ReplyEnd:
    """The last thing of every reply that was not cut off."""

    reason: FinishReason
    message: Mapping[str, Any]
    """The whole reply as an assistant message in OpenAI's chat format, ready to append to the history."""
    usage: Usage | None = None
    """As the provider reported it; None where it did not."""


ReplyPiece = TextPiece | ReasoningPiece | CallMade | ReplyEnd
