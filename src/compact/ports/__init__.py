"""What the engine needs from the outside, as protocols. Behind each is one file per vendor.

A store has several: `Store` is what a manager needs, the others add what a store can also do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from compact.model.chat import ReplyPiece
from compact.model.event import Event
from compact.model.message import Message
from compact.model.record import Transcript
from compact.model.summary import Summary, SummaryRequest
from compact.ports.stores import (
    Branches,
    Deletes,
    DoorStore,
    Hit,
    RecordIndex,
    RecordState,
    Remembers,
    Searchable,
    SessionMemory,
    Space,
    Store,
    Thread,
    Threads,
)

__all__ = [
    "Archive",
    "AsyncChatModel",
    "Branches",
    "ChatModel",
    "Clock",
    "Deletes",
    "DoorStore",
    "Exporter",
    "Format",
    "Hit",
    "RecordIndex",
    "RecordState",
    "Redacts",
    "Remembers",
    "Searchable",
    "SessionMemory",
    "Space",
    "Store",
    "Summarizer",
    "Thread",
    "Threads",
    "TokenCounter",
    "missing_methods",
]


def missing_methods(given: Any, port: type) -> list[str]:
    """The methods that a port requires and this object lacks."""
    asked = [name for base in reversed(port.__mro__) for name in vars(base) if not name.startswith("_")]
    return [name for name in asked if not callable(getattr(given, name, None))]


@runtime_checkable
class TokenCounter(Protocol):
    """Counts text. `margin` says how much to add if the tokenizer is not the model's own (S2.5)."""

    name: str
    exact: bool
    margin: float

    def count(self, text: str) -> int: ...


@runtime_checkable
class Summarizer(Protocol):
    """Turns a request into a summary; raises SummarizerError or SummaryRefused if it can't."""

    def summarize(self, request: SummaryRequest) -> Summary | str: ...


class Archive(Protocol):
    """A redacted copy of what is about to be replaced. Writes are idempotent by hash."""

    def write(self, transcript: Transcript) -> str:
        """Return where it was written; raise ArchiveError if it was not."""
        ...


class Redacts(Protocol):
    """What archives and events need from a redactor."""

    enabled: bool

    def text(self, text: str) -> str: ...

    def value(self, value: Any) -> Any:
        """A copy of a JSON value without secrets."""
        ...

    def is_secret(self, text: str) -> bool: ...

    def spans(self, data: bytes) -> Sequence[tuple[int, int]]:
        """Where secrets are."""
        ...


class Exporter(Protocol):
    """Takes events in order. Must not raise and must not block."""

    def export(self, event: Event) -> None: ...


class ChatModel(Protocol):
    """Answers a prompt, piece by piece; raises ChatError if it can't."""

    model: str
    """The id for looking up limits, prices and counters."""
    label: str
    """The name that people see."""

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[ReplyPiece]:
        """Messages and tools in OpenAI's chat format, whichever vendor answers. Ends with one `ReplyEnd`.

        Closing the iterator stops the reply at the server too.
        """
        ...


@runtime_checkable
class AsyncChatModel(Protocol):
    """A ChatModel with a stream for event loops. Others are read in a thread."""

    def astream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[ReplyPiece]:
        """The pieces that `stream` gives. `aclose()` stops the reply at the server too."""
        ...


class Clock(Protocol):
    def __call__(self) -> float: ...


@runtime_checkable
class Format(Protocol):
    """One wire format: decode and encode, lossless.

    A store keeps a caller's object as JSON, so `decode` also takes the plain JSON form of an object.
    """

    name: str
    provider: str
    """The provider whose rules the result must follow: "openai" or "anthropic"."""

    def recognizes(self, messages: Sequence[Any]) -> bool:
        """Whether these messages are in this format."""
        ...

    def decode(self, item: Any, index: int) -> tuple[Message, ...]:
        """One caller's object as one or more messages; raises MalformedMessage."""
        ...

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """The caller's objects for what is unchanged, rebuilt copies for the rest, new ones for ours."""
        ...
