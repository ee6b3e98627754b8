"""Spaces, sessions, lines, messages and their parts, compaction records, events, full-text index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _key(name: str = "id") -> sa.Column[int]:
    return sa.Column(name, _Key, autoincrement=True, nullable=False)


def _session() -> sa.Column[int]:
    return sa.Column("session_id", _Key, nullable=False)


def _of(table: str, column: str, other: str, on_delete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], name=f"fk_{table}_{column}", ondelete=on_delete)


def _text(name: str, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _large(name: str, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=nullable)


def _time(name: str, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Float(), nullable=nullable)


def _hash(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def upgrade() -> None:
    _sessions()
    _messages()
    _records()
    if op.get_bind().dialect.name == "sqlite":
        # Our own words, each followed by nothing but whether it is there; the session is a word among them.
        op.execute(
            "CREATE VIRTUAL TABLE message_search USING "
            "fts5(words, content='', columnsize=0, detail=none, tokenize=\"ascii tokenchars '_'\")"
        )
    else:
        op.execute(
            "CREATE TABLE message_search ("
            "message_id BIGINT PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE, "
            "session_id BIGINT NOT NULL, words TSVECTOR NOT NULL)"
        )
        op.execute("CREATE INDEX ix_message_search_session_id ON message_search (session_id)")
        op.execute("CREATE INDEX ix_message_search_words ON message_search USING GIN (words)")


def _sessions() -> None:
    op.create_table(
        "spaces",
        _key(),
        _text("tenant"),
        _text("name"),
        _text("title"),
        _text("custom_instructions"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_spaces"),
        sa.UniqueConstraint("tenant", "name", name="uq_spaces_tenant_name"),
    )
    op.create_table(
        "sessions",
        _key(),
        _text("tenant"),
        _text("name"),
        sa.Column("space_id", _Key),
        _text("title"),
        _text("summary", nullable=True),
        _time("summary_updated_at", nullable=True),
        _count("compaction_count"),
        _time("last_compaction_at", nullable=True),
        _count("compacted_length"),
        _text("currently_compacting", nullable=True),
        _time("compacting_since", nullable=True),
        _time("compacting_until", nullable=True),
        _count("line"),
        _count("message_count"),
        _large("tokens"),
        _large("last_event"),
        _time("created_at"),
        _time("updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        _of("sessions", "space_id", "spaces", "SET NULL"),
        sa.UniqueConstraint("tenant", "name", name="uq_sessions_tenant_name"),
    )
    op.create_index("ix_sessions_newest", "sessions", ["tenant", "updated_at", "id"])
    op.create_index("ix_sessions_space_id", "sessions", ["space_id"])
    op.create_table(
        "line_segments",
        _session(),
        sa.Column("line", sa.Integer(), autoincrement=False, nullable=False),
        _large("start"),
        _large("stop"),
        _count("on_line"),
        sa.PrimaryKeyConstraint("session_id", "line", "start", name="pk_line_segments"),
        _of("line_segments", "session_id", "sessions"),
    )
    op.create_table(
        "events",
        _session(),
        _large("sequence"),
        _text("name"),
        _text("data"),
        _time("at"),
        sa.PrimaryKeyConstraint("session_id", "sequence", name="pk_events"),
        _of("events", "session_id", "sessions"),
    )


def _messages() -> None:
    op.create_table(
        "messages",
        _key(),
        _session(),
        _count("line"),
        _large("position"),
        _hash("chain"),
        _hash("digest"),
        _text("role"),
        _text("format"),
        _text("raw", nullable=True),
        _count("part"),
        _count("parts"),
        sa.Column("tokens", sa.Integer()),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        _of("messages", "session_id", "sessions"),
        sa.UniqueConstraint("session_id", "line", "position", name="uq_messages_session_id_line_position"),
        sa.UniqueConstraint("session_id", "chain", name="uq_messages_session_id_chain"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "message_parts",
        _key(),
        sa.Column("message_id", _Key, nullable=False),
        _session(),
        _text("type"),
        _text("content"),
        sa.Column("tokens", sa.Integer()),
        _time("compacted_at", nullable=True),
        _count("sort_order"),
        _time("created_at"),
        _text("handle", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_message_parts"),
        _of("message_parts", "message_id", "messages"),
        _of("message_parts", "session_id", "sessions"),
    )
    op.create_index("ix_message_parts_message_id", "message_parts", ["message_id"])
    op.create_index("ix_message_parts_session_id_handle", "message_parts", ["session_id", "handle"])


def _records() -> None:
    op.create_table(
        "compaction_records",
        _key("sequence"),
        _text("tenant"),
        _session(),
        _text("id"),
        _text("kind"),
        _hash("source"),
        _large("source_length"),
        _hash("output"),
        _text("entries"),
        _text("policy_hash"),
        _text("parent", nullable=True),
        _count("version"),
        _count("revision"),
        _text("revokes", nullable=True),
        _count("step"),
        _text("reason"),
        _text("note"),
        _text("strategy"),
        _text("summary"),
        _text("evidence"),
        _large("tokens_before"),
        _large("tokens_after"),
        _count("messages_replaced"),
        _count("outputs_cleared"),
        _count("dropped"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("sequence", name="pk_compaction_records"),
        _of("compaction_records", "session_id", "sessions"),
        sa.UniqueConstraint(
            "tenant",
            "source",
            "policy_hash",
            "revision",
            name="uq_compaction_records_tenant_source_policy_hash_revision",
        ),
        sa.UniqueConstraint("tenant", "id", name="uq_compaction_records_tenant_id"),
    )
    op.create_index("ix_compaction_records_session_id", "compaction_records", ["session_id"])
    op.create_index("ix_compaction_records_tenant_output", "compaction_records", ["tenant", "output"])
