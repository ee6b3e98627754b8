"""Run the migrations in a transaction that is already open: a kill leaves the old schema or the new one."""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import OperationalError

from compact.errors import MissingExtra
from compact.stores.sql.schema import metadata, sessions

_LOCK_NOT_AVAILABLE = "55P03"
_AGAIN_SECONDS = 0.05


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


def lock_tables(connection: Connection, wait_seconds: float) -> None:
    """Lock out the processes that use the database until the migration is over.

    Otherwise it would miss what they write in the meantime. `sessions` comes first, since every write begins
    there. The others are not waited for while it is held: whoever uses one of them may be waiting for
    `sessions`.
    """
    if connection.dialect.name == "sqlite":
        return  # Its write transaction already locks out the others.
    ours = {*metadata.tables, "message_search"} & {*inspect(connection).get_table_names()}
    if not ours:
        return
    rest = ", ".join(sorted(ours - {sessions.name}))
    last = time.monotonic() + wait_seconds
    while True:
        try:
            with connection.begin_nested():
                connection.execute(text(f"LOCK TABLE {sessions.name} IN ACCESS EXCLUSIVE MODE"))
                connection.execute(text(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE NOWAIT"))
                return
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE or time.monotonic() > last:
                raise
        time.sleep(_AGAIN_SECONDS)
