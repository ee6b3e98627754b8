"""The connection of one streamed reply: time-outs, and hanging up at once from any thread."""

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
    """The connection of one reply. Any thread may hang up, and a silence that lasts too long does."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.started = False
        """The first piece is with the reader."""
        self.expired = False
        self.asked_to_wait: float | None = None
        self.answered = False
        """The server has begun to answer the newest request."""
        self.ending = False
        """The reply is complete; what is still read only ends the transfer."""
        self._connection: Connection | None = None
        self._deadline: float | None = None
        self._changed = threading.Condition()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx2 reports the connection here, and nowhere else before the reply begins."""
        connection = self._connection
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete") and connection:
            connection.stream = info["return_value"]
            if self.closed.is_set():
                self._shut_down()

    def use(self, connection: Connection | None) -> None:
        """This one carries the reply; None once it carries another's, which nobody may hang up here."""
        with self._changed:
            self._connection = connection
            if connection is not None:
                self.answered = self.ending = False

    def expect(self, seconds: float) -> None:
        """The server has so long for its next event."""
        with self._changed:
            self._deadline = time.monotonic() + seconds
            self._changed.notify()

    def relax(self) -> None:
        """The turn is with the reader, who may take any time."""
        self._deadline = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """A thread beside the reading one: a read's own time-out misses a server that only says "wait"."""
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
                # Closing it would not wake the thread that reads from it. The plain socket's method: that
                # of an encrypted one takes its encryption away under the reader.
                socket.socket.shutdown(own, socket.SHUT_RDWR)


class Reply(Iterator[ReplyPiece]):
    """A reply as it comes. `close()`, from any thread, stops it here and at the server at once."""

    def __init__(self, pieces: Callable[[Line], Generator[ReplyPiece, None, None]]) -> None:
        self._line = Line()
        self._pieces = pieces(self._line)

    def __next__(self) -> ReplyPiece:
        return next(self._pieces)

    def close(self) -> None:
        self._line.hang_up()
        with suppress(ValueError):  # another thread is in it, and has just been woken
            self._pieces.close()

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
