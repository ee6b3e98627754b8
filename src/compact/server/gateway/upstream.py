"""The one server that requests go to, and what is passed on of headers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import unquote

from compact.models._http import CONNECT_SECONDS, certificates, is_this_machine, load_httpx
from compact.server.http.problems import Problem

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
        self._base = self._httpx.URL(self.base)
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

    def url(self, raw_path: bytes, query: bytes, anthropic: bool = False) -> str:
        """The address at the upstream: its scheme, host and port, whatever a client sends as the path.

        `--upstream` is the base address that an SDK of its API takes: OpenAI's replaces `/v1`, while
        Anthropic's has `/v1` behind it. What is escaped in the path stays escaped.
        """
        path = raw_path.decode("latin-1")
        own = self._base.path.rstrip("/")
        if path.startswith("/v1/") and (own.endswith("/v1") or (own and not anthropic)):
            path = path.removeprefix("/v1")
        asked = path + (f"?{query.decode('latin-1')}" if query else "")
        try:
            made = self._httpx.URL(self.base + asked.replace("#", "%23"))
        except self._httpx.InvalidURL:
            raise _bad_path() from None
        is_ours = (made.scheme, made.netloc, made.userinfo) == (self._base.scheme, self._base.netloc, b"")
        if not path.startswith("/") or ".." in unquote(path).split("/") or not is_ours:
            raise _bad_path()
        return str(made)

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


def _bad_path() -> Problem:
    return Problem(400, "bad-path", "The request's target is not a path of this API. Nothing was passed on.")


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
