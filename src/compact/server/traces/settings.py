"""What can be set about the trace service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from compact.errors import ConfigError

PORT = 5175
DEFAULT_DATABASE = Path(".compact/traces.db")
MEGABYTE = 1024 * 1024
DAY = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Retention:
    """What is kept; whole traces go, the one that was quiet longest first. 0 switches a limit off."""

    days: float = 30.0
    traces: int = 10_000
    megabytes: float = 1_024.0
    every_seconds: float = 60.0


@dataclass(frozen=True, kw_only=True)
class TraceSettings:
    """`token` is the secret itself; it is read from a variable, never from a command line."""

    database: Path = DEFAULT_DATABASE
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    allowed_hosts: Sequence[str] = ()
    """More names that a `Host` header may carry, such as that of a proxy in front."""
    allowed_origins: Sequence[str] = ()
    """Pages of other origins that may read and write, as `http://localhost:5173`."""
    redact: bool = True
    patterns: Sequence[str] = ()
    """Regular expressions of secrets, added to the built-in ones."""
    pii: Sequence[str] = ()
    """Kinds of personal data that go too: email, phone, card."""
    retention: Retention = Retention()
    max_body_bytes: int = 8 * MEGABYTE
    """Of a request, as sent and as unpacked."""
    max_depth: int = 64
    heartbeat_seconds: float = 15.0
    max_readers: int = 100
    read_timeout: float = 30.0
    """Seconds that a request's body, and a search, may take."""

    def __post_init__(self) -> None:
        if self.token is not None and not self.token.strip():
            raise ConfigError("The token is empty. Nothing was started; set one, or none at all.", "token")
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, and no token is set. Nothing was started: "
                "keep 127.0.0.1, or name a variable that holds a token with --token-env.",
                "host",
            )


def is_loopback(host: str) -> bool:
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
