"""The trace service: receives events over HTTP, stores them in SQLite, serves lists, trees and a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compact.errors import MissingExtra
from compact.server.traces.settings import Retention, TraceSettings

__all__ = ["Retention", "TraceSettings", "serving"]


@contextmanager
def serving(settings: TraceSettings | None = None, **changes: Any) -> Iterator[str]:
    """The service on a thread of this process, on a free port; yields its URL. For tests and notebooks."""
    require()
    from compact.server.traces.running import serving as on_a_thread

    with on_a_thread(settings, **changes) as url:
        yield url


def require() -> None:
    """Raises MissingExtra if a package that the service needs is not installed."""
    for package in ("fastapi", "uvicorn"):
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(package, "traces") from None
