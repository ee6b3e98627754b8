"""What an exchange emits, as typed values. Doors render them: lines in a terminal, chunks on a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from compact.errors import CompactError
from compact.model.event import Event
from compact.model.message import ToolCall, Usage
from compact.model.outcome import ContextUsage


class Severity(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    """Yellow."""
    ALERT = "alert"
    """Orange."""
    ERROR = "error"


class Topic(StrEnum):
    """What a notice is about, for doors with their own wording."""

    CAME_IN = "came-in"
    """Another door added turns to this session."""
    CAPACITY = "capacity"
    """The window is 80 or 90% full; `data` has percent, tokens, window."""
    COMPACTED = "compacted"
    NOT_COMPACTED = "not-compacted"
    """A compaction was due and failed; the prompt was sent unchanged."""
    ENGINE = "engine"
    """A warning of the engine."""
    STOPPED = "stopped"
    EMPTY_REPLY = "empty-reply"
    NOT_STORED = "not-stored"
    STEP_LIMIT = "step-limit"
    SETTINGS = "settings"
    """A remembered setting is not available."""


class Finish(StrEnum):
    """How an exchange ended."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    STEP_LIMIT = "step-limit"
    """The model kept calling tools until its last step was used up."""
    STOPPED = "stopped"
    FAILED = "failed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is stored: after a crash it can be sent again. Nothing has been sent to a model yet."""

    turn: Mapping[str, Any]
    position: int
    """Its number in the conversation, from 0, without system messages."""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model call begins; `step` counts from 1 within the exchange."""

    step: int
    model: str
    """What people see."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model calls a tool; `call.arguments` is JSON text."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolReturned:
    call_id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Compacting:
    """An event of the engine that belongs to this exchange: compaction-start, -prune, … (S2.18)."""

    event: Event


@dataclass(frozen=True, slots=True)
class ContextReduced:
    """The prompt is smaller now, before the reply to it or at the end of the turn."""

    usage: ContextUsage
    """How full the window is with it."""


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the provider counted for one model call, and its cost in dollars, if known."""

    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """These turns are now part of the conversation, on disk too."""

    turns: tuple[Mapping[str, Any], ...]
    position: int
    """The position of the first of them."""
    usage: ContextUsage
    """How full the window is with them."""


@dataclass(frozen=True, slots=True)
class Notice:
    severity: Severity
    topic: Topic
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """The model, the engine or the store failed. `kept` says whether part of the reply was kept."""

    error: CompactError
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every exchange."""

    reason: Finish
    draft: str = ""
    """The message, if it was not answered: it is not a turn, and can be sent again."""


ChatEvent = (
    Accepted
    | StepStarted
    | TextDelta
    | ReasoningDelta
    | ToolCalled
    | ToolReturned
    | Compacting
    | ContextReduced
    | UsageReported
    | Stored
    | Notice
    | Failed
    | Finished
)
