"""What an exchange needs from outside. The flow yields these, and a driver sends the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compact.chat.tools import ToolOutput
from compact.model.message import ToolCall


class Stop(Exception):
    """Thrown into the flow when the user stops the exchange."""


@dataclass(frozen=True, slots=True)
class NeedWork:
    """A quick call that may block, such as one to the store; the answer is what it returns.

    `firm`: a stop waits until it is done.
    """

    call: Callable[[], Any]
    firm: bool = False


@dataclass(frozen=True, slots=True)
class NeedPrepared:
    """The preflight before a model call; the answer is a `Prepared`."""

    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]] | None
    hard: bool = False
    """Compact, however full the window is: the provider found the prompt too long."""


@dataclass(frozen=True, slots=True)
class NeedStream:
    """A model call; the answer is its stream."""

    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]] | None
    max_tokens: int


@dataclass(frozen=True, slots=True)
class NeedPiece:
    """The next piece of a stream; the answer is None at its end."""

    stream: Any


@dataclass(frozen=True, slots=True)
class NeedClose:
    """The stream is no longer needed."""

    stream: Any


@dataclass(frozen=True, slots=True)
class NeedResults:
    """Tool calls to run. A driver puts what each returns into `outputs`, by its place and at once, and
    UNFINISHED before it: a stop must not make a call that ran look like one that did not."""

    calls: Sequence[ToolCall]
    outputs: dict[int, ToolOutput]


@dataclass(frozen=True, slots=True)
class NeedEndTurn:
    """The turn is over, even if it failed (S2.9)."""

    messages: Sequence[Any]


Need = NeedWork | NeedPrepared | NeedStream | NeedPiece | NeedClose | NeedResults | NeedEndTurn
