"""Settings of the gateway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from compact.errors import ConfigError
from compact.server.gateway.wire import ROUTES
from compact.server.http.settings import JSON, MEGABYTE, TENANT, GuardSettings

PORT = 5177
RATE = 100.0
DAYS = 30.0
MEMORY_BYTES = 256 * MEGABYTE
TOKEN_HEADER = "x-compact-token"
"""Not Authorization: that carries the provider's key and passes through."""


@dataclass(frozen=True, kw_only=True)
class GatewaySettings:
    """`upstream` is the only address that requests go to; redirects are not followed."""

    upstream: str
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    allowed_hosts: Sequence[str] = ()
    recall_tool: bool = False
    """Offer the model a tool that looks up what was compacted; replies are then read before they are
    forwarded."""
    wait_seconds: float = 20.0
    """How long a request that does not fit waits for a compaction that another request has begun."""
    fitting_seconds: float = 1.0
    """How long a request that still fits waits for its compaction before it is forwarded unchanged. The
    embedded summarizer needs less; a model's summary is ready for the next request."""
    max_body_bytes: int = 64 * MEGABYTE
    first_byte_seconds: float = 600.0
    requests_per_second: float = RATE
    """For one client address, or for all clients with the token; 0: no limit."""
    burst: int = 400
    retention_days: float = DAYS
    """Conversations unused for longer are deleted, also from an archive on disk; 0: never."""
    memory_bytes: int = MEMORY_BYTES
    """Conversations that a process holds in memory, about. Beyond that, those that were quiet longest are
    read from the database again."""

    def __post_init__(self) -> None:
        if not _is_base_address(self.upstream):
            raise ConfigError(
                # Not shown: it may hold a password.
                "--upstream must be an http:// or https:// address without a user name, an @, a "
                "query or a fragment. Nothing was started.",
                "upstream",
            )
        _ = self.guard  # its limits are checked here, before anything is started

    @property
    def guard(self) -> GuardSettings:
        return GuardSettings(
            host=self.host,
            tokens={} if self.token is None else {self.token: TENANT},
            token_header=TOKEN_HEADER,
            allowed_hosts=self.allowed_hosts,
            can_allow_origins=False,
            open_paths=("/healthz",),
            content_types=(JSON,),
            # Anything else that a provider takes, such as files, is forwarded unchanged.
            typed_paths=tuple(ROUTES),
            max_body_bytes=self.max_body_bytes,
            body_memory_bytes=4 * self.max_body_bytes,
            requests_per_second=self.requests_per_second,
            burst=self.burst,
        )


def _is_base_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    # An @ after the host follows a user name, too: one whose password has a slash in it.
    is_plain = not {"@", "?", "#"}.intersection(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain
