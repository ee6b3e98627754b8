"""Settings of sessions and spaces; how far the archive of a compaction goes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("settings", sa.Text()))
    op.add_column("spaces", sa.Column("settings", sa.Text()))
    op.add_column("compaction_records", sa.Column("reached", sa.BigInteger()))
    op.add_column("compaction_records", sa.Column("reached_key", sa.LargeBinary()))
