"""What stands before the conversation: the caller's system messages, but not a summary of ours among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compact.engine.given import shell
from compact.model.message import Message, Role
from compact.model.record import Injected, Record
from compact.ports import Format


@dataclass
class Head:
    """The leading system messages of one list, as they were read."""

    source: list[Any] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    tokens: int = 0
    developer_tokens: int = 0


class Leading:
    """Finds the head of each list that a session is given, and remembers the last."""

    def __init__(self, size_of: Callable[[Message], int]) -> None:
        self.head = Head()
        self._size_of = size_of
        self._before: Head | None = None
        self._after_head: Any = None
        """A system message of ours, known not to belong to the head."""
        self._injected: set[bytes] = set()

    def note(self, record: Record) -> None:
        """What this record put in belongs to the conversation, wherever it stands."""
        for entry in record.entries:
            if isinstance(entry, Injected):
                self._injected.add(entry.message.digest)

    def split(self, messages: Sequence[Any], format: Format) -> int:
        """How many leading messages are the caller's system prompt; decodes them only when they changed."""
        head = self.head
        count = len(head.source)
        if count <= len(messages) and messages[:count] == head.source:
            after = messages[count] if count < len(messages) else None
            if after is None or after == self._after_head or not self._is_lead(after, count, format):
                return count
        found: list[Message] = []
        at = 0
        while at < len(messages):
            decoded = format.decode(messages[at], at)
            if not all(self._leads(message) for message in decoded):
                break
            found.extend(decoded)
            at += 1
        developer = sum(self._size_of(message) for message in found if message.role is Role.DEVELOPER)
        tokens = sum(self._size_of(message) for message in found)
        self.head = Head([shell(item) for item in messages[:at]], found, tokens, developer)
        return at

    def changed(self) -> bool:
        """Whether the head differs from the one at the last time this was asked."""
        before, self._before = self._before, self.head
        if before is None or before is self.head:
            return False
        return [one.digest for one in before.messages] != [one.digest for one in self.head.messages]

    def _is_lead(self, item: Any, index: int, format: Format) -> bool:
        role = item.get("role") if isinstance(item, dict) else getattr(item, "role", None)
        known = isinstance(item, dict) or role is not None
        if known and role not in ("system", "developer"):
            return False
        leads = all(self._leads(message) for message in format.decode(item, index))
        if not leads:
            self._after_head = shell(item)
        return leads

    def _leads(self, message: Message) -> bool:
        # A summary of ours that stands among the system messages belongs to the conversation.
        return message.role in (Role.SYSTEM, Role.DEVELOPER) and message.digest not in self._injected
