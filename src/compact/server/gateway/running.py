"""Start and stop the gateway on a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from socket import socket

from compact.config import CompactConfig
from compact.manager import CompactManager
from compact.server.gateway.app import create_app
from compact.server.gateway.retention import sweeping
from compact.server.gateway.settings import GatewaySettings
from compact.server.http.running import Service, bound, on_a_thread
from compact.server.http.workers import check_workers, serve_with
from compact.stores import open_store

_STOP_SECONDS = 10.0


def serve_all(
    settings: GatewaySettings, config: CompactConfig, store: str, workers: int, ready: Callable[[str], None]
) -> None:
    """Serve with that many processes until interrupted; `ready` gets the URL."""
    check_workers(workers, store)
    serve = partial(_serve_on, settings, config, store)
    if workers > 1:
        serve_with(serve, workers, settings.host, settings.port, _STOP_SECONDS, ready)
        return
    with bound(settings.host, settings.port) as listening, suppress(KeyboardInterrupt):
        serve(listening, ready)


def _serve_on(
    settings: GatewaySettings,
    config: CompactConfig,
    store: str,
    listening: socket,
    ready: Callable[[str], None],
) -> None:
    # Those of other kinds have rules of their own for what is old, such as a bucket's lifecycle.
    archive = Path(config.archive.path) if config.archive.adapter == "fs" else None
    days = settings.retention_days
    with closing(open_store(store, config.tenant)) as opened, sweeping(opened, days, archive):
        manager = CompactManager(config, store=opened)
        _service(settings, manager, ready).run(sockets=[listening])


@contextmanager
def serving(settings: GatewaySettings, manager: CompactManager) -> Iterator[str]:
    """The gateway on a thread of this process; returns its URL. For tests and notebooks."""
    make = lambda ready: _service(settings, manager, ready)  # noqa: E731
    with on_a_thread(make, settings.host, settings.port) as url:
        yield url


def _service(settings: GatewaySettings, manager: CompactManager, ready: Callable[[str], None]) -> Service:
    return Service(
        create_app(settings, manager),
        settings.host,
        ready=ready,
        stop_seconds=_STOP_SECONDS,
        write_seconds=300.0,
    )
