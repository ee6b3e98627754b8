"""Who may talk to the service: the right host name, the right origin, the token."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from compact.server.traces.body import drain
from compact.server.traces.event import to_json
from compact.server.traces.settings import TraceSettings, is_loopback

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_CORS = {"access-control-allow-methods": "GET, POST, OPTIONS", "access-control-max-age": "600"}
_OPEN = ("/healthz",)
"""Needs no token: it says nothing but that the service is up."""


class Guard:
    """Checks every request before anything of it is used.

    - `Host` must name this machine's loopback or one of the allowed hosts: a page that rebinds its own
      name to 127.0.0.1 carries that name. With a token any host will do, since no such page has it.
    - `Origin` must be the service's own or an allowed one: no foreign page may post or read.
    - With a token, `Authorization: Bearer` must carry it.
    """

    def __init__(self, app: App, settings: TraceSettings) -> None:
        self._app = app
        self._token = None if settings.token is None else settings.token.strip().encode()
        self._hosts = {name.lower() for name in (settings.host, *settings.allowed_hosts)}
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        for key, value in scope["headers"]:
            name = key.decode("latin-1").lower()
            # Two of one kind: whoever stands in front may have checked the other.
            headers[name] = (
                headers[name] + ", " + value.decode("latin-1") if name in headers else value.decode("latin-1")
            )
        origin = headers.get("origin")
        allowed = origin is not None and origin.rstrip("/").lower() in self._origins
        extra = _allowing(origin or "") if allowed else []
        if allowed and scope["method"] == "OPTIONS":
            await _answer(send, 204, None, extra)
            return
        problem = self._problem(scope, headers, allowed)
        if problem is not None:
            status, text = problem
            await drain(_body(receive))
            await _answer(send, status, {"success": False, "error": text}, extra)
            return
        await self._app(scope, receive, _with_headers(send, extra))

    def _problem(
        self, scope: Message, headers: dict[str, str], allowed_origin: bool
    ) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self._token is None and not self._is_ours(host):
            return 421, "This service answers to localhost and the hosts it was told to allow (--allow-host)."
        origin = headers.get("origin")
        if origin is not None and not allowed_origin and not _same(origin, host):
            return 403, "Pages of other origins may not use this service unless allowed (--allow-origin)."
        if origin is None and headers.get("sec-fetch-site") == "cross-site":
            return 403, "Pages of other sites may not use this service."
        if self._token is not None and scope["path"] not in _OPEN:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            sent = given.strip().encode("latin-1", "replace")
            if scheme.lower() != "bearer" or not hmac.compare_digest(sent, self._token):
                return 401, "The token is missing or wrong: send Authorization: Bearer TOKEN."
        return None

    def _is_ours(self, host: str) -> bool:
        name = _host_name(host)
        return bool(name) and (is_loopback(name) or name in self._hosts or host.lower() in self._hosts)


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _host_name(host: str) -> str:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
        plain = parts.path == "" and parts.query == "" and parts.username is None
        return (parts.hostname or "").rstrip(".") if plain else ""
    except ValueError:
        return ""


def _same(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == host.lower()


def _allowing(origin: str) -> list[tuple[bytes, bytes]]:
    headers = {
        **_CORS,
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "authorization, content-type, content-encoding, last-event-id",
        "vary": "Origin",
    }
    return [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]


def _with_headers(send: Send, extra: list[tuple[bytes, bytes]]) -> Send:
    if not extra:
        return send

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, body: Any, extra: list[tuple[bytes, bytes]]) -> None:
    content = b"" if body is None else to_json(body).encode()
    # Of a large body not all was read, so the connection cannot go on.
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), *extra]
    headers.append((b"content-length", str(len(content)).encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
