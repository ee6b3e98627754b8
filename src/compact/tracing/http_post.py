"""A JSON POST on a persistent connection, with one deadline for the whole request."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

_MOST_BYTES = 1 << 20


class Poster:
    """Socket timeouts apply to each read, so a server that sends a byte now and then would never time out.

    Here every read gets only the time left until the deadline.
    """

    def __init__(self, url: str, timeout: float, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{shown(url)} is not an http or https address")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if self._secure else 80)
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = {
            "host": host if parts.port is None else f"{host}:{parts.port}",
            "content-type": "application/json",
            "accept": "application/json",
            **headers,
        }
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
        self._timeout = timeout
        self._socket: socket.socket | None = None

    def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the response; raises OSError (including TimeoutError) or HTTPException."""
        deadline = time.monotonic() + self._timeout
        kept = self._socket is not None
        try:
            return self._exchange(body, deadline)
        except TimeoutError:
            self.close()
            raise
        except (OSError, http.client.HTTPException):
            self.close()
            if not kept:
                raise
        # The server has closed the persistent connection in the meantime: try once more on a new one.
        try:
            return self._exchange(body, deadline)
        except BaseException:
            self.close()
            raise

    def _exchange(self, body: bytes, deadline: float) -> tuple[int, bytes]:
        connection = self._connected(deadline)
        connection.settimeout(_left(deadline))
        head = f"{self._head}content-length: {len(body)}\r\n\r\n".encode("latin-1")
        connection.sendall(head + body)
        answer = http.client.HTTPResponse(_Reading(connection, deadline), method="POST")  # type: ignore[arg-type]
        with answer:
            answer.begin()
            content = answer.read(_MOST_BYTES)
            if answer.length and len(content) < _MOST_BYTES:
                raise http.client.IncompleteRead(content, answer.length)
            if answer.will_close or answer.length:
                self.close()
            return answer.status, content

    def _connected(self, deadline: float) -> socket.socket:
        if self._socket is None:
            made = socket.create_connection((self._host, self._port), _left(deadline))
            try:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._secure:
                    made = _tls().wrap_socket(made, server_hostname=self._host)
            except BaseException:
                made.close()
                raise
            self._socket = made
        return self._socket

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class _Reading(io.RawIOBase):
    """The socket as `HTTPResponse` expects it: an object with `makefile`."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline = connection, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._connection.settimeout(_left(self._deadline))
        return self._connection.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def shown(url: str) -> str:
    """A URL that is safe to show: without user, password and query."""
    parts = urlsplit(url)
    # The last @, also if a slash in the password puts it behind what then looks like the host.
    return f"{parts.scheme}://{(parts.netloc + parts.path).rpartition('@')[2]}"
