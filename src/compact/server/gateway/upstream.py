"""The one server that requests go to, and what is passed on of headers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

from compact.models._http import CONNECT_SECONDS, certificates, is_this_machine, load_httpx

Headers = list[tuple[bytes, bytes]]

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS = b"x-compact-"
_DATE = frozenset({b"date"})
"""Every answer gets one from the server here."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was read whole; `raw` and `headers` go on as they came."""

    status: int
    headers: Headers
    raw: bytes
    content: bytes
    """Unpacked, where the provider packed it."""
    content_type: str


class Upstream:
    """Sends requests and streams what comes back, byte by byte."""

    def __init__(self, base: str, first_byte_seconds: float) -> None:
        self._httpx = load_httpx("gateway")
        self.base = base.rstrip("/")
        self._path = urlsplit(self.base).path.rstrip("/")
        self._timeout = self._httpx.Timeout(first_byte_seconds, connect=CONNECT_SECONDS).as_dict()
        limits = self._httpx.Limits(max_connections=None, max_keepalive_connections=100)
        local = is_this_machine(self.base)
        self._client = self._httpx.AsyncClient(
            limits=limits,
            follow_redirects=False,
            # One caller's cookies are nobody else's: what an answer sets goes to its client alone.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=not local,
            verify=False if local and self.base.startswith("http:") else certificates(),
        )

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        return (self._httpx.HTTPError, self._httpx.InvalidURL)

    def url(self, raw_path: bytes, query: bytes) -> str:
        """`--upstream https://host` and `https://host/v1` both mean the same server.

        The path as it was sent: what is escaped in it stays escaped.
        """
        path = raw_path.decode("latin-1")
        shared = self._path.rsplit("/", 1)[-1]
        if shared and path.startswith(f"/{shared}/"):
            path = path[len(shared) + 1 :]
        return self.base + path + (f"?{query.decode('latin-1')}" if query else "")

    @asynccontextmanager
    async def answered(self, method: str, url: str, headers: Headers, body: bytes) -> AsyncIterator[Any]:
        # Not by the client, which would add headers of its own, such as the packings that it understands.
        request = self._httpx.Request(
            method, url, headers=headers, content=body or None, extensions={"timeout": self._timeout}
        )
        response = await self._client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def whole(self, response: Any) -> Answer:
        """What is left of an answer, for us to read and for the client as it came."""
        raw = b"".join([chunk async for chunk in response.aiter_raw()])
        status, kind = response.status_code, response.headers.get("content-type", "")
        read = self._httpx.Response(status, headers=response.headers, content=raw)
        try:
            content = read.content
        except self._httpx.DecodingError:
            content = raw
        return Answer(status, returned(response), raw, content, kind)

    async def ask(self, method: str, url: str, headers: Headers, body: bytes) -> Answer:
        async with self.answered(method, url, headers, body) as response:
            return await self.whole(response)

    async def close(self) -> None:
        await self._client.aclose()


def forwarded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """What goes on to the provider: everything but what belongs to this connection or to us.

    The body was unpacked on its way in, so its encoding and length are set again.
    """
    dropped = _HOP_BY_HOP | {b"host", b"content-length", b"content-encoding"}
    return [
        (name, value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(_OURS)
    ]


def returned(response: Any) -> Headers:
    dropped = _HOP_BY_HOP | _DATE
    return [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in dropped]
