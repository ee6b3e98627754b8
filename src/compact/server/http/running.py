"""Starts and stops a service on a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from compact.errors import ConfigError, StoreError
from compact.server.http.deadlines import DeadlineProtocol
from compact.server.http.guard import App


class Service(uvicorn.Server):
    """A guarded application on a socket.

    `stopping` runs when a stop begins: streams have to end then, because the stop waits for open requests.
    """

    def __init__(
        self,
        app: App,
        host: str,
        *,
        ready: Callable[[str], None] = lambda _: None,
        stopping: Callable[[], None] = lambda: None,
        stop_seconds: float = 5,
        max_connections: int = 2_000,
        header_seconds: float = 10.0,
        write_seconds: float = 30.0,
    ) -> None:
        self._host, self._ready, self._stopping = host, ready, stopping
        deadlines = {"header_seconds": header_seconds, "write_seconds": write_seconds}
        config = uvicorn.Config(
            app,
            http=type("ServiceProtocol", (DeadlineProtocol,), deadlines),
            ws="none",
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="on",
            limit_concurrency=max_connections,
            timeout_graceful_shutdown=round(stop_seconds),
            # Exporters keep their connection for some seconds; if we close first, that costs them a retry.
            timeout_keep_alive=30,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            self._ready(url_of(self._host, sockets[0]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        await super().shutdown(sockets)


@contextmanager
def on_a_thread(make: Callable[[Callable[[str], None]], Service], host: str, port: int) -> Iterator[str]:
    """The service on a thread of this process; returns its URL. For tests and notebooks.

    `make` gets a callback that the service must call with its URL once it answers.
    """
    urls: list[str] = []
    up = threading.Event()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    with bound(host, port) as listening:
        server = make(ready)

        def run() -> None:
            try:
                server.run(sockets=[listening])
            finally:
                up.set()

        thread = threading.Thread(target=run, name="compact-http", daemon=True)
        thread.start()
        up.wait()
        try:
            if not urls:
                raise StoreError("The service did not start; see its messages above.")
            yield urls[0]
        finally:
            server.should_exit = True
            thread.join()


def bound(host: str, port: int) -> socket.socket:
    """A listening socket; ConfigError says why there is none."""
    if not 0 <= port <= 65_535:
        raise ConfigError(
            f"A port is a number from 0 to 65535 (got {port}). Nothing was started; choose one with --port.",
            "port",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small writes at once; else each answer waits 40 ms for an ACK.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host.strip("[]"), port))
        made.listen(1_024)
    except OSError as error:
        made.close()
        why = error.strerror or str(error).rstrip(".")
        raise ConfigError(
            f"Port {port} on {host} cannot be used: {why}. Nothing was started. Perhaps the service runs "
            "already; otherwise choose another with --port.",
            "port",
        ) from None
    return made


def url_of(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"
