"""Starts and stops the service on a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import uvicorn

from compact.errors import ConfigError, StoreError
from compact.server.traces.app import create_app
from compact.server.traces.database import TraceDatabase
from compact.server.traces.service import TraceService
from compact.server.traces.settings import TraceSettings


class _Server(uvicorn.Server):
    """Says when it is ready, and tells followers to go when it stops: it would wait for them."""

    def __init__(
        self, settings: TraceSettings, database: TraceDatabase, ready: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._ready = ready
        self._services: list[TraceService] = []
        config = uvicorn.Config(
            create_app(settings, database, self._services.append),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
            # Exporters keep their connection for some seconds; one that closes first costs them a retry.
            timeout_keep_alive=30,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            self._ready(_url(self._settings.host, sockets[0]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for service in self._services:
            service.bell.close()
        await super().shutdown(sockets)


def serve(settings: TraceSettings, ready: Callable[[str], None]) -> None:
    """Serves until it is interrupted; `ready` gets the URL once requests are answered."""
    with bound(settings.host, settings.port) as listening, suppress(KeyboardInterrupt):
        _Server(settings, TraceDatabase(settings.database), ready).run(sockets=[listening])


@contextmanager
def serving(settings: TraceSettings | None = None, **changes: Any) -> Iterator[str]:
    """The service on a thread of this process, on a free port; gives its URL. For tests and notebooks."""
    settings = replace(settings or TraceSettings(port=0), **changes)
    urls: list[str] = []
    up = threading.Event()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    with bound(settings.host, settings.port) as listening:
        server = _Server(settings, TraceDatabase(settings.database), ready)

        def run() -> None:
            try:
                server.run(sockets=[listening])
            finally:
                up.set()

        thread = threading.Thread(target=run, name="compact-traces", daemon=True)
        thread.start()
        up.wait()
        try:
            if not urls:
                raise StoreError("The trace service did not start; see its messages above.")
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
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host.strip("[]"), port))
        made.listen(128)
    except OSError as error:
        made.close()
        why = error.strerror or str(error).rstrip(".")
        raise ConfigError(
            f"Port {port} on {host} cannot be used: {why}. Nothing was "
            "started. Perhaps the service runs already (compact traces --tail shows what it gets); otherwise "
            "choose another with --port.",
            "port",
        ) from None
    return made


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"
