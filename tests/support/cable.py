"""A connection to a server that can be cut, in both directions at once, and mended."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cable:
    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        with self._lock:
            self._cut = True
            for end in self._open:
                _hang_up(end)
            self._open.clear()

    def mend(self) -> None:
        self._cut = False

    def lead_to(self, host: str, port: int) -> None:
        """New connections go to this server from now on: one that was restarted has another port."""
        self._server = host, port

    def close(self) -> None:
        self.cut()
        _hang_up(self._listener)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with self._lock:
                    if self._cut:
                        _hang_up(near)
                        continue
                    try:
                        far = socket.create_connection(self._server)
                    except OSError:
                        _hang_up(near)
                        continue
                    self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=(one, other), daemon=True).start()


def _carry(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while piece := one.recv(65_536):
            other.sendall(piece)
    _hang_up(one)
    _hang_up(other)


def _hang_up(end: socket.socket) -> None:
    # Closing alone does not wake a thread that reads from it.
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def cable(host: str, port: int) -> Iterator[Cable]:
    laid = Cable((host, port))
    try:
        yield laid
    finally:
        laid.close()
