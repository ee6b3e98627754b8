"""The one server that requests go to, and what is passed on of headers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
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


class Upstream:
    """Sends requests and streams what comes back, byte by byte."""

    def __init__(self, base: str, first_byte_seconds: float) -> None:
        self._httpx = load_httpx("gateway")
        self.base = base.rstrip("/")
        self._path = urlsplit(self.base).path.rstrip("/")
        timeout = self._httpx.Timeout(first_byte_seconds, connect=CONNECT_SECONDS)
        limits = self._httpx.Limits(max_connections=None, max_keepalive_connections=100)
        local = is_this_machine(self.base)
        self._client = self._httpx.AsyncClient(
            timeout=timeout,
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

    def url(self, path: str, query: bytes) -> str:
        """`--upstream https://host` and `https://host/v1` both mean the same server."""
        shared = self._path.rsplit("/", 1)[-1]
        if shared and path.startswith(f"/{shared}/"):
            path = path[len(shared) + 1 :]
        return self.base + path + (f"?{query.decode('latin-1')}" if query else "")

    @asynccontextmanager
    async def answered(self, method: str, url: str, headers: Headers, body: bytes) -> AsyncIterator[Any]:
        request = self._client.build_request(method, url, headers=headers, content=body or None)
        response = await self._client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

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
    return [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _HOP_BY_HOP]
