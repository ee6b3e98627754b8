"""Sessions in a database: SQLite on one machine, PostgreSQL for a team."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from compact.core.view import START
from compact.model.event import Event, EventName
from compact.model.message import Message
from compact.model.record import Record
from compact.ports import Hit, RecordState, SessionMemory, Space, Thread
from compact.stores.sql.database import Database, database_url
from compact.stores.sql.leases import SqlLeases
from compact.stores.sql.originals import SqlOriginals
from compact.stores.sql.records import SqlRecords
from compact.stores.sql.session_memory import SqlMemories
from compact.stores.sql.session_rows import SessionRows
from compact.stores.sql.threads import SqlThreads


class SqlStore:
    """The Store, Searchable, Remembers and Threads ports on a database, each a separate part.

    One store serves many threads; every process opens its own. Stores for several tenants may share one
    `Database`, given instead of its URL. `clock` dates rows. Leases use the database's time instead, so a
    wrong clock delays nobody.
    """

    def __init__(
        self,
        url: str | Database,
        tenant: str = "default",
        *,
        wait_seconds: float = 15.0,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.database = url if isinstance(url, Database) else Database(url, wait_seconds, monotonic)
        self.tenant = tenant
        rows = SessionRows(self.database, tenant, clock)
        self._originals = SqlOriginals(rows)
        self._records = SqlRecords(rows)
        self._leases = SqlLeases(rows)
        self._memories = SqlMemories(rows)
        self._threads = SqlThreads(rows)

    @staticmethod
    def check_url(url: str) -> None:
        database_url(url)

    def close(self) -> None:
        self._leases.stop()
        self.database.close()

    def __enter__(self) -> SqlStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- Store ---------------------------------------------------------------------------------------------

    def append(
        self,
        session_id: str,
        start: int,
        messages: Sequence[Message],
        *,
        previous: bytes = START,
        format: str = "",
        sizes: Sequence[int] = (),
        keys: Sequence[bytes] = (),
        detached: bool = False,
    ) -> None:
        self._originals.append(session_id, start, messages, previous, format, sizes, keys, detached)

    def originals(self, session_id: str, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """The current line, in order; memory is bounded by a few megabytes and the largest message."""
        return self._originals.originals(session_id, start, stop)

    def originals_up_to(self, session_id: str, key: bytes) -> Iterator[Message]:
        return self._originals.originals_up_to(session_id, key)

    def since_last_compaction(self, session_id: str) -> list[Message]:
        """The originals that the last compaction left unchanged, and everything after it (S2.15)."""
        return self._originals.since_last_compaction(session_id)

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Record]]:
        return self._records.find(keys)

    def commit(self, record: Record) -> Record:
        return self._records.commit(record)

    def records(self, session_id: str, after: str | None = None) -> Sequence[Record]:
        return self._records.records(session_id, after)

    def record_state(self, session_id: str) -> RecordState:
        return self._records.state(session_id)

    def lease(self, session_id: str, seconds: float) -> AbstractContextManager[bool]:
        return self._leases.lease(session_id, seconds)

    # -- Searchable and Remembers --------------------------------------------------------------------------

    def search(self, session_id: str, query: str, limit: int = 5, after: int = -1) -> list[Hit]:
        """Originals by handle or by words; by words only those of the current line."""
        return self._originals.search(session_id, query, limit, after)

    def memory(self, session_id: str) -> SessionMemory:
        return self._memories.memory(session_id)

    def remember(
        self,
        session_id: str,
        *,
        scale: float | None = None,
        retired_tools: Collection[str] | None = None,
        head: Sequence[Any] | None = None,
        note: tuple[bytes, str] | None = None,
    ) -> None:
        self._memories.remember(session_id, scale, retired_tools, head, note)

    # -- Threads -------------------------------------------------------------------------------------------

    def session(self, session_id: str) -> Thread | None:
        return self._threads.session(session_id)

    def sessions(
        self,
        limit: int = 50,
        *,
        before: tuple[float, str] | None = None,
        space: str | None = None,
        query: str = "",
    ) -> list[Thread]:
        return self._threads.sessions(limit, before, space, query)

    def put_session(
        self,
        session_id: str,
        *,
        space: str | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._threads.put_session(session_id, space, title, settings)

    def delete_session(self, session_id: str) -> bool:
        return self._threads.delete_session(session_id)

    def put_space(
        self,
        name: str,
        title: str = "",
        custom_instructions: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> Space:
        return self._threads.put_space(name, title, custom_instructions, settings)

    def space(self, name: str) -> Space | None:
        return self._threads.space(name)

    def spaces(self) -> list[Space]:
        return self._threads.spaces()

    def delete_space(self, name: str) -> bool:
        return self._threads.delete_space(name)

    def add_event(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> int:
        return self._threads.add_event(session_id, name, data)

    def events(self, session_id: str, after: int = 0, limit: int = 1_000) -> Iterator[Event]:
        return self._threads.events(session_id, after, limit)

    def last_event(self, session_id: str, name: EventName) -> Event | None:
        return self._threads.last_event(session_id, name)

    def exclusively(self, session_id: str, *, incarnation: str | None = None) -> AbstractContextManager[None]:
        """Nobody else writes to this session inside the block; with SQLite, not to other sessions either."""
        return self._threads.exclusively(session_id, incarnation)

    def end(self, session_id: str) -> tuple[int, bytes]:
        return self._originals.end(session_id)

    def counts(self) -> tuple[int, int]:
        """Sessions and messages of this tenant."""
        return self._threads.counts()
