"""The HTTP API of the trace service."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.convertors import StringConvertor, register_url_convertor

from compact.errors import StoreError
from compact.server.http.guard import App, Guard
from compact.server.http.pages import Pages
from compact.server.http.problems import Problem
from compact.server.http.streaming import SeatedStream
from compact.server.traces.database import TraceDatabase
from compact.server.traces.event import to_json
from compact.server.traces.fields import BadBody
from compact.server.traces.following import stream
from compact.server.traces.moments import micros
from compact.server.traces.otlp import answer
from compact.server.traces.reading import MAX_SPANS, Follow, TooSlow, TraceQuery
from compact.server.traces.service import RememberingRedactor, Taken, TraceService
from compact.server.traces.settings import PROTOBUF, TraceSettings

_INDEX = """Compact traces

GET  /traces          what came in, newest first: limit cursor name group status since until q min_ms
                      compacted
GET  /traces/{id}     one trace as a tree
GET  /spans/{id}      one span
GET  /events          the stream: traceId kinds since after
POST /ingest          send events here
GET  /openapi.json    all of it, for programs

In a terminal: compact traces --tail
"""
_DIGITS = re.compile(r"[0-9]{1,18}")


class _AnyText(StringConvertor):
    """An id in a path, slashes and line breaks included."""

    regex = r"[\s\S]+"


register_url_convertor("any", _AnyText())


def create_app(
    settings: TraceSettings, database: TraceDatabase, started: Callable[[TraceService], None] = lambda _: None
) -> App:
    """The service as an ASGI application; it closes the database when it ends."""
    return Pages(Guard(api(settings, database, started), settings.guard), is_page)


def api(
    settings: TraceSettings, database: TraceDatabase, started: Callable[[TraceService], None] = lambda _: None
) -> FastAPI:
    """The service without its guard, for a server that has its own."""

    # Compiled here, where an invalid pattern can still be reported.
    redactor = RememberingRedactor(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = TraceService(settings, database, redactor)
        app.state.service = service
        started(service)
        try:
            yield
        finally:
            service.close()

    # No page with scripts from elsewhere: the description itself is enough.
    app = FastAPI(title="Compact traces", lifespan=lifespan, docs_url=None, redoc_url=None)
    _add_ingest(app)
    _add_status(app)
    _add_reading(app)
    _add_events(app, settings)
    app.get("/api/settings", include_in_schema=False)(_page_settings)
    app.add_exception_handler(BadBody, _bad_body)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(StoreError, _not_stored)
    app.add_exception_handler(TooSlow, _too_slow)
    return app


def is_page(path: str) -> bool:
    """Whether the viewer serves this path; it shares paths with the API, but browsers request HTML."""
    return path in ("/", "/traces") or path.startswith("/traces/")


def _page_settings() -> dict[str, bool]:
    """The page asks every server what it offers; this one has no conversations."""
    return {"traces_only": True}


def _service(request: Request) -> TraceService:
    found: TraceService = request.app.state.service
    return found


def _add_ingest(app: FastAPI) -> None:
    async def taken(request: Request) -> tuple[Taken, bool]:
        protobuf = _is_protobuf(request)
        return await _service(request).take(await request.body(), protobuf), protobuf

    async def ingest(request: Request) -> JSONResponse:
        """One event, `{"batch":[…]}`, `{"events":[…]}`, the Agents SDK's `{"data":[…]}`, or OTLP/JSON."""
        result, _ = await taken(request)
        answer: dict[str, Any] = {"success": not result.rejected or result.count > 0, "count": result.count}
        if result.duplicates:
            answer["duplicates"] = result.duplicates
        if result.rejected:
            answer |= {"rejected": result.rejected, "errors": result.errors}
        return JSONResponse(answer, 200 if answer["success"] else 400)

    async def otlp(request: Request) -> Response:
        """OTLP over HTTP, JSON or protobuf, with an OTLP response."""
        result, protobuf = await taken(request)
        if result.errors:
            first = result.errors[0]
            return _otlp_answer(protobuf, result.rejected, f"span {first['index']}: {first['error']}")
        return _otlp_answer(protobuf)

    async def not_kept(request: Request) -> Response:
        """Exporters send these to the same place; an error would fill their logs."""
        return _otlp_answer(_is_protobuf(request), problem="Only spans are kept here.")

    app.post("/ingest")(ingest)
    app.post("/v1/traces/ingest")(ingest)
    app.post("/v1/traces")(otlp)
    app.post("/v1/metrics", include_in_schema=False)(not_kept)
    app.post("/v1/logs", include_in_schema=False)(not_kept)


def _add_status(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return Response(_INDEX, media_type="text/plain")

    @app.get("/healthz")
    async def healthz() -> dict[str, Any]:
        return {"status": "ok", "service": "compact-traces"}

    @app.get("/stats")
    async def stats(request: Request) -> dict[str, Any]:
        service = _service(request)
        counts = await service.read(service.reader.counts)
        return {
            **counts,
            "readers": service.readers.taken,
            "sequence": await service.read(service.reader.last_seq),
        }


def _add_reading(app: FastAPI) -> None:
    @app.get("/traces")
    async def traces(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        cursor: str | None = None,
        name: str | None = None,
        group: str | None = None,
        status: Literal["ok", "error", "running"] | None = None,
        since: str | None = None,
        until: str | None = None,
        q: str | None = None,
        min_ms: Annotated[float, Query(ge=0, le=1e12)] = 0,
        compacted: bool = False,
    ) -> Response:
        """Newest first. `q` searches everything in a trace; `next_cursor` is for the next page."""
        service = _service(request)
        query = TraceQuery(
            limit=limit,
            cursor=cursor,
            name=name,
            group=group,
            status=status,
            since=_moment(since, "since"),
            until=_moment(until, "until"),
            text=q,
            min_ms=min_ms,
            compacted=compacted,
        )
        try:
            return await _json(service, lambda: service.reader.traces(query))
        except ValueError as error:
            raise HTTPException(400, str(error)) from None

    @app.get("/traces/{trace_id:any}")
    async def trace(
        request: Request,
        trace_id: str,
        data: bool = True,
        limit: Annotated[int, Query(ge=1, le=MAX_SPANS)] = MAX_SPANS,
    ) -> Response:
        """A trace with its spans in tree order; `data=false` omits their data."""
        service = _service(request)
        return await _json(service, lambda: service.reader.trace(trace_id, data, limit))

    @app.get("/spans/{span_id:any}")
    async def span(request: Request, span_id: str, traceId: str | None = None) -> Response:
        """One span with its data. Ids are unique within a trace; without `traceId`, returns the newest."""
        service = _service(request)
        return await _json(service, lambda: next(iter(service.reader.spans(span_id, traceId)), None))


def _add_events(app: FastAPI, settings: TraceSettings) -> None:
    @app.get("/events")
    async def events(
        request: Request,
        traceId: str | None = None,
        kinds: str | None = None,
        since: str | None = None,
        after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    ) -> Response:
        """Events as they arrive, as server-sent events.

        By default, from now on. `since` (a time) and `after` (a sequence) replay stored events first; so does
        the `Last-Event-ID` header of a reader that reconnects.
        """
        service = _service(request)
        seat = service.readers.take()
        try:
            return SeatedStream(await followed(request, service, traceId, kinds, since, after), seat)
        except BaseException:
            seat.leave()
            raise

    async def followed(
        request: Request,
        service: TraceService,
        traceId: str | None,
        kinds: str | None,
        since: str | None,
        after: int | None,
    ) -> AsyncIterator[bytes]:
        follow = Follow(
            trace_id=traceId,
            kinds=frozenset(kind.strip() for kind in (kinds or "").split(",") if kind.strip()),
            since=_moment(since, "since"),
        )
        returning = request.headers.get("last-event-id", "")
        asked = int(returning) if _DIGITS.fullmatch(returning) else after
        last = await service.read(service.reader.last_seq)
        start = last if asked is None and follow.since is None else asked or 0
        if start > last:
            start = 0  # That number is from another database: to this reader everything is new.

        async def page(after: int, follow: Follow) -> tuple[list[tuple[int, str]], int]:
            return await service.read(service.reader.page, after, follow)

        return stream(page, service.bell, follow, start, settings.heartbeat_seconds)


def _is_protobuf(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == PROTOBUF


def _otlp_answer(protobuf: bool, rejected: int = 0, problem: str = "") -> Response:
    content, kind = answer(protobuf, rejected, problem)
    return Response(content, media_type=kind)


async def _json(service: TraceService, ask: Callable[[], dict[str, Any] | None]) -> Response:
    """The result, or 404; its JSON is also built on the reading thread, because a tree may be large."""

    def content() -> bytes | None:
        found = ask()
        return None if found is None else to_json(found).encode()

    body = await service.read(content)
    if body is None:
        raise HTTPException(404, "That is not here.")
    return Response(body, media_type="application/json")


def _moment(text: str | None, name: str) -> int | None:
    try:
        # A plus sign in a query means a space unless it was escaped, and in offsets it rarely is.
        return micros(text.replace(" ", "+") if text else None)
    except (ValueError, OverflowError):
        raise HTTPException(400, f"{name} is not a time.") from None


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    # Clients that send Ariadne's format expect these.
    body = {**error.content, "success": False, "count": 0, "error": str(error)}
    return JSONResponse(body, error.status, headers=error.headers)


async def _bad_body(_: Request, error: Exception) -> Response:
    assert isinstance(error, BadBody)
    return JSONResponse({"success": False, "count": 0, "error": str(error)}, error.status)


async def _not_stored(_: Request, error: Exception) -> Response:
    return JSONResponse(
        {"success": False, "count": 0, "error": str(error)}, 503, headers={"retry-after": "5"}
    )


async def _too_slow(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": "That takes too long; narrow it by name, group or time."}, 503)
