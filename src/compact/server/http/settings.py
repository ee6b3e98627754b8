"""Who may use a service, and how much of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from compact.errors import ConfigError

MEGABYTE = 1024 * 1024
JSON = "application/json"
TENANT = "default"
"""The owner of the data if no token says otherwise."""


@dataclass(frozen=True, kw_only=True)
class GuardSettings:
    """Limits of one service. `tokens` maps each secret to the tenant that it opens."""

    host: str = "127.0.0.1"
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_header: str = "authorization"
    """The header with the token: after `Bearer` in this one, alone in any other."""
    allowed_hosts: Sequence[str] = ()
    """More names that a `Host` header may have, such as that of a proxy in front."""
    allowed_origins: Sequence[str] = ()
    """Pages of other origins that may read and write, as `http://localhost:5173`."""
    can_allow_origins: bool = True
    """Whether whoever starts the service can name some, so that a rejection says how."""
    open_paths: Sequence[str] = ()
    """Need no token. A path that ends in `*` opens everything that begins like it."""
    content_types: Sequence[str] = (JSON,)
    """Of bodies; the empty string allows a body without a type."""
    typed_paths: Sequence[str] = ("*",)
    """Whose bodies must be of these types; others may be of any."""
    content_security_policy: str = "default-src 'none'; frame-ancestors 'none'"
    max_body_bytes: int = 8 * MEGABYTE
    """For a request, as sent and decompressed."""
    body_memory_bytes: int = 64 * MEGABYTE
    """For all bodies together; the slowest sender is dropped."""
    body_seconds: float = 30.0
    requests_per_second: float = 0.0
    """For one tenant, or without tokens for one address; 0: no limit."""
    burst: int = 200
    max_open_requests: int = 2_000

    def __post_init__(self) -> None:
        if any(not token.strip() for token in self.tokens):
            raise ConfigError("The token is empty. Nothing was started; set one, or none at all.", "token")
        if not self.tokens and not is_loopback(self.host):
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
