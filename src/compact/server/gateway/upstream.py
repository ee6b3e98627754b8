"""The one server that requests go to, and which headers are forwarded."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import unquote

from compact.models._http import CONNECT_SECONDS, certificates, is_this_machine, load_httpx
from compact.server.http.problems import Problem

Headers = list[tuple[bytes, bytes]]
Forward = Callable[[bytes], Awaitable[None]]

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
_READABLE = frozenset({b"gzip", b"deflate", b"identity"})
"""Response encodings that can be decoded here."""
_DATE = frozenset({b"date"})
"""The server here adds one to every response."""
_ANNOUNCES = re.compile(rb'(?:event: ?|data: ?\{"type": ?")response\.(?:created|in_progress)\b').match
"""Events of the Responses API that come before anything is known, including an overflow."""
_EVENT_ENDS = re.compile(rb"\n\r?\n").finditer


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that was read completely; `raw` and `headers` are forwarded unchanged."""

    status: int
    headers: Headers
    raw: bytes
    content: bytes
    """Decoded, if the provider compressed it."""
    content_type: str


class Arriving:
    """A response whose body is on its way. Its beginning can be inspected before it is forwarded."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self._rest: AsyncIterator[bytes] = response.aiter_raw()
        self._held = b""

    @property
    def is_stream(self) -> bool:
        return "text/event-stream" in self.response.headers.get("content-type", "")

    @property
    def can_be_spliced(self) -> bool:
        """Whether another response may follow a part of this one."""
        return self.is_stream and not {"content-encoding", "content-length"} & self.response.headers.keys()

    async def begun(self, announces: Callable[[bytes], bool], forward: Forward | None) -> bytes:
        """The beginning: a chunk, and more while that only announces a reply, which is forwarded at once."""
        seen = b""
        while not seen or announces(seen):
            chunk = await anext(self._rest, b"")
            if not chunk:
                break
            seen += chunk
            self._held += chunk
            if forward is not None and announces(seen):
                await forward(self.taken_announcements())
        return seen

    def taken_announcements(self) -> bytes:
        """The announcements that arrived as a whole; what follows them stays."""
        end = 0
        for event in _EVENT_ENDS(self._held):
            if not _only_announces(self._held[end : event.end()]):
                break
            end = event.end()
        taken, self._held = self._held[:end], self._held[end:]
        return taken

    async def chunks(self) -> AsyncIterator[bytes]:
        if self._held:
            held, self._held = self._held, b""
            yield held
        async for chunk in self._rest:
            yield chunk


class Upstream:
    """Sends requests and streams responses, byte for byte."""

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
            # One caller's cookies are nobody else's: what a response sets goes only to its client.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=not local,
            verify=False if local and self.base.startswith("http:") else certificates(),
        )

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        return (self._httpx.HTTPError, self._httpx.InvalidURL)

    def url(self, raw_path: bytes, query: bytes, anthropic: bool = False) -> str:
        """The address at the upstream: its scheme, host and port, whatever a client sends as the path.

        `--upstream` is the base URL that an SDK of its API takes: OpenAI's replaces `/v1`, while Anthropic's
        has `/v1` after it. What is escaped in the path stays escaped.
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
    async def answered(self, method: str, url: str, headers: Headers, body: bytes) -> AsyncIterator[Arriving]:
        # Not by the client, which would add its own headers, such as the encodings it understands.
        request = self._httpx.Request(
            method, url, headers=headers, content=body or None, extensions={"timeout": self._timeout}
        )
        response = await self._client.send(request, stream=True)
        try:
            yield Arriving(response)
        finally:
            await response.aclose()

    async def whole(self, arriving: Arriving) -> Answer:
        """A response read to its end, for us to read and for the client unchanged."""
        response = arriving.response
        raw = b"".join([chunk async for chunk in arriving.chunks()])
        kind = response.headers.get("content-type", "")
        return Answer(response.status_code, returned(response), raw, self._unpacked(response, raw), kind)

    async def opening(self, arriving: Arriving, forward: Forward) -> Answer:
        """The response, read far enough to show whether it was rejected.

        Meanwhile announcements go to `forward` if another response can follow them. The rest is still
        among its chunks.
        """
        response = arriving.response
        raw = await arriving.begun(
            lambda some: _only_announces(self._unpacked(response, some)),
            forward if arriving.can_be_spliced else None,
        )
        kind = response.headers.get("content-type", "")
        return Answer(response.status_code, returned(response), raw, self._unpacked(response, raw), kind)

    def _unpacked(self, response: Any, raw: bytes) -> bytes:
        try:
            return bytes(self._httpx.Response(200, headers=response.headers, content=raw).content)
        except self._httpx.DecodingError:
            return raw

    async def ask(self, method: str, url: str, headers: Headers, body: bytes) -> Answer:
        async with self.answered(method, url, headers, body) as arriving:
            return await self.whole(arriving)

    async def close(self) -> None:
        await self._client.aclose()


def _only_announces(stream: bytes) -> bool:
    """Whether a stream of events has not shown yet whether there will be a reply: an error may follow."""
    named = [line for line in stream.splitlines() if line.startswith((b"event:", b"data:"))]
    return bool(named) and all(map(_ANNOUNCES, named))


def _bad_path() -> Problem:
    return Problem(400, "bad-path", "The request's target is not a path of this API. Nothing was passed on.")


def forwarded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """What is forwarded to the provider: everything but what belongs to this connection or to us.

    The body was decoded on its way in, so its encoding and length are set again.
    """
    dropped = _HOP_BY_HOP | {b"host", b"content-length", b"content-encoding"}
    return [
        (name, value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(_OURS)
    ]


def readable(headers: Headers) -> Headers:
    """The same for a response that may be read here: in no encoding that only the client understands."""
    return [
        (name, _readable_packings(value) if name.lower() == b"accept-encoding" else value)
        for name, value in headers
    ]


def _readable_packings(accepted: bytes) -> bytes:
    kept = [one for one in accepted.split(b",") if one.partition(b";")[0].strip().lower() in _READABLE]
    return b",".join(kept).strip() or b"identity"


def returned(response: Any) -> Headers:
    dropped = _HOP_BY_HOP | _DATE
    return [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in dropped]
