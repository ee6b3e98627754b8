"""The row of a session, which every other part of a database store starts from."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from compact.errors import StoreError
from compact.stores.sql.database import Database
from compact.stores.sql.schema import sessions

_LONGEST_ID = 1_000
# Built once, since every write begins with it. For PostgreSQL; SQLite has one writer anyway and ignores it.
_LOCKED = (
    select(sessions)
    .where(sessions.c.tenant == bindparam("tenant"), sessions.c.name == bindparam("name"))
    .with_for_update()
)
_NAME_LOCKED = select(
    func.pg_advisory_xact_lock(
        func.hashtext(bindparam("tenant", type_=sessions.c.tenant.type)),
        func.hashtext(bindparam("name", type_=sessions.c.name.type)),
    )
)


class SessionRows:
    """The sessions of one tenant in one database. `clock` dates rows."""

    def __init__(self, database: Database, tenant: str, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self.tenant = tenant
        self.clock = clock

    def named(self, session_id: str) -> tuple[Any, Any]:
        """The condition that selects this session's row of `sessions`."""
        return sessions.c.tenant == self.tenant, sessions.c.name == session_id

    def found(self, connection: Connection, session_id: str) -> Row[Any] | None:
        """The session's row, locked against other writers; None if there is none and none can be created."""
        key = {"tenant": self.tenant, "name": session_id}
        row = connection.execute(_LOCKED, key).first()
        if row is not None or self.database.is_sqlite:
            return row
        # There is no row to wait for, so its name is locked. Whoever held that may have created the row.
        connection.execute(_NAME_LOCKED, key)
        return connection.execute(_LOCKED, key).first()

    def locked(self, connection: Connection, session_id: str) -> Row[Any]:
        """The same, but created if missing: for what may begin a session."""
        if not session_id or len(session_id) > _LONGEST_ID:
            raise StoreError(
                f"A session id must have 1 to {_LONGEST_ID} characters, this one has {len(session_id)}. "
                f"Nothing was stored; {'use a shorter id' if session_id else 'name one'}."
            )
        row = self.found(connection, session_id)
        if row is not None:
            return row
        key, now = {"tenant": self.tenant, "name": session_id}, self.clock()
        fresh = {**key, "created_at": now, "updated_at": now}
        connection.execute(self.insert_absent(sessions).values(**fresh))
        return connection.execute(_LOCKED, key).one()

    def insert_absent(self, table: Any) -> Any:
        """An insert that leaves an existing row alone."""
        build = sqlite.insert if self.database.is_sqlite else postgresql.insert
        return build(table).on_conflict_do_nothing()
