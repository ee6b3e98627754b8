"""The trace service next to the chat API, on the same port: one page shows conversations and their traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

from compact.server.http.guard import App, Message, Receive, Send
from compact.server.http.problems import Problem
from compact.server.traces.app import api
from compact.server.traces.database import TraceDatabase
from compact.server.traces.service import TraceService
from compact.server.traces.settings import TraceSettings

_PATHS = ("/traces", "/spans", "/events", "/stats", "/ingest", "/v1/traces")


_NONE_HERE = Problem(
    404,
    "no-traces",
    "This server keeps no traces, because it has tokens or several workers. Your sessions are not affected. "
    "To see traces, start compact traces and set tracing.ariadne_url to its address.",
)


def trace_api(database: Path, started: Callable[[TraceService], None]) -> FastAPI:
    return api(TraceSettings(database=database), TraceDatabase(database), started)


async def no_traces(scope: Message, receive: Receive, send: Send) -> None:
    """In place of the service, where each tenant or worker would see the traces of all."""
    answer = Response(_NONE_HERE.body, _NONE_HERE.status, headers=_NONE_HERE.headers)
    await answer(scope, receive, send)


def beside(app: App, traces: App) -> App:
    """Requests for traces go to their service, all others to `app`."""

    async def choosing(scope: Message, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        theirs = scope["type"] == "http" and any(path == own or path.startswith(own + "/") for own in _PATHS)
        await (traces if theirs else app)(scope, receive, send)

    return choosing
