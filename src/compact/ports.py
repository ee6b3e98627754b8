"""What the engine needs from the outside, as protocols. One vendor a file behind each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from compact.core.view import START
from compact.model.chat import ReplyPiece
from compact.model.event import Event
from compact.model.message import Message
from compact.model.record import Record, Transcript
from compact.model.summary import Summary, SummaryRequest
from compact.model.value import value


@runtime_checkable
class TokenCounter(Protocol):
    """Counts text. `margin` says how much to add when the tokenizer is not the model's own (S2.5)."""

    name: str
    exact: bool
    margin: float

    def count(self, text: str) -> int: ...


@runtime_checkable
class Summarizer(Protocol):
    """Turns a request into a summary; raises SummarizerError or SummaryRefused when it can't."""

    def summarize(self, request: SummaryRequest) -> Summary | str: ...


class Store(Protocol):
    """Session truth: originals and records. Append-only; commit is insert-if-absent."""

    def append(
        self,
        session_id: str,
        start: int,
        messages: Sequence[Message],
        *,
        previous: bytes = START,
        format: str = "",
        sizes: Sequence[int] = (),
        keys: Sequence[bytes] = (),
    ) -> None:
        """Keep originals from logical position `start` on.

        `previous` is the chain hash of all that stands before them. Messages that are there already stay as
        they are; where another message stands in their place, the history forks, and the line that these are
        on becomes the session's current one. Nothing is overwritten. `sizes` are the messages' tokens, `keys`
        the chain hash after each of them, for a store that would not work it out again.
        """
        ...

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """The originals of the current line, in order."""
        ...

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        """Records of this tenant whose `source` or `output` is among `keys`, oldest first."""
        ...

    def commit(self, record: Record) -> Record:
        """Insert unless (source, policy_hash, revision) is there; return the one that is there."""
        ...

    def records(self, session_id: str) -> Sequence[Record]: ...

    def lease(self, session_id: str, seconds: float) -> AbstractContextManager[bool]:
        """Try to hold the session's compaction lease; yields whether it was granted."""
        ...


@value
class Hit:
    """An original that a search found."""

    position: int
    message: Message
    score: float


@runtime_checkable
class Searchable(Protocol):
    """A store with an index; others are searched message by message."""

    def search(self, session_id: str, query: str, limit: int = 5, after: int = -1) -> Sequence[Hit]:
        """Originals by recall handle or by words, best first.

        The handle of a summary gives all that the summary stands for, in order; with words behind it, the
        best of those. `limit` is 0 or more; `after` leaves out what stands up to that position.
        """
        ...


@value
class SessionMemory:
    """What a session remembers beside its messages and records."""

    scale: float = 1.0
    """Provider's count over ours, as last observed."""
    retired_tools: frozenset[str] = frozenset()
    head: tuple[Any, ...] = ()
    """The caller's leading system messages, as last seen."""
    notes: tuple[tuple[bytes, str], ...] = ()
    """Working memory in the order of entry: the chain hash of what stands before it, and the text."""


@runtime_checkable
class Remembers(Protocol):
    """A store that keeps what a session remembers; with others it lasts as long as the process."""

    def memory(self, session_id: str) -> SessionMemory: ...

    def remember(
        self,
        session_id: str,
        *,
        scale: float | None = None,
        retired_tools: Collection[str] | None = None,
        head: Sequence[Any] | None = None,
        note: tuple[bytes, str] | None = None,
    ) -> None:
        """Keep what is given; the rest stays as it was. `note` is (chain hash, text)."""
        ...


class Archive(Protocol):
    """A redacted copy of what is about to be replaced. Writes are idempotent by hash."""

    def write(self, transcript: Transcript) -> str:
        """Return where it was written; raise ArchiveError when it was not."""
        ...


class Exporter(Protocol):
    """Takes events in order. Must not raise and must not block."""

    def export(self, event: Event) -> None: ...


class ChatModel(Protocol):
    """Answers a prompt, piece by piece; raises ChatError when it can't."""

    model: str
    """The id that limits, prices and counters are looked up by."""
    label: str
    """What people are shown."""

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[ReplyPiece]:
        """Messages and tools in OpenAI's chat format, whoever answers. Ends with one `ReplyEnd`.

        Closing the iterator stops the reply at the server too.
        """
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
    """Whose rules the result must obey: "openai" or "anthropic"."""

    def recognizes(self, messages: Sequence[Any]) -> bool: ...

    def decode(self, item: Any, index: int) -> tuple[Message, ...]:
        """One caller's object as one or more messages; raises MalformedMessage."""
        ...

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """Caller's objects for what is unchanged, rebuilt copies for the rest, new ones for ours."""
        ...
