"""What a session remembers besides messages and records, so that a restarted process continues as before."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import select, update

from compact.ports import SessionMemory
from compact.stores.raw_json import raw_json, raw_object
from compact.stores.serialization import corrupt
from compact.stores.sql.schema import notes, sessions
from compact.stores.sql.session_rows import SessionRows

# The engine stores these last: what was stored before in the same call stays.
_UNREMEMBERED = (
    "Messages and compactions are stored, but the session's system prompt, working memory, calibration and "
    "retired tools are as they were before"
)


class SqlMemories:
    """The `Remembers` port."""

    def __init__(self, rows: SessionRows) -> None:
        self._rows = rows
        self._database = rows.database

    def memory(self, session_id: str) -> SessionMemory:
        wanted = select(notes.c.chain, notes.c.content).order_by(notes.c.id)
        with self._database.reading() as connection:
            row = connection.execute(select(sessions).where(*self._rows.named(session_id))).first()
            if row is None:
                return SessionMemory()
            entered = connection.execute(wanted.where(notes.c.session_id == row.id)).all()
        try:
            return SessionMemory(
                scale=1.0 if row.calibration is None else row.calibration,
                retired_tools=frozenset(json.loads(row.retired_tools or "[]")),
                head=tuple(raw_object(row.head or "[]")),
                notes=tuple((bytes(note.chain), note.content) for note in entered),
            )
        except (ValueError, TypeError) as error:
            raise corrupt("sessions", row.id, session_id, str(error)) from error

    def remember(
        self,
        session_id: str,
        scale: float | None,
        retired_tools: Collection[str] | None,
        head: Sequence[Any] | None,
        note: tuple[bytes, str] | None,
    ) -> None:
        changes: dict[str, Any] = {}
        if scale is not None:
            changes["calibration"] = scale
        if retired_tools is not None:
            changes["retired_tools"] = json.dumps(sorted(retired_tools))
        if head is not None:
            changes["head"] = raw_json(list(head))
        with self._database.writing(_UNREMEMBERED) as connection:
            row = self._rows.found(connection, session_id)
            if row is None:
                return
            if changes:
                connection.execute(update(sessions).where(sessions.c.id == row.id).values(**changes))
            if note is not None:
                fresh = {"session_id": row.id, "chain": note[0], "content": note[1]}
                connection.execute(notes.insert().values(**fresh, created_at=self._rows.clock()))
