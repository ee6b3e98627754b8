"""Settings of the chat server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compact.config import CompactConfig
from compact.models._http import check_address
from compact.server.http.settings import JSON, MEGABYTE, GuardSettings

PORT = 5180


@dataclass(frozen=True, kw_only=True)
class StudioSettings:
    """`tokens` maps each secret to the tenant that it opens; without any there is one tenant."""

    store: str
    """`sqlite:///…` or `postgresql://…`."""
    host: str = "127.0.0.1"
    port: int = PORT
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    config: CompactConfig = field(default_factory=CompactConfig)
    model: str | None = None
    """None: the first available one, or the demo assistant if there is none."""
    base_url: str | None = None
    api_key_env: str | None = None
    upstream_hosts: Sequence[str] = ()
    """Hosts where models may be called; none: those that the settings and the environment name."""
    private_upstreams: bool = False
    """Whether a host may resolve to a private address although nobody named it by one."""
    demo: bool = False
    max_steps: int = 100
    """Model calls in one reply."""
    max_body_bytes: int = 16 * MEGABYTE
    body_seconds: float = 30.0
    header_seconds: float = 10.0
    requests_per_second: float = 100.0
    burst: int = 400
    max_streams: int = 1_000
    max_conversations: int = 200
    """Kept open in memory; others are read from the store on demand."""
    max_history_bytes: int = 16 * MEGABYTE
    """For all conversations in memory, roughly. The most recently used stay, and those in use."""
    heartbeat_seconds: float = 15.0
    poll_seconds: float = 1.0
    """How often a follower polls if no notification comes."""
    stop_seconds: float = 10.0
    """How long a stop waits for open turns before they are parked."""
    traces: Path | None = None
    """The database of the trace service served next to the chat; None: there is none."""
    static: Path | None = None
    """The built studio; None: the one in this package."""

    @property
    def guard(self) -> GuardSettings:
        return GuardSettings(
            host=self.host,
            tokens=self.tokens,
            allowed_hosts=self.allowed_hosts,
            allowed_origins=self.allowed_origins,
            open_paths=("/api/health", "/api/ready"),
            content_types=(JSON,),
            max_body_bytes=self.max_body_bytes,
            body_seconds=self.body_seconds,
            requests_per_second=self.requests_per_second,
            burst=self.burst,
        )

    def __post_init__(self) -> None:
        # Refused before anything is started: another host without a token, an address that is none.
        _ = self.guard
        if self.base_url is not None:
            check_address(self.base_url, "--base-url")
