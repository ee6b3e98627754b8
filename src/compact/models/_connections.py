"""Connections to one server, kept open between replies: opening one takes as long as a short reply."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

_MOST_IDLE = 32
_IDLE_SECONDS = 20.0
"""Less than servers and proxies usually allow."""


class Connection:
    """A client with at most one connection, and what is needed to find its socket."""

    def __init__(self, client: Any, is_proxied: bool) -> None:
        self.client = client
        self.is_proxied = is_proxied
        self.stream: Any = None
        """The network stream of the connection, as httpx2 reported it."""
        self.is_used = False
        """Whether it has carried a reply before; the server may have closed it since."""
        self.idle_since = 0.0

    def close(self) -> None:
        self.client.close()


class Connections:
    """Each is lent to one reply at a time, and is reused only if that reply was read to its end."""

    def __init__(self) -> None:
        self._idle: deque[Connection] = deque()
        self._lock = threading.Lock()

    def take(self, is_proxied: bool, make: Callable[[], Any]) -> Connection:
        """The most recently used one, or a new one."""
        self._drop_old()
        with self._lock:
            if self._idle and self._idle[-1].is_proxied == is_proxied:
                return self._idle.pop()
        return Connection(make(), is_proxied)

    def give_back(self, connection: Connection) -> None:
        connection.is_used, connection.idle_since = True, time.monotonic()
        with self._lock:
            self._idle.append(connection)
        self._drop_old()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    __del__ = close

    def _drop_old(self) -> None:
        oldest = time.monotonic() - _IDLE_SECONDS
        dropped = []
        with self._lock:
            while self._idle and (len(self._idle) > _MOST_IDLE or self._idle[0].idle_since < oldest):
                dropped.append(self._idle.popleft())
        for connection in dropped:
            connection.close()
