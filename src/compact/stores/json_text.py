"""Messages and records as JSON text, for stores that keep text: a file, a key-value database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from compact.model.message import Message
from compact.model.record import Record
from compact.stores.serialization import decode_rows, message_rows, record_from, record_row

_BYTES = ("source", "output", "reached_key")
_KEPT = ("format", "raw", "part", "digest")


def messages_to_json(messages: Sequence[Message], format: str) -> str:
    """The messages of one `append`. It contains the caller's objects unchanged, each once."""
    rows = message_rows(0, messages, [message.digest for message in messages], (), format, 0.0)
    return json.dumps([[row["format"], row["raw"], row["part"], row["digest"].hex()] for row in rows])


def messages_from_json(text: str, session_id: str) -> list[Message]:
    """The same messages, with the same digests; StoreError if they are not what was stored."""
    rows: list[Any] = []
    begun = 0
    for position, held in enumerate(json.loads(text)):
        row = SimpleNamespace(id=position, position=position, **dict(zip(_KEPT, held, strict=True)))
        row.digest = bytes.fromhex(row.digest)
        begun += row.raw is not None
        rows.append((begun, row))
    objects = ([row for _, row in group] for _, group in groupby(rows, lambda numbered: numbered[0]))
    return [message for one in objects for message in decode_rows(one, session_id)]


def record_to_json(record: Record) -> str:
    row = record_row(record)
    return json.dumps(row | {name: (row[name] or b"").hex() for name in _BYTES})


def record_from_json(text: str) -> Record:
    row = json.loads(text)
    row |= {name: bytes.fromhex(row[name]) for name in _BYTES}
    return record_from(SimpleNamespace(**row), row["session_id"])
