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
    previous: bytes
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
        self.originals: dict[bytes, Original] = {}
        self.line: list[Original] = []
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
            originals=self.originals.copy(),
            line=self.line.copy(),
            records=self.records.copy(),
            events=self.events.copy(),
            newest_events=self.newest_events.copy(),
        )
        return copied

    def holds(self, previous: bytes, chains: Sequence[bytes]) -> bool:
        """Whether it has the message before those with these chain hashes, or the first of them."""
        return previous in self.originals or (bool(chains) and chains[0] in self.originals)

    def extend(
        self,
        start: int,
        previous: bytes,
        messages: Sequence[Message],
        chains: Sequence[bytes],
        sizes: Sequence[int],
    ) -> bool:
        """Keep these originals, and make the line run to the last of them; returns whether that is news."""
        originals, known, head = self.originals, len(self.originals), self.head
        for message, chain, size in zip(messages, chains, sizes, strict=True):
            original = Original(start, previous, message)
            kept = originals.setdefault(chain, original)
            if kept is original:
                self.tokens += size
            if previous == self.head:
                self.line.append(kept)
                self.head = chain
            previous = chain
            start += 1
        if previous != self.head and not self.passes(previous):
            self.line, self.head = self.walked(previous), previous
        return len(originals) != known or self.head != head

    def passes(self, chain: bytes) -> bool:
        """Whether the current line runs through this message, so that it stays the current one."""
        found = self.originals.get(chain)
        if found is None:
            return True
        at = found.position - self.line[0].position if self.line else -1
        return 0 <= at < len(self.line) and self.line[at] is found

    def walked(self, chain: bytes) -> list[Original]:
        """The originals up to this one, in order."""
        line = []
        found = self.originals.get(chain)
        while found is not None:
            line.append(found)
            found = self.originals.get(found.previous)
        line.reverse()
        return line

    @property
    def end(self) -> int:
        return self.line[-1].position + 1 if self.line else 0

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
