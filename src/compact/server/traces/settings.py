"""Settings of the trace service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compact.server.http.settings import JSON, MEGABYTE, TENANT, GuardSettings

PORT = 5175
DEFAULT_DATABASE = Path(".compact/traces.db")
PROTOBUF = "application/x-protobuf"
DAY = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Limits on what is kept. Whole traces are deleted, least recently active first. 0 turns a limit off."""

    days: float = 30.0
    traces: int = 10_000
    megabytes: float = 1_024.0
    every_seconds: float = 60.0


@dataclass(frozen=True, kw_only=True)
class TraceSettings:
    """`token` is the secret itself, read from a variable, never from the command line."""

    database: Path = DEFAULT_DATABASE
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    allowed_hosts: Sequence[str] = ()
    """More names to accept in a `Host` header, such as that of a proxy."""
    allowed_origins: Sequence[str] = ()
    """Other origins whose pages may read and write, such as `http://localhost:5173`."""
    redact: bool = True
    patterns: Sequence[str] = ()
    """Regular expressions for secrets, added to the built-in ones."""
    pii: Sequence[str] = ()
    """Kinds of personal data to redact too: email, phone, card."""
    retention: Retention = Retention()
    max_body_bytes: int = 8 * MEGABYTE
    """The limit for a request, as sent and after decompression."""
    max_depth: int = 64
    heartbeat_seconds: float = 15.0
    max_readers: int = 100
    read_timeout: float = 30.0
    """Seconds allowed for reading a request's body, and for a search."""

    header_timeout: float = 10.0
    """Seconds allowed for the headers of a request."""

    def __post_init__(self) -> None:
        _ = self.guard  # its limits are checked here, before anything is started

    @property
    def guard(self) -> GuardSettings:
        return GuardSettings(
            host=self.host,
            tokens={} if self.token is None else {self.token: TENANT},
            allowed_hosts=self.allowed_hosts,
            allowed_origins=self.allowed_origins,
            open_paths=("/healthz",),
            content_types=(JSON, PROTOBUF, ""),
            max_body_bytes=self.max_body_bytes,
            body_seconds=self.read_timeout,
        )
