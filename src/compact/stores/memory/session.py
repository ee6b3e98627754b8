"""A session of the in-memory store, and how a list shows it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from compact.core.view import START
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import Record, standing
from compact.ports import SessionMemory, Thread

_EVENTS_KEPT = 10_000


class Original(NamedTuple):
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

    def add(self, chain: bytes, original: Original) -> Original:
        """Keep an original, or return the existing one; the line grows if this continues its end."""
        kept = self.originals.setdefault(chain, original)
        if original.previous == self.head:
            self.line.append(kept)
            self.head = chain
        return kept

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
