"""Alembic's entry point: uses the connection it is given, in that connection's transaction."""

from __future__ import annotations

from alembic import context

from compact.stores.sql.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite can roll back DDL, although Alembic does not rely on it.
    transactional_ddl=True,
)
context.run_migrations()
