"""What the recall tool may find: what is in this request itself, and nothing from another one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

from compact.core.view import START, links, without_hint
from compact.engine.queries import all_text
from compact.formats import by_name, decode_all
from compact.model.message import Message, Role
from compact.model.record import Record
from compact.ports import Hit
from compact.server.gateway.wire import Request
from compact.stores.memory import MemoryStore

_MOST_HITS = 5
_MOST_CHARS = 4_000


def recalled_text(request: Request, record: Record, query: str) -> str:
    """What was found, for the model to read."""
    hits = recall(request, record, query)
    shown = [f"[m{hit.position}] {all_text(hit.message)}"[:_MOST_CHARS] for hit in hits]
    return "\n\n".join(shown) or "Nothing was found. Try other words."


def recall(request: Request, record: Record, query: str) -> Sequence[Hit]:
    """Originals that the record replaced in this request, by handle or by words.

    A client sends its whole history each time, so they are in the request. No session is searched: two
    conversations may share one by their key and their first message.
    """
    replaced = _conversation(request)[: record.source_length]
    if links(START, replaced)[-1:] != [record.source]:
        return ()
    store = MemoryStore()
    store.append(record.session_id, 0, replaced)
    store.commit(record)
    return store.search(record.session_id, without_hint(query), _MOST_HITS)


def _conversation(request: Request) -> list[Message]:
    messages = decode_all(request.messages, by_name(request.api.format))
    return list(dropwhile(lambda message: message.role in (Role.SYSTEM, Role.DEVELOPER), messages))
