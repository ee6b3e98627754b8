"""The view: what would be sent, each message with where it comes from; and the hashes that recognize it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b

from compact.model.message import Message, Part, ToolResult, with_parts
from compact.model.record import Cleared, Entry, Injected, Kept, Record
from compact.model.value import entity

CLEARED_TEXT = "[Tool output cleared - see conversation summary]"

START = b"compact-chain-1"


@entity
class Item:
    """One message of the view, its size, and its provenance."""

    message: Message
    tokens: int
    entry: Entry

    @property
    def position(self) -> int | None:
        """Logical position among the originals; None for messages of ours."""
        return None if isinstance(self.entry, Injected) else self.entry.position


def link(previous: bytes, digest: bytes) -> bytes:
    """One step of a chain hash: equal chains mean equal prefixes."""
    return blake2b(previous + digest, digest_size=16).digest()


def chain(messages: Iterable[Message], start: bytes = START) -> bytes:
    for message in messages:
        start = link(start, message.digest)
    return start


def undo_key(source: bytes) -> bytes:
    """The key under which the undoing of a record is found, by the source that the record replaced."""
    return b"restore:" + source


def clear_key(session_id: str) -> str:
    """What stands for the policy in the record of a session that was cleared."""
    return f"clear-{blake2b(session_id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def handle(call_id: str) -> str:
    """The short name under which a cleared output can be recalled.

    It rests on the call id, which a cleared message still has, so that a caller who adopted the shorter
    list and one who sends the full history get the same bytes.
    """
    return f"r-{blake2b(call_id.encode('utf-8', 'surrogatepass'), digest_size=5).hexdigest()}"


def cleared_text(call_id: str) -> str:
    return f"{CLEARED_TEXT} (recall {handle(call_id)})"


def clear_outputs(message: Message, entry: Cleared, at: float) -> Message:
    """The message with these outputs replaced by the placeholder and its recall handle."""
    tokens = dict(zip(entry.call_ids, entry.original_tokens, strict=False))

    def cleared(part: Part) -> Part:
        if not isinstance(part, ToolResult) or part.call_id not in entry.call_ids:
            return part
        return replace(
            part,
            text=cleared_text(part.call_id),
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
    """What stands in place of the record's span; None where an original is not at hand."""
    items = []
    for entry in record.entries:
        match entry:
            case Injected(message=ours):
                message: Message | None = ours
            case Kept(position=position):
                message = original_at(position)
            case Cleared(position=position):
                message = original_at(position)
                if message is not None:
                    message = clear_outputs(message, entry, record.created_at)
        if message is None:
            return None
        items.append(Item(message, size_of(message), entry))
    return items
