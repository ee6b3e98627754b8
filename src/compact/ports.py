"""What the engine needs from the outside, as protocols. One vendor a file behind each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from compact.core.view import START
from compact.model.chat import ReplyPiece
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import ArchivedStep, Record, Transcript
from compact.model.summary import Summary, SummaryRequest
from compact.model.value import value


def missing_methods(given: Any, port: type) -> list[str]:
    """What a port asks for and this object has not."""
    asked = [name for base in reversed(port.__mro__) for name in vars(base) if not name.startswith("_")]
    return [name for name in asked if not callable(getattr(given, name, None))]


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
    """Session truth: originals and records. Append-only; commit is insert-if-absent.

    One that never waits for a disk or a network may say so with `blocks = False`: event loops then ask it
    without a thread.
    """

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
        detached: bool = False,
    ) -> None:
        """Keep originals from logical position `start` on.

        `previous` is the chain hash of all that stands before them. Where the session has no message with
        that hash, because another process deleted it, HistoryGone is raised; with `detached` the messages are
        kept all the same. Without messages only this is checked.

        Messages that are there already stay as they are; where another message stands in their place, the
        history forks, and the line that these are on becomes the session's current one. Nothing is
        overwritten. `sizes` are the messages' tokens, `keys` the chain hash after each of them, for a store
        that would not work it out again.
        """
        ...

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """The originals of the current line, in order."""
        ...

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        """Records of this tenant whose `source` or `output` is among `keys`, oldest first."""
        ...

    def commit(self, record: Record) -> Record:
        """Insert unless (source, policy_hash, revision) is there; return the one that is there.

        HistoryGone is raised where the session is not there: only `append` and `put_session` make one, so
        that one which is deleted during a compaction stays deleted.
        """
        ...

    def records(self, session_id: str, after: str | None = None) -> Sequence[Record]:
        """The session's records, oldest first; with `after`, only those that follow the record of that id.

        All of them where the session has no record of that id: it was deleted and started over.
        """
        ...

    def lease(self, session_id: str, seconds: float) -> AbstractContextManager[bool]:
        """Try to hold the session's compaction lease; yields whether it was granted.

        The store renews it until the block is left, however long that takes. `seconds` is how long it
        outlasts a process that died.
        """
        ...


@runtime_checkable
class Deletes(Protocol):
    """A store that can delete; with others `manager.delete` is refused."""

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with its messages, records and events; returns whether it was there."""
        ...


@value
class RecordState:
    """What a session's records come to, without reading them."""

    newest: str | None = None
    """The id of the newest record."""
    steps: int = 0
    revision: int = 0
    """Of the newest undo."""
    revoked: frozenset[str] = frozenset()
    """Records that were undone."""
    undone_version: int = 0
    """The highest version among the summaries that were undone: the next one is numbered after it."""
    archived: ArchivedStep | None = None
    """How far the newest compaction's transcript goes, also where that was undone since."""


@runtime_checkable
class RecordIndex(Protocol):
    """A store that opens a session without reading every record; of others all are read."""

    def record_state(self, session_id: str) -> RecordState: ...


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
        """Keep what is given; the rest stays as it was. `note` is (chain hash, text).

        Nothing is kept where the session is not there.
        """
        ...


@value
class Space:
    """Where sessions live together, under the same custom instructions (S3.9)."""

    name: str
    title: str = ""
    custom_instructions: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a front door keeps with it, such as a preset; JSON."""


@value
class Thread:
    """A session as a list shows it; `summary` is that of the compaction in force."""

    session_id: str
    space: str | None
    title: str
    summary: str | None
    summary_updated_at: float | None
    compaction_count: int
    last_compaction_at: float | None
    currently_compacting: bool
    message_count: int
    tokens: int
    created_at: float
    updated_at: float
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a front door keeps with it, such as preset and model; JSON."""
    incarnation: str = ""
    """Which session of this id it is: another one where it was deleted and made again."""


@runtime_checkable
class Threads(Deletes, Protocol):
    """A store that front doors can stand on: lists of sessions, spaces, events, exclusive use."""

    def session(self, session_id: str) -> Thread | None: ...

    def sessions(
        self,
        limit: int = 50,
        *,
        before: tuple[float, str] | None = None,
        space: str | None = None,
        query: str = "",
    ) -> Sequence[Thread]:
        """Newest first. `before` is (updated_at, session_id) of the last one seen; `query` is part of the
        title or the id, in any case."""
        ...

    def put_session(
        self,
        session_id: str,
        *,
        space: str | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a session, or change what is given. `space=""` takes it out of its space."""
        ...

    def put_space(
        self,
        name: str,
        title: str = "",
        custom_instructions: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> Space: ...

    def space(self, name: str) -> Space | None: ...

    def spaces(self) -> Sequence[Space]:
        """All of them, by name."""
        ...

    def delete_space(self, name: str) -> bool:
        """Remove a space; its sessions stay, in none. Returns whether it was there."""
        ...

    def add_event(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> int:
        """Keep an event; returns its number in the session, from which a reader may go on.

        0, and nothing is kept, where the session is not there.
        """
        ...

    def events(self, session_id: str, after: int = 0, limit: int = 1_000) -> Iterator[Event]:
        """Events after that number, in order."""
        ...

    def last_event(self, session_id: str, name: EventName) -> Event | None:
        """The newest event of that name."""
        ...

    def exclusively(self, session_id: str, *, incarnation: str | None = None) -> AbstractContextManager[None]:
        """Nobody else writes to this session inside the block; its writes take effect together or not at all.

        For what this thread does with the store. Others wait, so nothing slow belongs in here. Raises
        HistoryGone where the session is not the one of this `incarnation` any more.
        """
        ...

    def end(self, session_id: str) -> tuple[int, bytes]:
        """Where the current line ends: the position of the next message, and the chain hash so far."""
        ...


class DoorStore(Store, Threads, Protocol):
    """A store that was opened at a URL, for a chat, a server or a command."""

    def close(self) -> None: ...


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
    """Whose rules the result must obey: "openai" or "anthropic"."""

    def recognizes(self, messages: Sequence[Any]) -> bool:
        """Whether these messages are in this format."""
        ...

    def decode(self, item: Any, index: int) -> tuple[Message, ...]:
        """One caller's object as one or more messages; raises MalformedMessage."""
        ...

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """Caller's objects for what is unchanged, rebuilt copies for the rest, new ones for ours."""
        ...
