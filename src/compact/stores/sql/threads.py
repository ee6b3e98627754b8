"""The `Threads` port on a database: sessions as a list shows them, spaces, and events to replay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Row, Select, func, or_, select, tuple_, update

from compact.errors import HistoryGone, StoreError
from compact.model.event import Event, EventName
from compact.ports import Space, Thread
from compact.stores.serialization import corrupt, json_text
from compact.stores.sql.schema import events, records, sessions, spaces
from compact.stores.sql.session_rows import SessionRows

_RECORD = "$record"
"""Replaces a summary that a record already has: two events of each compaction repeat it."""


class SqlThreads:
    """What a store knows about sessions besides their messages."""

    def __init__(self, rows: SessionRows) -> None:
        self._rows = rows
        self._database = rows.database

    @contextmanager
    def exclusively(self, session_id: str, incarnation: str | None) -> Iterator[None]:
        with self._database.writing() as connection:
            row = self._rows.found(connection, session_id)
            if incarnation is not None and (row is None or _incarnation(row) != incarnation):
                raise HistoryGone(session_id, 0)
            yield

    # -- spaces --------------------------------------------------------------------------------------------

    def put_space(
        self, name: str, title: str, custom_instructions: str, settings: Mapping[str, Any] | None
    ) -> Space:
        values: dict[str, Any] = {"title": title, "custom_instructions": custom_instructions}
        if settings is not None:
            values["settings"] = json_text(settings, f"The settings of space {name!r}")
        key = {"tenant": self._rows.tenant, "name": name}
        with self._database.writing() as connection:
            fresh = self._rows.insert_absent(spaces).values(**key, **values, created_at=self._rows.clock())
            connection.execute(fresh)
            connection.execute(update(spaces).where(*self._space_named(name)).values(**values))
        space = self.space(name)
        assert space is not None
        return space

    def space(self, name: str) -> Space | None:
        found = self._spaces(select(spaces).where(*self._space_named(name)))
        return found[0] if found else None

    def spaces(self) -> list[Space]:
        of_tenant = select(spaces).where(spaces.c.tenant == self._rows.tenant)
        # Sorted here: databases differ in how they order letters.
        return sorted(self._spaces(of_tenant), key=lambda space: space.name)

    def delete_space(self, name: str) -> bool:
        with self._database.writing() as connection:
            gone = connection.execute(spaces.delete().where(*self._space_named(name)))
        return gone.rowcount > 0

    def _space_named(self, name: str) -> tuple[Any, Any]:
        return spaces.c.tenant == self._rows.tenant, spaces.c.name == name

    def _spaces(self, wanted: Select[Any]) -> list[Space]:
        with self._database.reading() as connection:
            rows = connection.execute(wanted).all()
        return [Space(row.name, row.title, row.custom_instructions, _settings(row, "spaces")) for row in rows]

    # -- sessions ------------------------------------------------------------------------------------------

    def put_session(
        self, session_id: str, space: str | None, title: str | None, settings: Mapping[str, Any] | None
    ) -> None:
        changes: dict[str, Any] = {} if title is None else {"title": title}
        if settings is not None:
            changes["settings"] = json_text(settings, f"The settings of session {session_id!r}")
        with self._database.writing() as connection:
            row = self._rows.locked(connection, session_id)
            if space is not None:
                found = None
                if space:
                    of_space = select(spaces.c.id).where(*self._space_named(space))
                    found = connection.execute(of_space).scalar()
                    if found is None:
                        raise StoreError(
                            f"There is no space {space!r}. Nothing was changed; create it with put_space."
                        )
                changes["space_id"] = found
            if changes:
                connection.execute(update(sessions).where(sessions.c.id == row.id).values(**changes))

    def session(self, session_id: str) -> Thread | None:
        found = self._threads(*self._rows.named(session_id), limit=1)
        return found[0] if found else None

    def sessions(
        self, limit: int, before: tuple[float, str] | None, space: str | None, query: str
    ) -> list[Thread]:
        where: list[Any] = [sessions.c.tenant == self._rows.tenant]
        if before is not None:
            last = select(sessions.c.id).where(*self._rows.named(before[1])).scalar_subquery()
            where.append(tuple_(sessions.c.updated_at, sessions.c.id) < tuple_(before[0], last))
        if space is not None:
            where.append(spaces.c.name == space)
        if query:
            where.append(
                or_(*(self._database.holds(column, query) for column in (sessions.c.title, sessions.c.name)))
            )
        return self._threads(*where, limit=limit)

    def _threads(self, *where: Any, limit: int) -> list[Thread]:
        now = self._database.now()
        compacting = (sessions.c.compacting_since <= now) & (sessions.c.compacting_until > now)
        wanted = (
            select(sessions, spaces.c.name.label("space"), compacting.label("compacting"))
            .select_from(sessions.outerjoin(spaces, spaces.c.id == sessions.c.space_id))
            .where(*where)
            .order_by(sessions.c.tenant.desc(), sessions.c.updated_at.desc(), sessions.c.id.desc())
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [_thread(row) for row in connection.execute(wanted)]

    def delete_session(self, session_id: str) -> bool:
        with self._database.writing() as connection:
            gone = connection.execute(sessions.delete().where(*self._rows.named(session_id)))
        return gone.rowcount > 0

    def counts(self) -> tuple[int, int]:
        """Sessions and messages of this tenant."""
        wanted = select(func.count(), func.coalesce(func.sum(sessions.c.message_count), 0))
        with self._database.reading() as connection:
            row = connection.execute(wanted.where(sessions.c.tenant == self._rows.tenant)).one()
        return int(row[0]), int(row[1])

    # -- events --------------------------------------------------------------------------------------------

    def add_event(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> int:
        at = self._rows.clock()
        what = f"The event {name.value}"
        text = json_text(data, what)
        with self._database.writing() as connection:
            row = self._rows.found(connection, session_id)
            if row is None:
                return 0
            number = int(row.last_event) + 1
            if row.summary and data.get("summary") == row.summary:
                record = _newest_record(connection, row)
                if record is not None:
                    text = json_text({**data, "summary": {_RECORD: record}}, what)
            connection.execute(
                events.insert().values(session_id=row.id, sequence=number, name=name.value, data=text, at=at)
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(last_event=number))
        return number

    def events(self, session_id: str, after: int, limit: int) -> Iterator[Event]:
        wanted = self._events(session_id).where(events.c.sequence > after)
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(events.c.sequence).limit(limit)).all()
            found = [_event(connection, row, session_id) for row in rows]
        yield from found

    def last_event(self, session_id: str, name: EventName) -> Event | None:
        wanted = self._events(session_id).where(events.c.name == name.value)
        with self._database.reading() as connection:
            row = connection.execute(wanted.order_by(events.c.sequence.desc()).limit(1)).first()
            return None if row is None else _event(connection, row, session_id)

    def _events(self, session_id: str) -> Select[Any]:
        of_session = select(events).join(sessions, sessions.c.id == events.c.session_id)
        return of_session.where(*self._rows.named(session_id)).order_by(events.c.session_id)


def _newest_record(connection: Connection, session: Row[Any]) -> int | None:
    """The record whose summary the session shows."""
    wanted = select(records.c.sequence).where(
        records.c.session_id == session.id, records.c.summary == session.summary
    )
    return connection.execute(wanted.order_by(records.c.sequence.desc()).limit(1)).scalar()


def _event(connection: Connection, row: Row[Any], session_id: str) -> Event:
    try:
        data = json.loads(row.data)
        if isinstance(data.get("summary"), dict) and _RECORD in data["summary"]:
            wanted = select(records.c.summary).where(
                records.c.session_id == row.session_id, records.c.sequence == data["summary"][_RECORD]
            )
            data["summary"] = connection.execute(wanted).scalar()
        return Event(EventName(row.name), session_id, row.sequence, row.at, data)
    except (ValueError, AttributeError) as error:
        raise corrupt("events", row.sequence, session_id, str(error)) from error


def _settings(row: Row[Any], table: str) -> dict[str, Any]:
    try:
        return dict(json.loads(row.settings or "{}"))
    except (ValueError, TypeError) as error:
        raise corrupt(table, row.id, row.name, str(error)) from error


def _thread(row: Row[Any]) -> Thread:
    return Thread(
        session_id=row.name,
        space=row.space,
        title=row.title,
        summary=row.summary,
        summary_updated_at=row.summary_updated_at,
        compaction_count=row.compaction_count,
        last_compaction_at=row.last_compaction_at,
        currently_compacting=bool(row.currently_compacting and row.compacting),
        message_count=row.message_count,
        tokens=row.tokens,
        created_at=row.created_at,
        updated_at=row.updated_at,
        settings=_settings(row, "sessions"),
        incarnation=_incarnation(row),
    )


def _incarnation(row: Row[Any]) -> str:
    # SQLite may give the key of a deleted row to the next one.
    return f"{row.id}-{row.created_at!r}"
