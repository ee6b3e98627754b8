"""Leases in a database, renewed while their holder works: only a dead process's lease expires."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import or_, update

from compact.errors import StoreError
from compact.stores.sql.renewing import Renewals
from compact.stores.sql.schema import sessions
from compact.stores.sql.session_rows import SessionRows

_FOREVER = 1e9


class SqlLeases:
    """One holder per session. Time is the database's (see `Database.now`), so a wrong clock delays nobody."""

    def __init__(self, rows: SessionRows) -> None:
        self._rows = rows
        self._database = rows.database
        self._renewals = Renewals()

    @contextmanager
    def lease(self, session_id: str, seconds: float) -> Iterator[bool]:
        owner = uuid.uuid4().hex
        if self._database.is_private:
            # Nobody outlives the process that holds this one, and its only connection is in use.
            seconds = _FOREVER
        if not self._take(session_id, owner, seconds):
            yield False
            return
        try:
            with self._renewals.during(seconds, lambda: self._renew(session_id, owner, seconds)):
                yield True
        finally:
            # A lease that cannot be returned expires.
            with suppress(StoreError):
                self._give_back(session_id, owner)

    def stop(self) -> None:
        """Stop renewing; for a store that is closed."""
        self._renewals.stop()

    def _take(self, session_id: str, owner: str, seconds: float) -> bool:
        with self._database.writing() as connection:
            session = self._rows.found(connection, session_id)
            if session is None:
                return True  # nothing to guard: nothing can be committed
            # Read under the lock: otherwise a lease taken while we waited for it would begin in the future.
            now = self._database.now()
            values = {
                "currently_compacting": owner,
                "compacting_since": now,
                "compacting_until": now + seconds,
            }
            taken = update(sessions).where(sessions.c.id == session.id, _is_free(now)).values(**values)
            return connection.execute(taken).rowcount == 1

    def _renew(self, session_id: str, owner: str, seconds: float) -> bool:
        with self._database.writing() as connection:
            until = self._database.now() + seconds
            renewed = update(sessions).where(*self._mine(session_id, owner)).values(compacting_until=until)
            return connection.execute(renewed).rowcount == 1

    def _give_back(self, session_id: str, owner: str) -> None:
        nobody = {"currently_compacting": None, "compacting_since": None, "compacting_until": None}
        with self._database.writing() as connection:
            connection.execute(update(sessions).where(*self._mine(session_id, owner)).values(**nobody))

    def _mine(self, session_id: str, owner: str) -> tuple[Any, ...]:
        return (*self._rows.named(session_id), sessions.c.currently_compacting == owner)


def _is_free(now: Any) -> Any:
    """Nobody holds it, or it has expired, or its time lies ahead (the machine was restarted since)."""
    held = sessions.c.currently_compacting
    return or_(held.is_(None), sessions.c.compacting_until <= now, sessions.c.compacting_since > now)
