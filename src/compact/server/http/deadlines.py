"""HTTP on a socket with deadlines: for headers that never end, and for clients that never read."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class DeadlineProtocol(H11Protocol):
    """uvicorn would wait forever for both; a subclass sets the seconds."""

    header_seconds = 10.0
    write_seconds = 30.0
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._headers_due = self.loop.call_later(self.header_seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_arrived()
        self._read_again()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_headers()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading_due = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._read_again()
        super().resume_writing()

    def _watch_headers(self) -> None:
        """The clock runs from a request's first byte to the end of its headers."""
        begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not begun:
            self._headers_arrived()
        elif self._headers_due is None:
            self._headers_due = self.loop.call_later(self.header_seconds, self._too_slow)

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()

    def _headers_arrived(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _read_again(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None
