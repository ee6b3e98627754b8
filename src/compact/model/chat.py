"""What a chat model returns: pieces as they arrive, then one end."""

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
    """A complete tool call; pieces of its arguments are collected first."""

    call: ToolCall


@value
class ReplyEnd:
    """The last piece of every reply that was not cut off."""

    reason: FinishReason
    message: Mapping[str, Any]
    """The whole reply as an assistant message in OpenAI's chat format, ready to append to the history."""
    usage: Usage | None = None
    """As the provider reported it; None if it did not."""


ReplyPiece = TextPiece | ReasoningPiece | CallMade | ReplyEnd
