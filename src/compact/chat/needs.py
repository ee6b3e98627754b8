"""What an exchange needs from outside. The flow yields these, and is sent the answers by a driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compact.model.message import ToolCall


class Stop(Exception):
    """Thrown into the flow when the user stops the exchange."""


@dataclass(frozen=True, slots=True)
class NeedWork:
    """Something quick that may block, such as the store; answered with what it returns.

    `firm`: a stop waits until it is done.
    """

    call: Callable[[], Any]
    firm: bool = False


@dataclass(frozen=True, slots=True)
class NeedPrepared:
    """The preflight before a model call; answered with a `Prepared`."""

    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]] | None
    hard: bool = False
    """Compact whatever the usage: the provider found the prompt too long."""


@dataclass(frozen=True, slots=True)
class NeedStream:
    """A model call; answered with its stream."""

    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]] | None
    max_tokens: int


@dataclass(frozen=True, slots=True)
class NeedPiece:
    """The next piece of a stream; answered with None at its end."""

    stream: Any


@dataclass(frozen=True, slots=True)
class NeedClose:
    """The stream is not wanted any more."""

    stream: Any


@dataclass(frozen=True, slots=True)
class NeedResults:
    """Tool calls to run; answered with a `ToolOutput` for each."""

    calls: Sequence[ToolCall]


@dataclass(frozen=True, slots=True)
class NeedEndTurn:
    """The turn is over, also where it failed (S2.9)."""

    messages: Sequence[Any]


Need = NeedWork | NeedPrepared | NeedStream | NeedPiece | NeedClose | NeedResults | NeedEndTurn
