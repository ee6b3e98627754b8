"""Sessions as threads: spaces, titles, summaries, counts, and events to replay."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from compact.errors import StoreError
from compact.model.event import Event, EventName
from compact.stores.database import Database
from compact.stores.schema import events, sessions, spaces
from compact.stores.serialization import corrupt

_LONGEST_ID = 1_000


@dataclass(frozen=True, slots=True)
class Space:
    """Where threads live together, under the same custom instructions (S3.9)."""

    name: str
    title: str
    custom_instructions: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A session as a list shows it; `summary` is that of its last compaction."""

    session_id: str
    space: str | None
    title: str
    summary: str | None
    summary_updated_at: float | None
    compaction_count: int
    last_compaction_at: float | None
    currently_compacting: bool
    message_count: int
    tokens: int
    created_at: float
    updated_at: float


class Threads:
    """What a store knows of sessions beside their messages. Use it through `SqlStore`."""

    def __init__(self, database: Database, tenant: str, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self.tenant = tenant
        self._clock = clock

    def insert_absent(self, table: Any) -> Any:
        """An insert that leaves a row alone that is there already."""
        build = sqlite.insert if self.database.is_sqlite else postgresql.insert
        return build(table).on_conflict_do_nothing()

    def session_row(self, connection: Connection, session_id: str, create: bool = True) -> Row[Any] | None:
        """The session's row, locked against other writers; made if it is not there."""
        if not session_id or len(session_id) > _LONGEST_ID:
            raise StoreError(
                f"A session id must have 1 to {_LONGEST_ID} characters, this one has {len(session_id)}. "
                f"Nothing was stored; {'use a shorter id' if session_id else 'name one'}."
            )
        # PostgreSQL; SQLite has one writer anyway and ignores it.
        wanted = select(sessions).where(*self._named(session_id)).with_for_update()
        row = connection.execute(wanted).first()
        if row is not None or not create:
            return row
        now = self._clock()
        fresh = {"tenant": self.tenant, "name": session_id, "created_at": now, "updated_at": now}
        connection.execute(self.insert_absent(sessions).values(**fresh))
        return connection.execute(wanted).one()

    @contextmanager
    def exclusively(self, session_id: str) -> Iterator[None]:
        """Nobody else writes to this session within; what is written takes effect all at once or not at all.

        For what this thread does with the store. Others wait, with SQLite also those of other sessions: so
        nothing slow belongs in here.
        """
        with self.database.writing() as connection:
            self.session_row(connection, session_id)
            yield

    def _named(self, session_id: str) -> tuple[Any, Any]:
        return sessions.c.tenant == self.tenant, sessions.c.name == session_id

    # -- spaces and threads --------------------------------------------------------------------------------

    def put_space(self, name: str, title: str = "", custom_instructions: str = "") -> Space:
        with self.database.writing() as connection:
            key = {"tenant": self.tenant, "name": name}
            told = {"title": title, "custom_instructions": custom_instructions}
            connection.execute(self.insert_absent(spaces).values(**key, **told, created_at=self._clock()))
            here = (spaces.c.tenant == self.tenant, spaces.c.name == name)
            connection.execute(update(spaces).where(*here).values(**told))
        return Space(name, title, custom_instructions)

    def space(self, name: str) -> Space | None:
        wanted = select(spaces).where(spaces.c.tenant == self.tenant, spaces.c.name == name)
        with self.database.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else Space(row.name, row.title, row.custom_instructions)

    def put_session(self, session_id: str, *, space: str | None = None, title: str | None = None) -> None:
        """Make a session, or change its title or the space it lives in."""
        with self.database.writing() as connection:
            row = self.session_row(connection, session_id)
            assert row is not None
            changes: dict[str, Any] = {} if title is None else {"title": title}
            if space is not None:
                of = select(spaces.c.id).where(spaces.c.tenant == self.tenant, spaces.c.name == space)
                found = connection.execute(of).scalar()
                if found is None:
                    raise StoreError(
                        f"There is no space {space!r}. Nothing was changed; make it with put_space."
                    )
                changes["space_id"] = found
            if changes:
                connection.execute(update(sessions).where(sessions.c.id == row.id).values(**changes))

    def session(self, session_id: str) -> Thread | None:
        found = self._threads(*self._named(session_id), limit=1)
        return found[0] if found else None

    def sessions(
        self, limit: int = 50, *, before: tuple[float, str] | None = None, space: str | None = None
    ) -> list[Thread]:
        """Newest first, with counts; `before` is (updated_at, session_id) of the last one seen."""
        where: list[Any] = [sessions.c.tenant == self.tenant]
        if before is not None:
            last = select(sessions.c.id).where(*self._named(before[1])).scalar_subquery()
            where.append(tuple_(sessions.c.updated_at, sessions.c.id) < tuple_(before[0], last))
        if space is not None:
            where.append(spaces.c.name == space)
        return self._threads(*where, limit=limit)

    def _threads(self, *where: Any, limit: int) -> list[Thread]:
        now = self.database.now()
        compacting = (sessions.c.compacting_since <= now) & (sessions.c.compacting_until > now)
        wanted = (
            select(sessions, spaces.c.name.label("space"), compacting.label("compacting"))
            .select_from(sessions.outerjoin(spaces, spaces.c.id == sessions.c.space_id))
            .where(*where)
            .order_by(sessions.c.tenant.desc(), sessions.c.updated_at.desc(), sessions.c.id.desc())
            .limit(limit)
        )
        with self.database.reading() as connection:
            return [_thread(row) for row in connection.execute(wanted)]

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with its messages, parts, records and events; says whether it was there."""
        with self.database.writing() as connection:
            gone = connection.execute(sessions.delete().where(*self._named(session_id)))
        return gone.rowcount > 0

    # -- events --------------------------------------------------------------------------------------------

    def add_event(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> int:
        """Keep an event; returns its number in the session, from which a reader may go on."""
        at = self._clock()
        with self.database.writing() as connection:
            row = self.session_row(connection, session_id)
            assert row is not None
            number = int(row.last_event) + 1
            told = json.dumps(dict(data), separators=(",", ":"), default=str)
            connection.execute(
                events.insert().values(session_id=row.id, sequence=number, name=name.value, data=told, at=at)
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(last_event=number))
        return number

    def events(self, session_id: str, since: int = 0, limit: int = 1_000) -> Iterator[Event]:
        """Events after number `since`, in order."""
        wanted = (
            select(events)
            .join(sessions, sessions.c.id == events.c.session_id)
            .where(*self._named(session_id), events.c.sequence > since)
            .order_by(events.c.session_id, events.c.sequence)
            .limit(limit)
        )
        with self.database.reading() as connection:
            rows = connection.execute(wanted).all()
        yield from (_event(row, session_id) for row in rows)

    def last_event(self, session_id: str, name: EventName) -> Event | None:
        """The newest event of that name."""
        wanted = (
            select(events)
            .join(sessions, sessions.c.id == events.c.session_id)
            .where(*self._named(session_id), events.c.name == name.value)
            .order_by(events.c.session_id, events.c.sequence.desc())
            .limit(1)
        )
        with self.database.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else _event(row, session_id)

    def counts(self) -> tuple[int, int]:
        """Sessions and messages of this tenant."""
        wanted = select(func.count(), func.coalesce(func.sum(sessions.c.message_count), 0))
        with self.database.reading() as connection:
            row = connection.execute(wanted.where(sessions.c.tenant == self.tenant)).one()
        return int(row[0]), int(row[1])


def free_lease(now: Any) -> Any:
    """Nobody holds it, or its time is over, or its time lies ahead (the machine was restarted since)."""
    held = sessions.c.currently_compacting
    return or_(held.is_(None), sessions.c.compacting_until <= now, sessions.c.compacting_since > now)


def _event(row: Row[Any], session_id: str) -> Event:
    try:
        return Event(EventName(row.name), session_id, row.sequence, row.at, json.loads(row.data))
    except ValueError as error:
        raise corrupt("events", row.sequence, session_id, str(error)) from error


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
    )
