"""What a compaction can see, what it can request, and the answers it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compact.core.shorten import Sizes
from compact.core.view import Item
from compact.model.event import EventName
from compact.model.message import Message
from compact.model.plan import Limits
from compact.model.policy import Policy
from compact.model.record import ArchivedStep, Record, Transcript
from compact.model.summary import Evidence, Summary, SummaryRequest


@dataclass(frozen=True, slots=True)
class NeedSummary:
    request: SummaryRequest


@dataclass(frozen=True, slots=True)
class NeedArchive:
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class NeedCommit:
    record: Record


@dataclass(frozen=True, slots=True)
class Emit:
    name: EventName
    data: Mapping[str, Any]
    step: int = 0
    """With a start: the number of the compaction that everything after it belongs to."""


Need = NeedSummary | NeedArchive | NeedCommit | Emit


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that could not be met: why, as a `RefusalReason` or an error's name."""

    reason: str
    message: str
    cause: Exception | None = None


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """What is sent while nothing is compacted, for a summarizer on the same provider's cache."""

    messages: Sequence[Any]
    tools: Sequence[Any] | None
    system: Any
    room: int
    """Tokens, as we count them, that the model's window has left after it and the instructions."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a compaction can see; clock and ids are passed in as values."""

    session_id: str
    items: Sequence[Item]
    length: int
    """How many originals the conversation has."""
    source_at: Callable[[int], bytes]
    """Chain hash of the first n originals."""
    original_at: Callable[[int], Message | None]
    base: Record | None
    policy: Policy
    limits: Limits
    sizes: Sizes
    size_of: Callable[[Message], int]
    provider: str
    record_id: str
    now: float
    step: int
    revision: int = 0
    undone_version: int = 0
    """The highest version among the summaries that were undone."""
    key_for: Callable[[int], str] = lambda length: ""
    """The policy under which a record of the first n originals can be found."""
    ledger: Sequence[Evidence] = ()
    """Units of all records up to the base."""
    note: str = ""
    sent: SentPrompt | None = None
    first_position: int = 0
    """From here on every original is available; before it, only those that a record kept."""
    archived: ArchivedStep | None = None
    """The step whose transcript covers most of this history, among those this process knows."""
    system: Sequence[Message] = ()
    """The caller's leading system messages, for the archive."""
    staged: Summary | None = None
    """A summary that was made before the compaction was due."""
    has_system: bool = True
    """Whether system messages are allowed among the others; else ours is sent as the user's."""
    alternates: bool = False
    """Whether user and assistant have to take turns."""
    in_full: Callable[[Item], Message] = lambda item: item.message
    """The message before outputs of it were cleared or shortened, if that is still known."""
    embedded_fallback: bool = False
    """Whether the embedded summarizer follows the one that is called first."""
