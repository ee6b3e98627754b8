"""The trace service next to the chat API, on the same port: one page shows conversations and their traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI

from compact.server.http.guard import App, Message, Receive, Send
from compact.server.traces.app import api
from compact.server.traces.database import TraceDatabase
from compact.server.traces.service import TraceService
from compact.server.traces.settings import TraceSettings

_PATHS = ("/traces", "/spans", "/events", "/stats", "/ingest", "/v1/traces")


def trace_api(database: Path, started: Callable[[TraceService], None]) -> FastAPI:
    return api(TraceSettings(database=database), TraceDatabase(database), started)


def beside(app: App, traces: FastAPI) -> App:
    """Requests for traces go to their service, all others to `app`."""

    async def choosing(scope: Message, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        theirs = scope["type"] == "http" and any(path == own or path.startswith(own + "/") for own in _PATHS)
        await (traces if theirs else app)(scope, receive, send)

    return choosing
