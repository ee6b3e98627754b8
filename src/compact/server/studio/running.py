"""Start and stop the chat server on a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from socket import socket

from compact.server.http.running import Service, bound, on_a_thread, url_of
from compact.server.http.workers import check_workers, serve_with
from compact.server.studio.app import create_app
from compact.server.studio.catalog import Catalog
from compact.server.studio.settings import StudioSettings
from compact.server.studio.studio import Studio


def serve_all(settings: StudioSettings, workers: int, ready: Callable[[str], None]) -> None:
    """Serves with that many processes until it is interrupted; `ready` gets the URL."""
    check_workers(workers, settings.store)
    if workers == 1:
        serve(settings, ready)
        return
    host, port, seconds = settings.host, settings.port, settings.stop_seconds
    serve_with(partial(_serve_on, settings), workers, host, port, seconds, ready)


def _serve_on(settings: StudioSettings, listening: socket, ready: Callable[[str], None]) -> None:
    service(settings, ready).run(sockets=[listening])


def serve(settings: StudioSettings, ready: Callable[[str], None], catalog: Catalog | None = None) -> None:
    """Serves until it is interrupted; `ready` gets the URL once requests are answered."""
    with bound(settings.host, settings.port) as listening, suppress(KeyboardInterrupt):
        service(_tracing(settings, url_of(settings.host, listening)), ready, catalog).run(sockets=[listening])


def _tracing(settings: StudioSettings, url: str) -> StudioSettings:
    """With the trace service next to it, the chat's own events go there if they go nowhere yet."""
    tracing = settings.config.tracing
    if settings.traces is None or tracing.ariadne_url is not None:
        return settings
    changed = tracing.model_copy(update={"ariadne_url": url})
    return replace(settings, config=settings.config.model_copy(update={"tracing": changed}))


@contextmanager
def serving(settings: StudioSettings, catalog: Catalog | None = None) -> Iterator[str]:
    """The server on a thread of this process; gives its URL. For tests and notebooks."""
    with on_a_thread(lambda ready: service(settings, ready, catalog), settings.host, settings.port) as url:
        yield url


def service(
    settings: StudioSettings, ready: Callable[[str], None], catalog: Catalog | None = None
) -> Service:
    studios: list[Studio] = []

    def stopping() -> None:
        for studio in studios:
            studio.stop_streams()

    return Service(
        create_app(settings, catalog, studios.append),
        settings.host,
        ready=ready,
        stopping=stopping,
        # Chat streams end when their turns do; those may take as long as a stop allows.
        stop_seconds=settings.stop_seconds + 5,
        header_seconds=settings.header_seconds,
    )
