"""What every client of a model's API needs: the HTTP package, error meanings, no secrets in errors."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from compact.errors import ChatError, CompactError, ConfigError, MissingExtra, SummarizerError
from compact.models.overflow import says_too_long

E = TypeVar("E", ChatError, SummarizerError)

CONNECT_SECONDS = 10.0
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_DETAIL_CHARS = 300
_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|xai|gsk|key)-[\w*-]{6,}|Bearer\s+\S+", re.IGNORECASE)


class Trouble(StrEnum):
    """What an error response means for the caller."""

    TOO_LONG = "too-long"
    NO_QUOTA = "no-quota"
    BUSY = "busy"
    KEY = "key"
    NOT_FOUND = "not-found"
    BAD_REQUEST = "bad-request"
    OTHER = "other"


class BadRequest(CompactError):
    """The server rejects the request in this form; `detail` is its own explanation."""

    def __init__(self, message: str, detail: str) -> None:
        super().__init__(message)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Service:
    """A server that takes requests. `secrets` never appear in an error."""

    label: str
    extra: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def __post_init__(self) -> None:
        check_address(self.url, self.label)

    @property
    def who(self) -> str:
        """Its name in errors."""
        return f"{self.label} at {host_of(self.url)}"

    @property
    def sent_headers(self) -> dict[str, str]:
        return {"content-type": "application/json", **self.headers}

    def body(self, payload: Mapping[str, Any]) -> bytes:
        # Lone surrogates, which tools do return, have no UTF-8 form; a question mark is better than an error.
        return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")


def trouble_of(status: int, detail: str) -> Trouble:
    if status == 413 or (status in (400, 422, 500) and says_too_long(detail)):
        return Trouble.TOO_LONG
    if status == 402 or (status == 429 and "insufficient_quota" in detail):
        return Trouble.NO_QUOTA
    if status in _TRY_AGAIN:
        return Trouble.BUSY
    if status in (401, 403):
        return Trouble.KEY
    if status == 404:
        return Trouble.NOT_FOUND
    return Trouble.BAD_REQUEST if status in (400, 422) else Trouble.OTHER


HINTS = {
    Trouble.NO_QUOTA: "; the account has no quota left",
    Trouble.KEY: "; check the API key",
    Trouble.NOT_FOUND: "; check the model's name and base_url",
}


def explain(status: int, raw: bytes, secrets: tuple[str, ...]) -> tuple[Trouble, str, str]:
    """What a response with this status means, in our words and in the server's own."""
    detail = hide_keys(detail_of(raw), secrets)
    said = f"answered {status}" + (f" ({detail})" if detail else "")
    return trouble_of(status, detail), said, detail


def pause(attempt: int, asked: float | None, failure: E, kind: type[E]) -> float:
    """Seconds until the next try: as the server asks, else longer each time and with jitter.

    If it asks for too long, `failure` is raised with that time.
    """
    if asked is None:
        return _FIRST_WAIT * float(2**attempt) * random.uniform(0.8, 1.2)
    if asked > _LONGEST_WAIT:
        more = f"(It asks for {asked:.0f} s, more than the {_LONGEST_WAIT:.0f} s waited here.)"
        raise kind(f"{failure} {more}", retryable=True) from failure
    return asked


def load_httpx(extra: str) -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise MissingExtra("httpx2", extra) from error
    return httpx2


@cache
def certificates() -> Any:
    """Loaded once: this takes longer than a request on the local network."""
    import httpx2

    return httpx2.create_ssl_context()


def host_of(url: str) -> str:
    """Host and port, without any user or password before them."""
    return re.split(r"[/?#]", url.split("://", 1)[-1], maxsplit=1)[0].rsplit("@", 1)[-1]


def check_address(url: str, label: str, setting: str = "base_url") -> None:
    """Raise ConfigError for what no request could be sent to, before a conversation depends on it."""
    if problem := address_problem(url):
        raise ConfigError(
            f"{label} needs an http:// or https:// address {problem}. Nothing was sent; correct {setting}, "
            "or the variable that holds it.",
            setting,
        )


def address_problem(url: str) -> str | None:
    """What an address lacks. It shows little of it, because a wrong one may be a key or hold a password."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return "with a host"
    if parts.scheme not in ("http", "https") or not host:
        # Before an @ is a password, which a slash in it would make a host here.
        can_be_shown = parts.scheme and host and "@" not in url
        return "with a host" + (f", not {hide_keys(f'{parts.scheme}://{host}')!r}" if can_be_shown else "")
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        # Of http://user:12/ss@box the host is "user", and the rest of the password would be sent there.
        return "without an @ after the host; write %2F for a slash in a password, and %40 for an @"
    if re.search(r"\s", url):
        return "without blanks or line breaks, also at its end"
    try:
        _ = parts.port
    except ValueError:
        return "whose port is a number up to 65535"
    return None


def is_this_machine(url: str) -> bool:
    from ipaddress import ip_address

    try:
        name = urlsplit(url).hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def hide_keys(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` without the secrets and without anything shaped like an API key."""
    for secret in secrets:
        text = text.replace(secret, "<REDACTED>")
    return _KEY_SHAPED.sub("<REDACTED>", text)


def detail_of(raw: bytes) -> str:
    """The server's own words: code, type and message of its error object, or the start of its text."""
    text = raw[:20_000].decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _one_line(text)
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return _one_line(str(error))
    # A numeric code is the status, which is reported anyway.
    named = (str(error[key]) for key in ("code", "type", "message", "param") if _words(error.get(key)))
    return _one_line(": ".join(dict.fromkeys(named)))


def _one_line(text: str) -> str:
    """Short, and without terminal control characters."""
    shown = "".join(character if character.isprintable() else " " for character in text[:2_000])
    line = " ".join(shown.split())
    return line if len(line) <= _DETAIL_CHARS else line[: _DETAIL_CHARS - 1] + "…"


def _words(value: Any) -> bool:
    return bool(value) and not isinstance(value, int)


def status_in(error: Any) -> int:
    """The status that corresponds to an error object in a response with status 200."""
    kinds = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "invalid_request_error": 400}
    if not isinstance(error, dict):
        return 500
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return kinds.get(str(error.get("type")), 500)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asks to wait: given in milliseconds, seconds or as a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.strip().replace(".", "", 1).isdigit():
            return float(value)
        from email.utils import parsedate_to_datetime  # Rarely needed, and slow to load.

        when = parsedate_to_datetime(value)
        sent = headers.get("date")
        # Compare with the server's clock, because ours may differ.
        return max(0.0, (when - parsedate_to_datetime(sent)).total_seconds()) if sent else None
    except (TypeError, ValueError):
        return None
