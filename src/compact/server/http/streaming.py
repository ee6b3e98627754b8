"""A streamed response that holds a seat from before its first byte until the connection is done with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from compact.server.http.limits import Seat

SSE_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


class SeatedStream(StreamingResponse):
    """Server-sent events. The seat is released even if the client left before the first byte."""

    def __init__(
        self, content: AsyncIterator[bytes], seat: Seat, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(content, headers={**SSE_HEADERS, **(headers or {})}, media_type="text/event-stream")
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._seat.leave()
