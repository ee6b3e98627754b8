"""The HTTP surface of the chat server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from compact.errors import CompactError, StoreError
from compact.server.defects import log_defect
from compact.server.http.guard import App, Guard, Message, Receive, Send
from compact.server.http.pages import Pages
from compact.server.http.problems import Problem
from compact.server.studio.catalog import Catalog, catalog_for
from compact.server.studio.examples import with_examples
from compact.server.studio.refusals import as_problem
from compact.server.studio.routes import chat, compaction, messages, service, sessions
from compact.server.studio.routes.common import path_with_names
from compact.server.studio.settings import StudioSettings
from compact.server.studio.studio import Studio
from compact.server.studio.trace_mount import beside, no_traces, trace_api
from compact.server.traces.service import TraceService

# The store is asked in threads; the default pool is sized for computing, not for waiting.
_THREADS = 32
_LISTED = "/api/openapi.json"
_DESCRIPTION = """Conversations that go on for weeks, with the context kept right.

Answers are JSON, errors are `application/problem+json`. With tokens, every path but health and readiness
needs `Authorization: Bearer TOKEN`. Replies come as the AI SDK's UI message stream."""


def create_app(
    settings: StudioSettings,
    catalog: Catalog | None = None,
    started: Callable[[Studio], None] = lambda _: None,
) -> App:
    """The server as an ASGI application, with its guard."""
    if settings.traces is None:
        app = api(settings, catalog, started)
        return Pages(Guard(beside(_counted(app), no_traces), settings.guard), _is_page, settings.static)
    services: list[TraceService] = []
    traces = trace_api(settings.traces, services.append)

    def both_started(studio: Studio) -> None:
        studio.when_stopping.extend(service.bell.close for service in services)
        started(studio)

    app = api(settings, catalog, both_started, traces.router.lifespan_context(traces))
    return Pages(Guard(beside(_counted(app), traces), settings.guard), _is_page, settings.static)


def _is_page(path: str) -> bool:
    return not path.startswith("/api/") and "." not in path.rpartition("/")[2]


def api(
    settings: StudioSettings,
    catalog: Catalog | None = None,
    started: Callable[[Studio], None] = lambda _: None,
    companion: AbstractAsyncContextManager[Any] | None = None,
) -> FastAPI:
    """The application without its guard; also what docs/openapi.json is made from.

    `companion` lives as long as it does.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pool = ThreadPoolExecutor(_THREADS, "compact-studio")
        asyncio.get_running_loop().set_default_executor(pool)
        studio = Studio(settings, catalog if catalog is not None else catalog_for(settings))
        app.state.studio = studio
        await studio.start()
        async with companion or nullcontext():
            started(studio)
            try:
                yield
            finally:
                await studio.close()

    # No page with scripts from elsewhere: the description itself is enough.
    app = FastAPI(
        title="Compact",
        description=_DESCRIPTION,
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=_LISTED,
        separate_input_output_schemas=False,
    )
    described = app.openapi
    app.openapi = lambda: with_examples(described())  # type: ignore[method-assign]
    for router in (service.router, sessions.router, chat.router, compaction.router, messages.router):
        app.include_router(router)
    # Streams are left alone: each of their events has to leave at once.
    app.add_middleware(GZipMiddleware, minimum_size=1_000)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(CompactError, _compact_error)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _defect)
    return app


def _counted(app: FastAPI) -> App:
    """Counts answers by their status. In a name, an encoded slash does not divide the path."""

    async def counting(scope: Message, receive: Receive, send: Send) -> None:
        if b"%2f" in (raw := scope.get("raw_path") or b"").lower():
            scope = {**scope, "path": path_with_names(raw)}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                studio: Studio = app.state.studio
                studio.metrics.request(scope["method"], message["status"])
            await send(message)

        await app(scope, receive, sending if scope["type"] == "http" else send)

    return counting


def _answer(problem: Problem) -> Response:
    return Response(problem.body, problem.status, headers=problem.headers)


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return _answer(error)


async def _compact_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, CompactError)
    studio: Studio = request.app.state.studio
    if isinstance(error, StoreError) and studio.settings.tokens:
        # The answer does not say why.
        log_defect(f"{request.method} {request.url.path} failed", error, studio.settings.config)
    return _answer(as_problem(error))


async def _not_valid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found: list[dict[str, Any]] = [
        {"field": ".".join(str(part) for part in one["loc"]), "problem": one["msg"]}
        for one in error.errors()[:20]
    ]
    first = f"{found[0]['field']}: {found[0]['problem']}" if found else "It is not valid"
    return _answer(Problem(422, "not-valid", f"{first}. Nothing was changed.", errors=found))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, detail = {
        400: ("not-valid", "The body cannot be read as JSON. Nothing was changed."),
        404: ("not-found", f"There is nothing at this address; {_LISTED} lists what there is."),
        405: (
            "method-not-allowed",
            f"{request.method} is not possible here. Nothing was changed; {_LISTED} lists what is.",
        ),
    }.get(error.status_code, ("refused", str(error.detail)))
    return _answer(Problem(error.status_code, code, detail))


async def _defect(request: Request, error: Exception) -> Response:
    # What went wrong inside stays inside.
    studio: Studio = request.app.state.studio
    log_defect(f"{request.method} {request.url.path} failed", error, studio.settings.config)
    detail = "Something went wrong on the server. The session is unchanged; its log has the reason."
    answer = _answer(Problem(500, "internal", detail))
    # The server closes the connection behind a defect: no client should send its next request on it.
    answer.headers["connection"] = "close"
    return answer
