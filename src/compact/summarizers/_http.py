"""One JSON request to a model's API: bounded retries, one deadline for all of them, no secrets in errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from compact.errors import SummarizerError
from compact.models._http import (
    CONNECT_SECONDS,
    HINTS,
    BadRequest,
    Service,
    Trouble,
    certificates,
    explain,
    hide_keys,
    load_httpx,
    pause,
    retry_after,
    status_in,
)

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_MOST_BYTES = 8_000_000
_NO_SUMMARY = "It gave no summary"
"""For errors that another summarizer may not have."""


class InputTooLong(SummarizerError):
    """The transcript does not fit the summarizer's window; smaller pieces may."""


class NotTaken(BadRequest, SummarizerError):
    """The request for a summary has to be changed."""


@dataclass(frozen=True, slots=True)
class Body:
    """A reply of status 200: one JSON object, or the JSON of each event of a stream."""

    value: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Any] | None = None
    ended: bool = True
    """False if a stream stopped without its end mark."""


@dataclass(frozen=True, slots=True)
class Endpoint(Service):
    """Where to send requests for summaries, and how long to wait."""

    retries: int
    client: Callable[[], httpx2.AsyncClient] | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def post(self, payload: Mapping[str, Any], read: Callable[[Body], T]) -> T:
        """Send until `read` accepts the reply, an error is final, or the attempts are used up."""
        httpx = load_httpx(self.extra)
        async with self.client() if self.client else _plain_client(httpx) as client:
            for attempt in count():
                wait: float | None = None
                try:
                    status, headers, raw = await self._send(client, payload)
                    if status == 200:
                        return read(self.parse(headers, raw))
                    failure = self.failure(status, raw)
                    wait = retry_after(headers)
                except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
                    raise self.error("has an unusable address; correct base_url") from None
                except httpx.HTTPError as error:
                    failure = self.error(f"could not be reached ({type(error).__name__})", retryable=True)
                except SummarizerError as error:
                    failure = error
                if not failure.retryable or attempt >= self.retries:
                    raise failure
                await self.sleep(pause(attempt, wait, failure, SummarizerError))
        raise AssertionError("unreachable")

    async def _send(
        self, client: httpx2.AsyncClient, payload: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, str], bytes]:
        raw = bytearray()
        headers, body = self.sent_headers, self.body(payload)
        async with client.stream("POST", self.url, headers=headers, content=body) as response:
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > _MOST_BYTES:
                    raise self.error(f"answered with more than {_MOST_BYTES:,} bytes")
            return response.status_code, response.headers, bytes(raw)

    def parse(self, headers: Mapping[str, str], raw: bytes) -> Body:
        text = raw.decode("utf-8", "replace")
        if "text/event-stream" in headers.get("content-type", ""):
            return self._parse_events(text)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self.error("answered with something that is not a JSON object", retryable=True)
        if value.get("error"):  # some gateways report the upstream's failure with status 200
            raise self.failure(status_in(value["error"]), raw)
        return Body(value)

    def _parse_events(self, text: str) -> Body:
        events: list[Any] = []
        ended = False
        for line in text.replace("\r\n", "\n").split("\n"):
            if not line.startswith("data:"):
                continue
            data = line[5:].strip()
            if data == "[DONE]":
                ended = True
                continue
            try:
                event = json.loads(data)
            except (ValueError, RecursionError):
                ended = False
                break
            if isinstance(event, dict) and event.get("error"):
                raise self.failure(status_in(event["error"]), data.encode())
            events.append(event)
        return Body(events=events, ended=ended)

    def failure(self, status: int, raw: bytes) -> SummarizerError:
        """What a reply with this status means."""
        trouble, said, detail = explain(status, raw, self.secrets)
        if trouble is Trouble.TOO_LONG:
            text = (
                f"{self.who} {said}: the input is too long for it. {_NO_SUMMARY}; summarize smaller pieces."
            )
            return InputTooLong(text)
        if trouble is Trouble.BAD_REQUEST:
            return NotTaken(f"{self.who} {said}. {_NO_SUMMARY}.", detail)
        return self.error(said + HINTS.get(trouble, ""), retryable=trouble is Trouble.BUSY)

    def error(self, problem: str, *, retryable: bool = False) -> SummarizerError:
        hint = "; another try may help." if retryable else "."
        return SummarizerError(
            f"{self.who} {hide_keys(problem, self.secrets)}. {_NO_SUMMARY}{hint}", retryable=retryable
        )


def _plain_client(httpx: Any) -> Any:
    # No read timeout here: one deadline for all attempts is set around them.
    return httpx.AsyncClient(timeout=httpx.Timeout(None, connect=CONNECT_SECONDS), verify=certificates())
