"""One JSON request to a model's API: bounded retries, one deadline over all of them, no secrets in errors."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from compact.errors import MissingExtra, SummarizerError

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_MOST_BYTES = 8_000_000
_DETAIL_CHARS = 300
_KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|xai|gsk|key)-[\w*-]{6,}|Bearer\s+\S+", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|prompt is too long|maximum context length|"
    r"input is too long|too many (?:input )?tokens|request_too_large|"
    r"context (?:window|length|size|limit)[^.]{0,60}exceed|"
    r"exceeds?[^.]{0,60}context (?:window|length|size|limit)",
    re.IGNORECASE,
)
_UNCHANGED = "No summary was made and the session is unchanged"


class InputTooLong(SummarizerError):
    """The transcript does not fit the summarizer's window; smaller pieces may."""


class BadRequest(SummarizerError):
    """The endpoint does not take the request as it is; `detail` is its own explanation."""

    def __init__(self, message: str, detail: str) -> None:
        super().__init__(message)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Body:
    """A reply of status 200: one JSON object, or the JSON of each event of a stream."""

    value: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Any] | None = None
    ended: bool = True
    """False when a stream stopped without its end mark."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go and how patiently. `secrets` never appear in an error."""

    service: str
    extra: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    retries: int
    client: Callable[[], httpx2.AsyncClient] | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def post(self, payload: Mapping[str, Any], read: Callable[[Body], T]) -> T:
        """Send until `read` makes something of the reply, an error is final, or the tries are used up."""
        httpx = _httpx(self.extra)
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
                await self._wait(wait, attempt, failure)
        raise AssertionError("unreachable")

    async def _send(
        self, client: httpx2.AsyncClient, payload: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, str], bytes]:
        raw = bytearray()
        # Lone surrogates, which tools do return, have no UTF-8; a question mark is better than no summary.
        body = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"content-type": "application/json", **self.headers}
        async with client.stream("POST", self.url, headers=headers, content=body) as response:
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > _MOST_BYTES:
                    raise self.error(f"answered with more than {_MOST_BYTES:,} bytes")
            return response.status_code, response.headers, bytes(raw)

    async def _wait(self, asked: float | None, attempt: int, failure: SummarizerError) -> None:
        """As long as the server asks for, within reason; else longer each time, never all at once."""
        if asked is not None and asked > _LONGEST_WAIT:
            raise SummarizerError(
                f"{failure} (It asks for {asked:.0f} s, more than the {_LONGEST_WAIT:.0f} s waited here.)",
                retryable=True,
            ) from failure
        await self.sleep(_FIRST_WAIT * 2**attempt * random.uniform(0.8, 1.2) if asked is None else asked)

    def parse(self, headers: Mapping[str, str], raw: bytes) -> Body:
        text = raw.decode("utf-8", "replace")
        if "text/event-stream" in headers.get("content-type", ""):
            return self._parse_events(text)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self.error("answered with something that is no JSON object", retryable=True)
        if value.get("error"):  # some gateways report the upstream's failure with status 200
            raise self.failure(_status_in(value["error"]), raw)
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
                raise self.failure(_status_in(event["error"]), data.encode())
            events.append(event)
        return Body(events=events, ended=ended)

    def failure(self, status: int, raw: bytes) -> SummarizerError:
        """What a reply with this status means."""
        detail = self._clean(_detail(raw))
        said = f"answered {status}" + (f" ({detail})" if detail else "")
        if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(detail)):
            text = (
                f"{self._who} {said}: the input is too long for it. {_UNCHANGED}; summarize smaller pieces."
            )
            return InputTooLong(text)
        if status == 429 and "insufficient_quota" in detail:
            return self.error(f"{said}; the account has no quota left")
        if status in _TRY_AGAIN:
            return self.error(said, retryable=True)
        if status in (401, 403):
            return self.error(f"{said}; check the API key")
        if status == 404:
            return self.error(f"{said}; check the model's name and base_url")
        if status in (400, 422):
            return BadRequest(f"{self._who} {said}. {_UNCHANGED}.", detail)
        return self.error(said)

    def error(self, problem: str, *, retryable: bool = False) -> SummarizerError:
        hint = "; try again later." if retryable else "."
        return SummarizerError(f"{self._who} {self._clean(problem)}. {_UNCHANGED}{hint}", retryable=retryable)

    @property
    def _who(self) -> str:
        host = self.url.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]
        return f"{self.service} at {host}"

    def _clean(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "<REDACTED>")
        return hide_keys(text)


def hide_keys(text: str) -> str:
    """`text` without anything shaped like an API key."""
    return _KEY_SHAPED.sub("<REDACTED>", text)


def _httpx(extra: str) -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise MissingExtra("httpx2", extra) from error
    return httpx2


def _plain_client(httpx: Any) -> Any:
    # No read timeout here: one deadline over all tries is set around them.
    return httpx.AsyncClient(timeout=httpx.Timeout(None, connect=10.0), verify=_certificates())


@cache
def _certificates() -> Any:
    """Loaded once: it takes longer than a request on the local network."""
    import httpx2

    return httpx2.create_ssl_context()


def _detail(raw: bytes) -> str:
    """The server's own words: code, type and message of its error object, or the start of its text."""
    text = raw[:20_000].decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return " ".join(text.split())[:_DETAIL_CHARS]
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return str(error)[:_DETAIL_CHARS]
    named = (str(error[key]) for key in ("code", "type", "message", "param") if error.get(key))
    return ": ".join(dict.fromkeys(named))[:_DETAIL_CHARS]


def _status_in(error: Any) -> int:
    """The status that an error object in a reply of status 200 stands for."""
    kinds = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "invalid_request_error": 400}
    if not isinstance(error, dict):
        return 500
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return kinds.get(str(error.get("type")), 500)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asks for: milliseconds, seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.strip().replace(".", "", 1).isdigit():
            return float(value)
        when = parsedate_to_datetime(value)
        sent = headers.get("date")
        # Their clock against their clock: ours may differ.
        return max(0.0, (when - parsedate_to_datetime(sent)).total_seconds()) if sent else None
    except (TypeError, ValueError):
        return None
