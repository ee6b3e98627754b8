"""The store: what every one does, what some also do, and the values they exchange."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from compact.core.view import START
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import ArchivedStep, Record
from compact.model.value import value


class Store(Protocol):
    """Session truth: originals and records. Append-only; commit is insert-if-absent.

    A store that never waits for a disk or a network may set `blocks = False`: event loops then call it
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
        """Store originals from logical position `start` on.

        `previous` is the chain hash of everything before them. If the session has no message with that hash,
        because another process deleted it, raise HistoryGone; with `detached`, store the messages anyway.
        Without messages, only this is checked.

        Messages that are already stored stay as they are. If a different message is in their place, the
        history forks, and the line with these messages becomes the session's current one. Nothing is
        overwritten. `sizes` are the messages' tokens, `keys` the chain hash after each of them, so that a
        store need not compute it again.
        """
        ...

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """The originals of the current line, in order."""
        ...

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        """Records of this tenant whose `source` or `output` is among `keys`, oldest first."""
        ...

    def commit(self, record: Record) -> Record:
        """Insert unless (source, policy_hash, revision) exists; return the one that is stored.

        Raise HistoryGone if the session does not exist: only `append` and `put_session` create one, so that a
        session deleted during a compaction stays deleted.
        """
        ...

    def records(self, session_id: str, after: str | None = None) -> Sequence[Record]:
        """The session's records, oldest first; with `after`, only those that follow the record with that id.

        All of them if the session has no record with that id: it was deleted and started over.
        """
        ...

    def lease(self, session_id: str, seconds: float) -> AbstractContextManager[bool]:
        """Try to hold the session's compaction lease; yields whether it was granted.

        The store renews it until the block exits, however long that takes. `seconds` is how long it outlasts
        a process that died.
        """
        ...


@runtime_checkable
class Deletes(Protocol):
    """A store that can delete; with others `manager.delete` raises an error."""

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with its messages, records and events; returns whether it existed."""
        ...


@value
class RecordState:
    """The totals of a session's records, without reading them."""

    newest: str | None = None
    """The id of the newest record."""
    steps: int = 0
    revision: int = 0
    """The number of the newest undo."""
    revoked: frozenset[str] = frozenset()
    """Records that were undone."""
    undone_version: int = 0
    """The highest version among the undone summaries: the next one is numbered after it."""
    archived: ArchivedStep | None = None
    """How far the newest compaction's transcript goes, even if it was undone since."""


@runtime_checkable
class RecordIndex(Protocol):
    """A store that opens a session without reading every record; for others all are read."""

    def record_state(self, session_id: str) -> RecordState: ...


@runtime_checkable
class Branches(Protocol):
    """A store that also reads lines other than the current one."""

    def originals_up_to(self, session_id: str, key: bytes) -> Iterator[Message]:
        """The originals up to the one with this chain hash, in order; nothing if the session has none."""
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

        The handle of a summary returns everything the summary replaced, in order; with words after it, the
        best of those. `limit` is 0 or more; `after` skips everything up to that position.
        """
        ...


@value
class SessionMemory:
    """What a session remembers besides its messages and records."""

    scale: float = 1.0
    """The provider's count divided by ours, as last observed."""
    retired_tools: frozenset[str] = frozenset()
    head: tuple[Any, ...] = ()
    """The caller's leading system messages, as last seen."""
    notes: tuple[tuple[bytes, str], ...] = ()
    """Working memory in order of entry: the chain hash of what comes before it, and the text."""


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

        Nothing is kept if the session does not exist.
        """
        ...


@value
class Space:
    """A group of sessions with the same custom instructions (S3.9)."""

    name: str
    title: str = ""
    custom_instructions: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a front door keeps with it, such as a preset; JSON."""


@value
class Thread:
    """A session for a list; `summary` is that of the compaction in force."""

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
    """Which session with this id it is: a different one if it was deleted and created again."""


@runtime_checkable
class Threads(Deletes, Protocol):
    """A store for front doors: lists of sessions, spaces, events, exclusive use."""

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
        """Create a session, or change what is given. `space=""` takes it out of its space."""
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
        """Remove a space; its sessions stay, without a space. Returns whether it existed."""
        ...

    def add_event(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> int:
        """Store an event; returns its number in the session, from which a reader may continue.

        Returns 0 and stores nothing if the session does not exist.
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
        HistoryGone if the session is no longer the one with this `incarnation`.
        """
        ...

    def end(self, session_id: str) -> tuple[int, bytes]:
        """Where the current line ends: the position of the next message, and the chain hash so far."""
        ...


class DoorStore(Store, Threads, Protocol):
    """A store that was opened at a URL, for a chat, a server or a command."""

    def close(self) -> None: ...
