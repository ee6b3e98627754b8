"""Records in a database: found by what they replaced or put there, added once, undone by one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select, union, update

from compact.core.view import handle_of_call, handles_of
from compact.errors import HistoryGone, StoreError
from compact.model.record import ArchivedStep, Cleared, Record, RecordKind
from compact.ports import RecordState
from compact.stores.serialization import record_from, record_row
from compact.stores.sql.schema import message_parts, records, sessions
from compact.stores.sql.session_rows import SessionRows

_KEYS = 400
"""Keys in one query."""
_RECORDS = select(records, sessions.c.name.label("session_name")).join(
    sessions, sessions.c.id == records.c.session_id
)


class SqlRecords:
    """The records of the `Store` port."""

    def __init__(self, rows: SessionRows) -> None:
        self._rows = rows
        self._database = rows.database
        self._tenant = rows.tenant

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return {}
        rows: dict[int, Row[Any]] = {}
        with self._database.reading() as connection:
            for first in range(0, len(wanted), _KEYS):
                some = wanted[first : first + _KEYS]
                of_tenant = select(records.c.sequence).where(records.c.tenant == self._tenant)
                either = union(
                    of_tenant.where(records.c.source.in_(some)), of_tenant.where(records.c.output.in_(some))
                )
                matching = _RECORDS.where(records.c.sequence.in_(either.scalar_subquery()))
                rows.update((row.sequence, row) for row in connection.execute(matching))
        found: dict[bytes, list[Record]] = {}
        asked = set(wanted)
        for _, row in sorted(rows.items()):
            record = record_from(row, row.session_name)
            for key in {record.source, record.output} & asked:
                found.setdefault(key, []).append(record)
        return found

    def commit(self, record: Record) -> Record:
        with self._database.writing() as connection:
            session = self._rows.found(connection, record.session_id)
            if session is None:
                raise HistoryGone(record.session_id, record.source_length)
            values = {**record_row(record), "tenant": self._tenant, "session_id": session.id}
            added = self._rows.insert_absent(records).values(**values).returning(records.c.sequence)
            if connection.execute(added).first() is not None:
                self._note(connection, session, record)
                return record
            wanted = _RECORDS.where(
                records.c.tenant == self._tenant,
                records.c.source == record.source,
                records.c.policy_hash == record.policy_hash,
                records.c.revision == record.revision,
            )
            winner = connection.execute(wanted).first()
            if winner is None:
                raise StoreError(
                    f"A record {record.id!r} of another compaction already exists. Nothing was changed; "
                    "compact again, which takes a new id."
                )
            return record_from(winner, winner.session_name)

    def _note(self, connection: Connection, session: Row[Any], record: Record) -> None:
        """What a thread's list and its next load need, in the transaction that adds the record."""
        now = self._rows.clock()
        changes: dict[str, Any] = {"updated_at": now}
        if record.kind is RecordKind.RESTORE:
            changes |= self._after_restore(connection, session, record)
        else:
            changes |= {
                "compaction_count": session.compaction_count + 1,
                "last_compaction_at": record.created_at,
                "compacted_length": record.source_length,
            }
            if record.kind is RecordKind.CLEAR:
                changes |= {"summary": None, "summary_updated_at": None}
            elif record.summary and record.summary != session.summary:
                changes |= {"summary": record.summary, "summary_updated_at": record.created_at}
        connection.execute(update(sessions).where(sessions.c.id == session.id).values(**changes))
        for entry in record.entries:
            if isinstance(entry, Cleared):
                self._note_cleared(connection, session.id, entry, record.created_at)

    def _note_cleared(self, connection: Connection, session_id: int, entry: Cleared, at: float) -> None:
        for call_id, handle in handles_of(entry).items():
            # What an older version stored has the call's handle; from now on it is found by its own.
            known = message_parts.c.handle.in_({handle, handle_of_call(call_id)})
            # Those that an earlier compaction cleared keep its time.
            fresh = (message_parts.c.session_id == session_id, message_parts.c.compacted_at.is_(None))
            connection.execute(
                update(message_parts).where(known, *fresh).values(compacted_at=at, handle=handle)
            )

    def _after_restore(self, connection: Connection, session: Row[Any], undo: Record) -> dict[str, Any]:
        """The state after the newest compaction still in force."""
        mine = records.c.session_id == session.id
        undone = select(records.c.revokes).where(mine, records.c.revokes.is_not(None))
        standing = _RECORDS.where(
            mine, records.c.kind != RecordKind.RESTORE.value, records.c.id.not_in(undone)
        )
        last = connection.execute(standing.order_by(records.c.sequence.desc()).limit(1)).first()
        revoked = connection.execute(_RECORDS.where(mine, records.c.id == undo.revokes)).first()
        if revoked is not None:
            of = (
                message_parts.c.session_id == session.id,
                message_parts.c.compacted_at == revoked.created_at,
            )
            connection.execute(update(message_parts).where(*of).values(compacted_at=None))
        in_force = connection.execute(select(func.count()).select_from(standing.subquery())).scalar_one()
        return {
            "compaction_count": in_force,
            "last_compaction_at": last.created_at if last is not None else None,
            "summary": (last.summary or None) if last is not None else None,
            "summary_updated_at": last.created_at if last is not None and last.summary else None,
            "compacted_length": last.source_length if last is not None else 0,
        }

    def records(self, session_id: str, after: str | None) -> Sequence[Record]:
        wanted = _RECORDS.where(*self._rows.named(session_id)).order_by(records.c.sequence)
        if after is not None:
            known = select(records.c.sequence).join(sessions, sessions.c.id == records.c.session_id)
            known = known.where(*self._rows.named(session_id), records.c.id == after)
            wanted = wanted.where(records.c.sequence > func.coalesce(known.scalar_subquery(), -1))
        with self._database.reading() as connection:
            return tuple(record_from(row, session_id) for row in connection.execute(wanted))

    def state(self, session_id: str) -> RecordState:
        """Only numbers and ids, so that opening a session costs the same however many records it has."""
        mine = records.join(sessions, sessions.c.id == records.c.session_id)
        named = self._rows.named(session_id)
        newest = select(records.c.id).select_from(mine).where(*named).order_by(records.c.sequence.desc())
        steps = select(func.max(records.c.step)).select_from(mine).where(*named)
        undone = select(records.c.revokes, records.c.revision, records.c.version).select_from(mine)
        undone = undone.where(*named)
        compactions = (*named, records.c.kind != RecordKind.RESTORE.value, records.c.reached > 0)
        archived = select(records.c.step, records.c.reached, records.c.reached_key).select_from(mine)
        archived = archived.where(*compactions).order_by(records.c.sequence.desc()).limit(1)
        with self._database.reading() as connection:
            undos = connection.execute(undone.where(records.c.revokes.is_not(None))).all()
            last = connection.execute(archived).first()
            return RecordState(
                newest=connection.execute(newest.limit(1)).scalar(),
                steps=connection.execute(steps).scalar() or 0,
                revision=max((undo.revision for undo in undos), default=0),
                revoked=frozenset(undo.revokes for undo in undos),
                undone_version=max((undo.version for undo in undos), default=0),
                archived=ArchivedStep(last.step, last.reached, bytes(last.reached_key)) if last else None,
            )
