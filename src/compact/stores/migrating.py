"""Runs the migrations in a transaction that is open already: a kill leaves the old schema or the new one."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from compact.errors import MissingExtra


def upgrade(connection: Connection) -> None:
    try:
        from alembic import command
        from alembic.config import Config
    except ImportError:
        raise MissingExtra("alembic", "sql") from None
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
