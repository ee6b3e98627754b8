"""What stands before the conversation: leading system messages, the system prompt given apart, the tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compact.core.layers import TAG
from compact.engine.caller_list import container_copy, same
from compact.engine.size_cache import SizeCache
from compact.errors import MalformedMessage
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

    def equals(self, stored: Sequence[Any], format: Format) -> bool:
        """Whether these stored objects say the same."""
        try:
            found = [message for n, item in enumerate(stored) for message in format.decode(item, n)]
        except MalformedMessage:
            # Another process stored them in another format.
            return False
        return _digests(found) == _digests(self.messages)


Known = tuple[Any, int]
"""What the caller gave, copied, and its tokens."""


class SystemPrompt:
    """Reads the head of each list of a session, and knows what the last call that counted was sent with."""

    def __init__(self, sizes: SizeCache, records_after: Callable[[str | None], Sequence[Record]]) -> None:
        self._sizes = sizes
        self._records_after = records_after
        self._newest: str | None = None
        """The newest record that was looked at."""
        self.head = Head()
        """Of the last call that stored; looking leaves it as it is."""
        self.system: Known | None = None
        self.tools: Known | None = None
        self._read = self.head
        self._not_leading: Any = None
        """A system message of ours, known not to belong to the head."""
        self._injected: set[bytes] = set()
        self._not_injected: set[bytes] = set()
        """What begins like a summary of ours and is none."""

    def exclude(self, record: Record) -> None:
        """What this record put in belongs to the conversation, wherever it stands."""
        for entry in record.entries:
            if isinstance(entry, Injected):
                self._injected.add(entry.message.digest)

    def read(self, messages: Sequence[Any], format: Format) -> Head:
        """The leading messages that are the caller's system prompt; decoded only when they changed."""
        head = self._read
        count = len(head.source)
        if count <= len(messages) and same(messages[:count], head.source):
            after = messages[count] if count < len(messages) else None
            if after is None or not self._is_lead(after, count, format):
                return head
        found: list[Message] = []
        at = 0
        while at < len(messages):
            decoded = format.decode(messages[at], at)
            if not all(self._leads(message) for message in decoded):
                break
            found.extend(decoded)
            at += 1
        size_of: Callable[[Message], int] = self._sizes.of_message
        developer = sum(size_of(message) for message in found if message.role is Role.DEVELOPER)
        tokens = sum(map(size_of, found))
        self._read = Head([container_copy(item) for item in messages[:at]], found, tokens, developer)
        return self._read

    def read_anew(self, messages: Sequence[Any], format: Format) -> Head:
        """The same in another format."""
        self._read = Head()
        return self.read(messages, format)

    def measured(self, system: Any, tools: Any) -> tuple[Known, Known]:
        """`system` and `tools` with their tokens; counted only when they changed."""
        known_system, known_tools = self.system, self.tools
        if known_system is None or not same(known_system[0], system):
            known_system = (container_copy(system), self._sizes.of_system(system))
        if known_tools is None or not same(known_tools[0], tools):
            known_tools = (container_copy(tools), self._sizes.of_tools(tools))
        return known_system, known_tools

    def accept(self, head: Head, system: Known, tools: Known) -> list[str]:
        """This is what the call was sent with; returns what changed, since that costs the cache (S2.13)."""
        changed = []
        # What was not given before is learned now; nothing changed.
        if self.system and self.system[0] is not None and self.system != system:
            changed.append("system prompt")
        if self.tools and self.tools[0] is not None and self.tools != tools:
            changed.append("tool list")
        if self.system and head is not self.head and _digests(head.messages) != _digests(self.head.messages):
            changed.append("leading system messages")
        self.head, self.system, self.tools = head, system, tools
        return changed

    def _is_lead(self, item: Any, index: int, format: Format) -> bool:
        role = item.get("role") if isinstance(item, dict) else getattr(item, "role", None)
        # Dumps of some frameworks have no role: those are decoded.
        if role is not None and role not in ("system", "developer"):
            return False
        if self._not_leading is not None and same(item, self._not_leading):
            return False
        leads = all(self._leads(message) for message in format.decode(item, index))
        if not leads:
            self._not_leading = container_copy(item)
        return leads

    def _leads(self, message: Message) -> bool:
        if message.role not in (Role.SYSTEM, Role.DEVELOPER):
            return False
        # A summary of ours that stands among the system messages belongs to the conversation.
        return not self._is_injected(message)

    def _is_injected(self, message: Message) -> bool:
        digest = message.digest
        if digest in self._injected:
            return True
        if not message.text.startswith(f"<{TAG} ") or digest in self._not_injected:
            return False
        # It may be ours: only then it pays to look at records, those of other processes too.
        for record in self._records_after(self._newest):
            self._newest = record.id
            self.exclude(record)
        if digest not in self._injected:
            self._not_injected.add(digest)
        return digest in self._injected


def _digests(messages: Sequence[Message]) -> list[bytes]:
    return [message.digest for message in messages]
