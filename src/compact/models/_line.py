"""The connection of one streamed reply: timeouts, and hanging up immediately from any thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from compact.model.chat import ReplyPiece
from compact.models._connections import Connection


class Line:
    """The connection of one reply. Any thread may hang up; so does a silence that lasts too long."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.started = False
        """The reader has the first piece."""
        self.expired = False
        self.asked_to_wait: float | None = None
        self.answered = False
        """The server has begun to respond to the newest request."""
        self.ending = False
        """The reply is complete; the rest only ends the transfer."""
        self._connection: Connection | None = None
        self._deadline: float | None = None
        self._changed = threading.Condition()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx2 reports the connection only here before the reply begins."""
        connection = self._connection
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete") and connection:
            connection.stream = info["return_value"]
            if self.closed.is_set():
                self._shut_down()

    def use(self, connection: Connection | None) -> None:
        """This one carries the reply; None once it carries another reply, which must not be cut off here."""
        with self._changed:
            self._connection = connection
            if connection is not None:
                self.answered = self.ending = False

    def expect(self, seconds: float) -> None:
        """Set how long the server has for its next event."""
        with self._changed:
            self._deadline = time.monotonic() + seconds
            self._changed.notify()

    def relax(self) -> None:
        """Stop the timer while the reader processes a piece, which may take any time."""
        self._deadline = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch from a second thread: a read timeout does not catch a server that only sends "wait"."""
        over = threading.Event()
        threading.Thread(target=self._watch, args=(over,), name="compact-chat-watch", daemon=True).start()
        try:
            yield
        finally:
            over.set()
            with self._changed:
                self._changed.notify()

    def _watch(self, over: threading.Event) -> None:
        with self._changed:
            while not over.is_set():
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    self.expired = True
                    self._shut_down()
                    return
                self._changed.wait(left)

    def hang_up(self) -> None:
        self.closed.set()
        self._shut_down()

    def _shut_down(self) -> None:
        with self._changed, suppress(OSError):
            stream = self._connection.stream if self._connection is not None else None
            own = stream.get_extra_info("socket") if stream is not None else None
            if own is not None:
                # Closing it would not wake the thread that reads from it. Use the plain socket's method: that
                # of an encrypted socket would remove the encryption while the reader uses it.
                socket.socket.shutdown(own, socket.SHUT_RDWR)


class Reply(Iterator[ReplyPiece]):
    """A reply as it arrives. `close()`, from any thread, stops it immediately, here and on the server."""

    def __init__(self, pieces: Callable[[Line], Generator[ReplyPiece, None, None]]) -> None:
        self._line = Line()
        self._pieces = pieces(self._line)

    def __next__(self) -> ReplyPiece:
        return next(self._pieces)

    def close(self) -> None:
        self._line.hang_up()
        with suppress(ValueError):  # Another thread is in it, and has just been woken.
            self._pieces.close()

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
