"""The tables of the session store, the same on SQLite and PostgreSQL.

Originals are append-only. A session may have several lines: the history as it was first sent, and one more
for each place where a caller came back with a different message (an edit, a retry, a fork). A message is
stored once, on the line where it first appeared; `line_segments` lists the ranges that a line consists of. So
a fork overwrites nothing, and reading a line is one ordered range scan over few segments.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

OPEN = 2**62
"""The stop of a segment that still grows."""

_ESCAPED = "\x01json:"


class ExactText(TypeDecorator[str]):
    """Any Python string, including NUL characters or lone surrogates, which databases reject."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else exact(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        if value is not None and value.startswith(_ESCAPED):
            return str(json.loads(value[len(_ESCAPED) :]))
        return value


def exact(text: str) -> str:
    if "\0" in text or text.startswith(_ESCAPED):
        return _ESCAPED + json.dumps(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _ESCAPED + json.dumps(text)
    return text


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite counts rows only in columns spelled INTEGER.
Key = BigInteger().with_variant(Integer(), "sqlite")


def _key() -> Column[int]:
    return Column("id", Key, primary_key=True, autoincrement=True)


def _of(table: str, **more: Any) -> ForeignKey:
    return ForeignKey(f"{table}.id", ondelete="CASCADE", **more)


spaces = Table(
    "spaces",
    metadata,
    _key(),
    Column("tenant", ExactText, nullable=False),
    Column("name", ExactText, nullable=False),
    Column("title", ExactText, nullable=False, default=""),
    Column("custom_instructions", ExactText, nullable=False, default=""),
    Column("settings", Text),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("tenant", "name"),
)

sessions = Table(
    "sessions",
    metadata,
    _key(),
    Column("tenant", ExactText, nullable=False),
    Column("name", ExactText, nullable=False),
    Column("space_id", Key, ForeignKey("spaces.id", ondelete="SET NULL"), index=True),
    Column("title", ExactText, nullable=False, default=""),
    Column("summary", ExactText),
    Column("summary_updated_at", Float),
    Column("compaction_count", Integer, nullable=False, default=0),
    Column("last_compaction_at", Float),
    Column("compacted_length", Integer, nullable=False, default=0),
    Column("currently_compacting", Text),
    Column("compacting_since", Float),
    Column("compacting_until", Float),
    Column("line", Integer, nullable=False, default=0),
    Column("message_count", Integer, nullable=False, default=0),
    Column("tokens", BigInteger, nullable=False, default=0),
    Column("last_event", BigInteger, nullable=False, default=0),
    # What a process that continues the session needs, besides its messages and records.
    Column("calibration", Float),
    Column("retired_tools", Text),
    Column("head", Text),
    # What a front door keeps with the session: preset, model.
    Column("settings", Text),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    UniqueConstraint("tenant", "name"),
    Index("ix_sessions_newest", "tenant", "updated_at", "id"),
)

line_segments = Table(
    "line_segments",
    metadata,
    Column("session_id", Key, _of("sessions"), primary_key=True),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("stop", BigInteger, nullable=False),
    Column("on_line", Integer, nullable=False),
)

messages = Table(
    "messages",
    metadata,
    _key(),
    Column("session_id", Key, _of("sessions"), nullable=False),
    Column("line", Integer, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("chain", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("role", Text, nullable=False),
    Column("format", Text, nullable=False),
    # The caller's object as JSON; on the first of the rows that one append made of it, else null.
    Column("raw", Text),
    Column("part", Integer, nullable=False),
    Column("parts", Integer, nullable=False),
    Column("tokens", Integer),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("session_id", "line", "position"),
    UniqueConstraint("session_id", "chain"),
    # Full-text rows carry the id: it must never name another message.
    sqlite_autoincrement=True,
)

message_parts = Table(
    "message_parts",
    metadata,
    _key(),
    Column("message_id", Key, _of("messages"), nullable=False, index=True),
    Column("session_id", Key, _of("sessions"), nullable=False),
    Column("type", Text, nullable=False),
    Column("content", ExactText, nullable=False),
    Column("tokens", Integer),
    Column("compacted_at", Float),
    Column("sort_order", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    # Short name for recalling a tool output.
    Column("handle", Text),
    Index("ix_message_parts_session_id_handle", "session_id", "handle"),
)

records = Table(
    "compaction_records",
    metadata,
    Column("sequence", Key, primary_key=True, autoincrement=True),
    Column("tenant", ExactText, nullable=False),
    Column("session_id", Key, _of("sessions"), nullable=False, index=True),
    Column("id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("source", LargeBinary, nullable=False),
    Column("source_length", BigInteger, nullable=False),
    Column("output", LargeBinary, nullable=False),
    Column("entries", Text, nullable=False),
    Column("policy_hash", Text, nullable=False),
    Column("parent", Text),
    Column("version", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("revokes", Text),
    Column("step", Integer, nullable=False),
    Column("reason", ExactText, nullable=False),
    Column("note", ExactText, nullable=False),
    Column("strategy", ExactText, nullable=False),
    Column("summary", ExactText, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("tokens_before", BigInteger, nullable=False),
    Column("tokens_after", BigInteger, nullable=False),
    Column("messages_replaced", Integer, nullable=False),
    Column("outputs_cleared", Integer, nullable=False),
    Column("dropped", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    # Short name for recalling everything that its summary replaced.
    Column("handle", Text),
    # How far the conversation reached, and the chain hash there; null if this step archived nothing.
    Column("reached", BigInteger),
    Column("reached_key", LargeBinary),
    UniqueConstraint("tenant", "source", "policy_hash", "revision"),
    UniqueConstraint("tenant", "id"),
    Index("ix_compaction_records_tenant_output", "tenant", "output"),
    Index("ix_compaction_records_tenant_handle", "tenant", "handle"),
)

# Working memory, each text where it entered the conversation.
notes = Table(
    "notes",
    metadata,
    _key(),
    Column("session_id", Key, _of("sessions"), nullable=False, index=True),
    Column("chain", LargeBinary, nullable=False),
    Column("content", ExactText, nullable=False),
    Column("created_at", Float, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("session_id", Key, _of("sessions"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("at", Float, nullable=False),
)
