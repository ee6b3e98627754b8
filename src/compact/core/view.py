"""The view: what would be sent, where each message comes from, and the hashes that identify it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b

from compact.model.message import Message, Part, Role, ToolResult, digest_of, hashed, with_parts
from compact.model.record import Cleared, Entry, Injected, Kept, Record
from compact.model.value import entity

CLEARED_TEXT = "[Tool output cleared - see conversation summary]"

START = b"compact-chain-1"

_HINT = re.compile(r"\s*[(\[`'\"]*(?:recall\s+)?([rs]-[0-9a-f]{10})[)\]`'\"]*(?=\s|$)", re.IGNORECASE)


@entity
class Item:
    """One message of the view, its size, and its provenance."""

    message: Message
    tokens: int
    position: int | None = None
    """Logical position among the originals; None for our own messages."""
    cleared: Cleared | None = None
    """Which of its tool outputs are cleared or shortened."""

    @property
    def is_whole(self) -> bool:
        """Whether it is an original that is sent unchanged."""
        return self.position is not None and self.cleared is None

    @property
    def entry(self) -> Entry:
        """What a record says in its place."""
        if self.position is None:
            return Injected(self.message)
        return self.cleared or Kept(self.position)


def links(key: bytes, messages: Iterable[Message]) -> list[bytes]:
    """The chain hash after each of the messages: equal chains mean equal prefixes."""
    keys = []
    for message in messages:
        key = hashed(key + message.digest)
        keys.append(key)
    return keys


def chain(messages: Iterable[Message], start: bytes = START) -> bytes:
    return [start, *links(start, messages)][-1]


def undo_key(source: bytes) -> bytes:
    """The key for finding the undo of a record, by the source that the record replaced."""
    return b"restore:" + source


def clear_key(session_id: str) -> str:
    """Replaces the policy in the record of a session that was cleared."""
    return f"clear-{blake2b(session_id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def own_key(policy_hash: str, session_id: str) -> str:
    """Replaces the policy in a session's own copy of a record that another session made."""
    return f"{policy_hash.partition('~')[0]}~{clear_key(session_id)[-16:]}"


def own_id(record_id: str, session_id: str) -> str:
    """The id of a session's own copy of a record."""
    return f"{original_id(record_id)}~{clear_key(session_id)[-16:]}"


def original_id(record_id: str) -> str:
    """The id of the record that this one is a copy of; its own if it is not a copy."""
    return record_id.partition("~")[0]


def handle(result: ToolResult) -> str:
    """The short name for recalling a tool output.

    It is derived from the output and its call: ids alone repeat in many agents' sessions.
    """
    return f"r-{digest_of(Role.TOOL, (result,))[:5].hex()}"


def handle_of_call(call_id: str) -> str:
    """The name of a cleared output in records that did not yet store it."""
    return f"r-{blake2b(call_id.encode('utf-8', 'surrogatepass'), digest_size=5).hexdigest()}"


def span_handle(replaced: Iterable[Message]) -> str:
    """The short name for recalling everything that a summary or marker replaced."""
    return f"s-{blake2b(b''.join([message.digest for message in replaced]), digest_size=5).hexdigest()}"


def recall_hint(handle: str) -> str:
    return f" (recall {handle})" if handle else ""


def without_hint(query: str) -> str:
    """Turns a query that repeats a hint from the prompt, `(recall s-…)`, into the handle it names."""
    hint = _HINT.match(query)
    return query if hint is None else f"{hint[1]} {query[hint.end() :]}".strip()


def cleared_text(handle: str) -> str:
    return CLEARED_TEXT + recall_hint(handle)


def handles_of(entry: Cleared) -> dict[str, str]:
    """The recall handle of each cleared call."""
    if entry.handles:
        return dict(zip(entry.call_ids, entry.handles, strict=True))
    return {call_id: handle_of_call(call_id) for call_id in entry.call_ids}


def kept_positions(record: Record) -> frozenset[int]:
    """Originals of the record's span that are still sent, whole or cleared; it replaced the others."""
    return frozenset(entry.position for entry in record.entries if not isinstance(entry, Injected))


def clear_outputs(message: Message, entry: Cleared, at: float) -> Message:
    """The message with these outputs replaced by the placeholder and its recall handle."""
    tokens = dict(zip(entry.call_ids, entry.original_tokens, strict=False))
    handles = handles_of(entry)
    texts = dict(zip(entry.call_ids, entry.texts, strict=False))

    def cleared(part: Part) -> Part:
        if not isinstance(part, ToolResult) or part.call_id not in handles:
            return part
        return replace(
            part,
            text=texts.get(part.call_id) or cleared_text(handles[part.call_id]),
            media=(),
            cleared_at=at,
            original_tokens=tokens.get(part.call_id),
        )

    return with_parts(message, tuple(cleared(part) for part in message.parts))


def apply_entries(
    record: Record,
    original_at: Callable[[int], Message | None],
    size_of: Callable[[Message], int],
) -> list[Item] | None:
    """What replaces the record's span; None if an original is not available."""
    items = []
    for entry in record.entries:
        if isinstance(entry, Injected):
            items.append(Item(entry.message, size_of(entry.message)))
            continue
        message = original_at(entry.position)
        if message is None:
            return None
        cleared = entry if isinstance(entry, Cleared) else None
        if cleared is not None:
            message = clear_outputs(message, cleared, record.created_at)
        items.append(Item(message, size_of(message), entry.position, cleared))
    return items
