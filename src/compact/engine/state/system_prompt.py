"""What comes before the conversation: leading system messages, a separate system prompt, the tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compact.core.layers import TAG
from compact.engine.state.caller_list import container_copy, same
from compact.engine.state.size_cache import SizeCache
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
    """Reads the head of each list of a session, and remembers what the last counted call was sent with."""

    def __init__(
        self,
        sizes: SizeCache,
        records_after: Callable[[str | None], Sequence[Record]],
        records_that_put: Callable[[Sequence[Message]], Sequence[Record]],
    ) -> None:
        self._sizes = sizes
        self._records_after = records_after
        self._newest: str | None = None
        """The session's newest record that was checked."""
        self._records_that_put = records_that_put
        """Those of any session whose output such messages begin with."""
        self.head = Head()
        """Of the last call that stored; looking does not change it."""
        self.system: Known | None = None
        self.tools: Known | None = None
        self._read = self.head
        self._not_leading: Any = None
        """A system message of ours, known not to belong to the head."""
        self._injected: set[bytes] = set()
        self._excluded: Record | None = None
        """The record whose messages came in last."""
        self._not_injected: set[bytes] = set()
        """Text that begins like one of our summaries but is none."""

    def exclude(self, record: Record) -> None:
        """What this record injected belongs to the conversation, wherever it is."""
        if record is self._excluded:
            return  # Every call repeats what its view begins with.
        self._excluded = record
        for entry in record.entries:
            if isinstance(entry, Injected):
                self._injected.add(entry.message.digest)

    def read(self, messages: Sequence[Any], format: Format) -> Head:
        """The leading messages that are the caller's system prompt; decoded only if they changed."""
        head = self._read
        count = len(head.source)
        is_as_before = count <= len(messages) and same(messages[:count], head.source)
        if is_as_before and (count == len(messages) or not self._is_lead(messages, count, format)):
            return head
        found: list[Message] = []
        at = 0
        while at < len(messages):
            decoded = format.decode(messages[at], at)
            if not self._lead(decoded, messages, at, format):
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
        """`system` and `tools` with their tokens; counted only if they changed."""
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

    def _is_lead(self, messages: Sequence[Any], at: int, format: Format) -> bool:
        item = messages[at]
        role = item.get("role") if isinstance(item, dict) else getattr(item, "role", None)
        # Dumps of some frameworks have no role: those are decoded.
        if role is not None and role not in ("system", "developer"):
            return False
        if self._not_leading is not None and same(item, self._not_leading):
            return False
        leads = self._lead(format.decode(item, at), messages, at, format)
        if not leads:
            self._not_leading = container_copy(item)
        return leads

    def _lead(self, decoded: Sequence[Message], messages: Sequence[Any], at: int, format: Format) -> bool:
        """Whether the object at this index, decoded, belongs to the caller's system prompt."""
        if any(message.role not in (Role.SYSTEM, Role.DEVELOPER) for message in decoded):
            return False
        if any(map(self._may_be_injected, decoded)):
            # Only now is it worth checking records: of other processes, and of sessions that began like this.
            for record in self._records_after(self._newest):
                self._newest = record.id
                self.exclude(record)
        unknown = [message.digest for message in decoded if self._may_be_injected(message)]
        if unknown:
            all_of_it = [m for n, item in enumerate(messages[at:], at) for m in format.decode(item, n)]
            for record in self._records_that_put(all_of_it):
                self.exclude(record)
            self._not_injected.update(unknown)
        # One of our summaries among the system messages belongs to the conversation.
        return all(message.digest not in self._injected for message in decoded)

    def _may_be_injected(self, message: Message) -> bool:
        """Whether it begins like one of our summaries but is not known."""
        known = message.digest in self._injected or message.digest in self._not_injected
        return not known and message.text.startswith(f"<{TAG} ")


def _digests(messages: Sequence[Message]) -> list[bytes]:
    return [message.digest for message in messages]
