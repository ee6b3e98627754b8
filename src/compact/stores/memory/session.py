"""A session of the in-memory store, and how a list shows it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from compact.core.view import START
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import Record, standing
from compact.model.value import entity
from compact.ports import SessionMemory, Thread

_EVENTS_KEPT = 10_000


@entity
class Original:
    position: int
    message: Message


class MemorySession:
    """Originals by chain hash: a fork is another chain, and overwrites nothing."""

    def __init__(self, session_id: str, number: int, now: float) -> None:
        self.id = session_id
        self.number = number
        """Sessions in the order they were created."""
        self.created_at = self.updated_at = now
        self.title = ""
        self.space: str | None = None
        self.settings: Mapping[str, Any] = {}
        self.messages: dict[bytes, Message] = {}
        self._previous: dict[bytes, bytes] = {}
        """The chain hash before each. An object per message, to hold both, would be one more to collect."""
        self._firsts: dict[bytes, int] = {}
        """The positions of those that came without the message before them."""
        self.line: list[bytes] = []
        """The current line, in order of position."""
        self.head = START
        self.tokens = 0
        self.records: list[Record] = []
        self.events: deque[Event] = deque(maxlen=_EVENTS_KEPT)
        self.newest_events: dict[EventName, Event] = {}
        """By name: a chat's settings are an event, and count however many others came since."""
        self.last_event = 0
        self.memory = SessionMemory()

    @property
    def incarnation(self) -> str:
        return str(self.number)

    def copy(self) -> MemorySession:
        """The session as it is now, whatever is added to this one later."""
        copied = MemorySession(self.id, self.number, self.created_at)
        vars(copied).update(
            vars(self),
            messages=self.messages.copy(),
            _previous=self._previous.copy(),
            _firsts=self._firsts.copy(),
            line=self.line.copy(),
            records=self.records.copy(),
            events=self.events.copy(),
            newest_events=self.newest_events.copy(),
        )
        return copied

    def holds(self, previous: bytes, chains: Sequence[bytes]) -> bool:
        """Whether it has the message before those with these chain hashes, or the first of them."""
        return previous in self.messages or (bool(chains) and chains[0] in self.messages)

    def extend(
        self,
        start: int,
        previous: bytes,
        messages: Sequence[Message],
        chains: Sequence[bytes],
        sizes: Sequence[int],
    ) -> bool:
        """Keep these originals, and make the line run to the last of them; returns whether that is news."""
        known, count, head = self.messages, len(self.messages), self.head
        if chains and previous not in known:
            self._firsts.setdefault(chains[0], start)
        for message, chain, size in zip(messages, chains, sizes, strict=True):
            if chain not in known:
                self._previous[chain] = previous
                known[chain] = message
                self.tokens += size
            if previous == self.head:
                self.line.append(chain)
                self.head = chain
            previous = chain
        if previous != self.head and previous in known and previous not in self.line:
            self.line, self.head = self.walked(previous), previous
        return len(known) != count or self.head != head

    def walked(self, chain: bytes) -> list[bytes]:
        """The originals up to this one, in order."""
        line = []
        while chain in self.messages:
            line.append(chain)
            chain = self._previous[chain]
        line.reverse()
        return line

    def first_of(self, line: Sequence[bytes]) -> int:
        """The position of a line's first original."""
        return self._firsts[line[0]] if line else 0

    def position_of(self, chain: bytes) -> int:
        line = self.walked(chain)
        return self.first_of(line) + len(line) - 1

    def numbered(self, line: Sequence[bytes]) -> list[Original]:
        return [Original(n, self.messages[chain]) for n, chain in enumerate(line, self.first_of(line))]

    @property
    def end(self) -> int:
        return self.first_of(self.line) + len(self.line)

    def thread(self, currently_compacting: bool) -> Thread:
        in_force = standing(self.records)
        summary = in_force[-1].summary if in_force else ""
        since = list(takewhile(lambda record: record.summary == summary, reversed(in_force)))
        return Thread(
            session_id=self.id,
            space=self.space,
            title=self.title,
            summary=summary or None,
            summary_updated_at=since[-1].created_at if summary else None,
            compaction_count=len(in_force),
            last_compaction_at=in_force[-1].created_at if in_force else None,
            currently_compacting=currently_compacting,
            message_count=self.end,
            tokens=self.tokens,
            created_at=self.created_at,
            updated_at=self.updated_at,
            settings=dict(self.settings),
            incarnation=self.incarnation,
        )
