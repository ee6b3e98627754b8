"""Starts and stops the gateway on a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from compact.manager import CompactManager
from compact.server.gateway.app import create_app
from compact.server.gateway.settings import GatewaySettings
from compact.server.http.running import Service, bound, on_a_thread


def serve(settings: GatewaySettings, manager: CompactManager, ready: Callable[[str], None]) -> None:
    """Serves until it is interrupted; `ready` gets the URL once requests are answered."""
    with bound(settings.host, settings.port) as listening, suppress(KeyboardInterrupt):
        _service(settings, manager, ready).run(sockets=[listening])


@contextmanager
def serving(settings: GatewaySettings, manager: CompactManager) -> Iterator[str]:
    """The gateway on a thread of this process; gives its URL. For tests and notebooks."""
    make = lambda ready: _service(settings, manager, ready)  # noqa: E731
    with on_a_thread(make, settings.host, settings.port) as url:
        yield url


def _service(settings: GatewaySettings, manager: CompactManager, ready: Callable[[str], None]) -> Service:
    return Service(
        create_app(settings, manager), settings.host, ready=ready, stop_seconds=10, write_seconds=300.0
    )
