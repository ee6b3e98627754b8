"""Handles of summaries, and what a session remembers across restarts: calibration, tools, head, notes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("compaction_records", sa.Column("handle", sa.Text()))
    op.create_index("ix_compaction_records_tenant_handle", "compaction_records", ["tenant", "handle"])
    op.add_column("sessions", sa.Column("calibration", sa.Float()))
    op.add_column("sessions", sa.Column("retired_tools", sa.Text()))
    op.add_column("sessions", sa.Column("head", sa.Text()))
    op.create_table(
        "notes",
        sa.Column("id", _Key, autoincrement=True, nullable=False),
        sa.Column("session_id", _Key, nullable=False),
        sa.Column("chain", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notes"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_notes_session_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_notes_session_id", "notes", ["session_id"])
