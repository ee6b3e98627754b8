"""Starts and stops the trace service on a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from compact.server.http.running import Service, bound, on_a_thread
from compact.server.traces.app import create_app
from compact.server.traces.database import TraceDatabase
from compact.server.traces.service import TraceService
from compact.server.traces.settings import TraceSettings


def serve(settings: TraceSettings, ready: Callable[[str], None]) -> None:
    """Serves until it is interrupted; `ready` gets the URL once requests are answered."""
    with bound(settings.host, settings.port) as listening, suppress(KeyboardInterrupt):
        _service(settings, ready).run(sockets=[listening])


@contextmanager
def serving(settings: TraceSettings | None = None, **changes: Any) -> Iterator[str]:
    """The service on a thread of this process, on a free port; yields its URL. For tests and notebooks."""
    settings = replace(settings or TraceSettings(port=0), **changes)
    with on_a_thread(lambda ready: _service(settings, ready), settings.host, settings.port) as url:
        yield url


def _service(settings: TraceSettings, ready: Callable[[str], None]) -> Service:
    services: list[TraceService] = []

    def stopping() -> None:
        for service in services:
            service.bell.close()

    app = create_app(settings, TraceDatabase(settings.database), services.append)
    return Service(app, settings.host, ready=ready, stopping=stopping, header_seconds=settings.header_timeout)
