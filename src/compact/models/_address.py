"""Where chat requests go: sending, retrying before the first piece, and interpreting failures."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from compact.errors import ChatError, ContextOverflow
from compact.model.chat import ReplyPiece
from compact.models._connections import Connection, Connections
from compact.models._http import (
    CONNECT_SECONDS,
    HINTS,
    BadRequest,
    Service,
    Trouble,
    certificates,
    explain,
    hide_keys,
    host_of,
    is_this_machine,
    load_httpx,
    pause,
    retry_after,
    status_in,
)
from compact.models._line import Line
from compact.models._sse import data_of

Reader = Callable[[Iterator[Any]], Iterator[ReplyPiece]]
DONE = "[DONE]"
"""The event that ends OpenAI's streams."""

# A keep-alive without content is no reason to wait longer.
_PING = {"type": "ping"}
_END_SECONDS = 0.5
_MOST_ERROR_BYTES = 100_000
_UNCHANGED = "The conversation is unchanged"
_NUMBER = r"(\d[\d,]*)"
_TOKENS = re.compile(
    rf"request \({_NUMBER} tokens\)|resulted in {_NUMBER} tokens|requested (?:about )?{_NUMBER} tokens|"
    rf"too long: {_NUMBER} tokens|passed {_NUMBER} input tokens|{_NUMBER} \+ {_NUMBER} >"
)
_MOST = re.compile(rf"> {_NUMBER}")
_WINDOW = re.compile(
    rf"context (?:length|size|window|limit)(?: is| of)?(?: only)?[ (:]+{_NUMBER}", re.IGNORECASE
)


class NotTaken(BadRequest, ChatError):
    """The server rejects this form of the chat request."""


@dataclass(frozen=True, slots=True)
class Address(Service):
    """Where a chat's requests go, and how long to wait."""

    retries: int = 2
    first_seconds: float = 300.0
    between_seconds: float = 120.0
    on_wait: Callable[[float, ChatError], None] | None = None
    resolve: Callable[[str], Sequence[str] | None] | None = None
    """The addresses of a host that may be used; None: as the system resolves it. Connections go to exactly
    these addresses, so a name cannot resolve differently between the check and the connection."""

    connections: Connections = field(default_factory=Connections, repr=False, compare=False)

    def reply(
        self, payload: Mapping[str, Any], line: Line, read: Reader
    ) -> Generator[ReplyPiece, None, None]:
        """The pieces that `read` makes from the server's events.

        A failure before the first piece is retried if that may help. A later one is not, because the reader
        has already seen the beginning.
        """
        httpx = load_httpx(self.extra)
        body = self.body(payload)
        attempt = 0
        while True:
            line.asked_to_wait = None
            connection = self.connections.take(self._is_proxied, lambda: self._client(httpx))
            try:
                yield from self._lent(connection, line, body, read)
                return
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
                raise self.error("has an unusable address; correct base_url") from None
            except httpx.HTTPError as error:
                failure = self._broken(error, line)
                if connection.is_used and not (line.answered or line.expired or line.closed.is_set()):
                    continue  # The server closed it while it was idle.
            except ChatError as error:
                failure = error
            if not line.closed.is_set():
                if line.started or line.expired or not failure.retryable or attempt == self.retries:
                    raise failure
                self._wait(attempt, failure, line)
            if line.closed.is_set():
                return
            attempt += 1

    def _lent(
        self, connection: Connection, line: Line, body: bytes, read: Reader
    ) -> Generator[ReplyPiece, None, None]:
        """One request over this connection, which is kept if the response was read to its end."""
        whole = False
        line.use(connection)
        try:
            with line.watched():
                events = self._events(connection.client, body, line)
                for piece in read(events):
                    line.started = True
                    yield piece
                line.ending = True
                with suppress(ChatError, load_httpx(self.extra).HTTPError):
                    deque(events, maxlen=0)
                    whole = True
        finally:
            line.use(None)
            if whole and not line.expired and not line.closed.is_set():
                self.connections.give_back(connection)
            else:
                connection.close()

    def _events(self, client: Any, body: bytes, line: Line) -> Iterator[Any]:
        """The JSON of each event, or the single object of a server that does not stream."""
        line.expect(self.first_seconds)
        with ExitStack() as stack:
            response = stack.enter_context(self._answered(client, body, line))
            line.answered = True
            if response.status_code != 200:
                line.asked_to_wait = retry_after(response.headers)
                raise self.failure(response.status_code, _start_of(response))
            for event in self._read(response):
                if event == _PING:
                    continue
                line.relax()
                yield event
                line.expect(_END_SECONDS if line.ending else self._patience(line))

    @contextmanager
    def _answered(self, client: Any, body: bytes, line: Line) -> Iterator[Any]:
        """The response of the first address that accepts a connection."""
        httpx = load_httpx(self.extra)
        headers, host = self.sent_headers, self._host
        pinned = None if self._is_proxied else self.resolve and self.resolve(host)
        if pinned is None:
            asked = client.stream(
                "POST", self.url, headers=headers, content=body, extensions={"trace": line.trace}
            )
            with asked as response:
                yield response
            return
        extensions = {"trace": line.trace, "sni_hostname": host}
        named = {**headers, "host": host_of(self.url)}
        with ExitStack() as stack:
            for left, url in zip(range(len(pinned) - 1, -1, -1), self._at(pinned), strict=True):
                try:
                    asked = client.stream("POST", url, headers=named, content=body, extensions=extensions)
                    response = stack.enter_context(asked)
                    break
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if not left:
                        raise
            else:
                raise self.error("could not be reached (its name has no address)", retryable=True)
            yield response

    def _at(self, addresses: Sequence[str]) -> Iterator[str]:
        """The same URL at each of these addresses."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        for address in addresses:
            shown = f"[{address}]" if ":" in address else address
            yield urlunsplit(parts._replace(netloc=f"{shown}{port}"))

    @property
    def _host(self) -> str:
        """The host; empty for an invalid address, which the request reports."""
        with suppress(ValueError):
            return urlsplit(self.url).hostname or ""
        return ""

    @property
    def _is_proxied(self) -> bool:
        """Whether a proxy makes the connection; then the proxy resolves names."""
        proxies = getproxies()
        proxy = proxies.get(self.url.partition(":")[0].lower()) or proxies.get("all")
        return bool(proxy) and not proxy_bypass(self._host)

    def _client(self, httpx: Any) -> Any:
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        limits = httpx.Limits(max_connections=1)
        if is_this_machine(self.url) and self.url.startswith("http:"):
            # No proxy in between, whatever the environment says, and no certificates to load.
            return httpx.Client(timeout=timeout, limits=limits, verify=False, trust_env=False)
        return httpx.Client(timeout=timeout, limits=limits, verify=certificates(), trust_env=self._is_proxied)

    def _read(self, response: Any) -> Iterator[Any]:
        if "text/event-stream" not in response.headers.get("content-type", ""):
            yield self._checked(b"".join(response.iter_bytes()))
            return
        try:
            for data in data_of(response.iter_bytes()):
                # After the last event, only the end of the transfer is read.
                yield DONE if data.strip() == DONE else self._checked(data.encode())
        except ValueError as error:
            raise self.error(f"sent {error}", retryable=True) from None

    def _checked(self, raw: bytes) -> Any:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            raise self.error("sent something that is not JSON", retryable=True) from None
        if isinstance(value, dict) and value.get("error"):  # Also with status 200, and inside a stream.
            raise self.failure(status_in(value["error"]), raw)
        return value

    def _patience(self, line: Line) -> float:
        return self.between_seconds if line.started else self.first_seconds

    def _broken(self, error: Exception, line: Line) -> ChatError:
        if line.expired:
            waited = self._patience(line)
            return self.error(f"said nothing {'more ' * line.started}for {waited:g} s", retryable=True)
        if line.started:
            return self.cut()
        what = f"could not be reached ({type(error).__name__}); check its address, and that it runs"
        return self.error(what, retryable=True)

    def _wait(self, attempt: int, failure: ChatError, line: Line) -> None:
        seconds = pause(attempt, line.asked_to_wait, failure, ChatError)
        if self.on_wait:
            self.on_wait(seconds, failure)
        line.closed.wait(seconds)

    def failure(self, status: int, raw: bytes) -> ChatError:
        """What a reply with this status means."""
        trouble, said, detail = explain(status, raw, self.secrets)
        if trouble is Trouble.TOO_LONG:
            tokens, window = _counts(raw, detail)
            problem = f"{said}: the prompt is too long for it"
            if tokens and window:
                problem = f"takes {window:,} tokens at most, and the prompt has {tokens:,}"
            advice = "compact it, or use a model with a larger window"
            message = f"{self.who} {problem}. {_UNCHANGED}; {advice}."
            return ContextOverflow(message, tokens=tokens, window=window)
        if trouble is Trouble.BAD_REQUEST:
            return NotTaken(f"{self.who} {said}. {_UNCHANGED}.", detail)
        return self.error(said + HINTS.get(trouble, ""), retryable=trouble is Trouble.BUSY)

    def error(self, problem: str, *, retryable: bool = False) -> ChatError:
        hint = "; try again later." if retryable else "."
        text = f"{self.who} {hide_keys(problem, self.secrets)}. {_UNCHANGED}{hint}"
        return ChatError(text, retryable=retryable)

    def cut(self) -> ChatError:
        text = f"{self.who} broke off its reply in the middle. The reply is incomplete; ask again."
        return ChatError(text, retryable=True)


def _start_of(response: Any) -> bytes:
    raw = b""
    for chunk in response.iter_bytes():
        raw += chunk
        if len(raw) > _MOST_ERROR_BYTES:
            break
    return raw


def _counts(raw: bytes, detail: str) -> tuple[int | None, int | None]:
    """How long the prompt was and how long it may be, if the server says so in fields or in its message."""
    with suppress(ValueError, RecursionError):
        match json.loads(raw):
            case {"error": {"n_prompt_tokens": int(tokens), "n_ctx": int(window)}}:
                return tokens, window
    used, limit = _TOKENS.search(detail), _MOST.search(detail) or _WINDOW.search(detail)
    return _sum(used) if used else None, _sum(limit) if limit else None


def _sum(found: re.Match[str]) -> int:
    return sum(int(number.replace(",", "")) for number in found.groups() if number)
