"""Who may talk to a service, and how: host name, origin, token, content type, size, speed, number."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from compact.server.http.bodies import BodyRoom, drain, too_large
from compact.server.http.limits import RateLimit, Seats
from compact.server.http.problems import MEDIA_TYPE, Problem
from compact.server.http.settings import TENANT, GuardSettings, is_loopback

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

Refusal = Callable[[Message, Problem], tuple[str, bytes]]
"""Content type and body of the response to a rejected request."""

_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
_CORS = {"access-control-allow-methods": _METHODS, "access-control-max-age": "600"}
_AUTHORIZATION = "authorization"
_GUESSES_PER_SECOND = 10.0
_GUESSES_AT_ONCE = 400
"""Wrong tokens from one address. A misconfigured client that retries stays far below."""


def as_problem(scope: Message, problem: Problem) -> tuple[str, bytes]:
    return MEDIA_TYPE, problem.body


class Guard:
    """Checks every request before anything of it is used.

    - `Host` must name this machine's loopback or one of the allowed hosts: a page that rebinds its own
      name to 127.0.0.1 carries that name. With a token any host will do, since no such page has it.
    - `Origin` must be the service's own or an allowed one: no foreign page may post or read.
    - With tokens, `Authorization: Bearer` must carry one; it says whose data the request is about.
    - Bodies are read here, whole, within their limits; the application gets them complete.
    """

    def __init__(self, app: App, settings: GuardSettings, refusal: Refusal = as_problem) -> None:
        self._app = app
        self._refusal = refusal
        self._settings = settings
        self._tokens = [(token.strip().encode(), tenant) for token, tenant in settings.tokens.items()]
        self._hosts = {name.lower() for name in (settings.host, *settings.allowed_hosts)}
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        self._rate = RateLimit(settings.requests_per_second, settings.burst)
        self._guesses = RateLimit(_GUESSES_PER_SECOND, _GUESSES_AT_ONCE)
        self._open = Seats(settings.max_open_requests, "requests are open")
        self._room = BodyRoom(settings.body_memory_bytes)
        self._always: Headers = [
            (b"content-security-policy", settings.content_security_policy.encode("latin-1")),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        origin = headers.get("origin")
        allowed = origin is not None and origin.rstrip("/").lower() in self._origins
        extra = [*self._always, *(_allowing(origin or "") if allowed else [])]
        if allowed and scope["method"] == "OPTIONS":
            await _answer(send, 204, b"", extra)
            return
        chunks = _body(receive)
        try:
            seat = self._open.take()
        except Problem as problem:
            await self._refuse(scope, send, problem, extra)
            return
        try:
            self._check(scope, headers, allowed)
            await self._served(scope, headers, chunks, receive, _with_headers(send, extra))
        except Problem as problem:
            if problem.status != 408:
                await drain(chunks)
            await self._refuse(scope, send, problem, extra)
        except _Gone:
            pass
        finally:
            seat.leave()

    async def _served(
        self,
        scope: Message,
        headers: dict[str, str],
        chunks: AsyncIterator[bytes],
        receive: Receive,
        send: Send,
    ) -> None:
        settings = self._settings
        promised = headers.get("content-length", "")
        if promised.isascii() and promised.isdigit() and int(promised[:19]) > settings.max_body_bytes:
            raise too_large(settings.max_body_bytes)
        with self._room.open() as incoming:
            encoding = headers.get("content-encoding", "")
            body = await incoming.read(chunks, encoding, settings.max_body_bytes, settings.body_seconds)
            if body:
                self._check_type(scope["path"], headers.get("content-type", ""))
            await self._app(scope, _replayed(body, receive), send)

    def _check(self, scope: Message, headers: dict[str, str], allowed_origin: bool) -> None:
        host = headers.get("host", "")
        if not self._tokens and not self._is_ours(host):
            raise Problem(
                421,
                "unknown-host",
                "This service answers to localhost and the hosts that it may answer to (--allow-host).",
            )
        origin = headers.get("origin")
        if origin is not None and not allowed_origin and not _same(origin, host):
            raise Problem(
                403,
                "foreign-origin",
                "Pages of other origins may not use this service"
                + (" unless allowed (--allow-origin)." if self._settings.can_allow_origins else "."),
            )
        if origin is None and headers.get("sec-fetch-site") == "cross-site":
            raise Problem(403, "foreign-origin", "Pages of other sites may not use this service.")
        address = f"address {(scope.get('client') or ('',))[0]}"
        tenant = self._checked_tenant(scope["path"], headers, address)
        scope.setdefault("state", {})["tenant"] = tenant
        self._rate.take(f"tenant {tenant}" if self._tokens and tenant else address)

    def _checked_tenant(self, path: str, headers: dict[str, str], address: str) -> str | None:
        sent = headers.get(self._settings.token_header, "")
        is_open = _is_among(path, self._settings.open_paths)
        if self._tokens and sent and not is_open:
            # Before any comparison: otherwise the right token would still show itself among the refused.
            self._guesses.check(address)
        tenant = self._tenant(sent)
        if tenant is None and sent:
            self._guesses.take(address)
        if tenant is None and not is_open:
            raise Problem(401, "no-token", f"The token is missing or wrong: send {self._asked_for}.")
        return tenant

    def _challenge(self, problem: Problem) -> dict[str, str]:
        if problem.status != 401:
            return {}
        name = self._settings.token_header
        return {"www-authenticate": "Bearer" if name == _AUTHORIZATION else f'Token header="{name}"'}

    @property
    def _asked_for(self) -> str:
        name = self._settings.token_header
        return "Authorization: Bearer TOKEN" if name == _AUTHORIZATION else f"{name}: TOKEN"

    def _tenant(self, sent_header: str) -> str | None:
        if not self._tokens:
            return TENANT
        if self._settings.token_header != _AUTHORIZATION:
            sent_header = f"bearer {sent_header}"
        scheme, _, given = sent_header.partition(" ")
        sent = given.strip().encode("latin-1", "replace")
        found = None
        # All are compared, so that the timing does not show which one was close.
        for token, tenant in self._tokens:
            if hmac.compare_digest(sent, token) and scheme.lower() == "bearer":
                found = tenant
        return found

    def _check_type(self, path: str, sent: str) -> None:
        kind = sent.partition(";")[0].strip().lower()
        if kind not in self._settings.content_types and _is_among(path, self._settings.typed_paths):
            wanted = " or ".join(kind for kind in self._settings.content_types if kind)
            raise Problem(415, "unknown-content-type", f"Send {wanted} as Content-Type. Nothing was stored.")

    def _is_ours(self, host: str) -> bool:
        name = _host_name(host)
        return bool(name) and (is_loopback(name) or name in self._hosts or host.lower() in self._hosts)

    async def _refuse(self, scope: Message, send: Send, problem: Problem, extra: Headers) -> None:
        kind, content = self._refusal(scope, problem)
        more = [
            (name.encode(), value.encode())
            for name, value in {**problem.headers, **self._challenge(problem), "content-type": kind}.items()
        ]
        await _answer(send, problem.status, content, [*extra, *more])


def _is_among(path: str, patterns: Sequence[str]) -> bool:
    """A pattern that ends in `*` matches everything with that prefix."""
    return any(
        path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern for pattern in patterns
    )


class _Gone(Exception):
    """The client left before its request was complete."""


def _headers(scope: Message) -> dict[str, str]:
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        # Two of one kind: whoever stands in front may have checked the other.
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


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


def _allowing(origin: str) -> Headers:
    headers = {
        **_CORS,
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "authorization, content-type, content-encoding, last-event-id",
        "vary": "Origin",
    }
    return [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]


def _with_headers(send: Send, extra: Headers) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", ())}
            added = [(name, value) for name, value in extra if name not in there]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, content: bytes, extra: Headers) -> None:
    # A large body was not read completely, so the connection cannot continue.
    headers = [(b"connection", b"close"), *extra, (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
