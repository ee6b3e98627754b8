"""Notify other processes on the same database that a session has news, or that a turn has to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import secrets
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol

_log = logging.getLogger("compact")
_CHANNEL = "compact_sessions"
_LONGEST = 7_000
"""PostgreSQL allows 8,000 bytes in a notification."""


class News(StrEnum):
    CHANGED = "changed"
    """The store has something new for the session."""
    SPACE = "space"
    """The settings of a space changed; its name takes the place of a session."""
    STOP = "stop"
    """Whoever writes a reply in this session has to stop."""
    CANCEL = "cancel"
    """The same for a compaction."""


Hear = Callable[[News, str, str], None]


class Notifier(Protocol):
    shared: bool
    """Whether there may be other processes."""

    async def start(self) -> None: ...

    def notify(self, news: News, tenant: str, session_id: str) -> None:
        """From any thread; never waits. Polling makes up for what is lost."""
        ...

    async def close(self) -> None: ...


class NoNotifier:
    """One process."""

    shared = False

    async def start(self) -> None:
        pass

    def notify(self, news: News, tenant: str, session_id: str) -> None:
        pass

    async def close(self) -> None:
        pass


def notifier_for(url: str, loop: asyncio.AbstractEventLoop, hear: Hear) -> Notifier:
    return PostgresNotifier(url, loop, hear) if url.startswith("postgres") else NoNotifier()


class PostgresNotifier:
    """LISTEN and NOTIFY on two separate connections, each with a thread.

    A lost connection is reopened; until then followers see new events by polling.
    """

    shared = True

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop, hear: Hear) -> None:
        scheme, _, rest = url.partition("://")
        self._url = f"postgresql://{rest}" if "+" in scheme else url
        self._loop = loop
        self._hear = hear
        self._own = secrets.token_hex(8)
        self._outgoing: queue.SimpleQueue[tuple[News, str, str] | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=self._listening, name="compact-listen", daemon=True),
            threading.Thread(target=self._notifying, name="compact-notify", daemon=True),
        ]
        self.listening = threading.Event()

    async def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def notify(self, news: News, tenant: str, session_id: str) -> None:
        self._outgoing.put((news, tenant, session_id))

    async def close(self) -> None:
        self._closed.set()
        self._outgoing.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join, 3.0)

    def _listening(self) -> None:
        while not self._closed.is_set():
            try:
                with self._connected() as connection:
                    connection.execute(f"LISTEN {_CHANNEL}")
                    self.listening.set()
                    while not self._closed.is_set():
                        for notice in connection.notifies(timeout=0.5):
                            self._heard(notice.payload)
            except Exception as error:
                self._wait(error)

    def _heard(self, payload: str) -> None:
        sender, news, tenant, session_id = json.loads(payload)
        if sender != self._own:
            self._loop.call_soon_threadsafe(self._hear, News(news), tenant, session_id)

    def _notifying(self) -> None:
        while not self._closed.is_set():
            try:
                with self._connected() as connection:
                    while (news := self._outgoing.get()) is not None:
                        payload = json.dumps([self._own, *news])
                        if len(payload) <= _LONGEST:
                            connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, payload))
                    return
            except Exception as error:
                self._wait(error)

    def _connected(self) -> Any:
        import psycopg

        return psycopg.connect(self._url, autocommit=True, application_name="compact-notify")

    def _wait(self, error: Exception) -> None:
        if not self._closed.is_set():
            _log.warning("notifications are interrupted (%s); followers poll", type(error).__name__)
            self._closed.wait(1.0)
