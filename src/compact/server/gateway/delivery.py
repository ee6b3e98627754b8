"""What the client has received of the answer so far."""

from __future__ import annotations

from compact.server.gateway.upstream import Answer, Arriving, Headers, returned
from compact.server.http.guard import Send


class Delivery:
    """Sends one answer, complete or in parts, with the gateway's own headers."""

    def __init__(self, send: Send, report: Headers) -> None:
        self._send = send
        self._report = report
        self.begun = False

    async def begin(self, arriving: Arriving) -> None:
        if not self.begun:
            await self._start(arriving.response.status_code, returned(arriving.response))

    async def part(self, chunk: bytes) -> None:
        if chunk:
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def whole(self, answer: Answer) -> None:
        """The answer, or the rest of it behind what was sent already."""
        if self.begun:
            await self.part(answer.raw)
            await self.end()
            return
        await self.answer(answer.status, answer.raw, answer.headers)

    async def answer(self, status: int, content: bytes, headers: Headers) -> None:
        kept = [(name, value) for name, value in headers if name != b"content-length"]
        await self._start(status, [*kept, (b"content-length", str(len(content)).encode())])
        await self._send({"type": "http.response.body", "body": content})

    async def _start(self, status: int, headers: Headers) -> None:
        self.begun = True
        sent = [*headers, *self._report]
        await self._send({"type": "http.response.start", "status": status, "headers": sent})
