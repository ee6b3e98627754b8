"""One request on its way: where it goes, with what, and whose conversation it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from compact.server.gateway.known_prompts import most_tokens
from compact.server.gateway.upstream import Headers
from compact.server.gateway.wire import Api, Request, read, session_of


@dataclass(frozen=True, eq=False)
class Exchange:
    """What a client sent. Its body is read on demand, since that takes milliseconds."""

    method: str
    url: str
    headers: Headers
    raw: bytes
    api: Api | None
    preset: str = ""
    session_name: str = ""
    owners: tuple[str, ...] = ()
    counts_only: bool = False
    bypasses: bool = False
    smallest: int = 0
    """A prompt below this many tokens passes unread."""

    @property
    def asking(self) -> tuple[str, str, Headers]:
        """Method, address and headers of the request to the upstream."""
        return self.method, self.url, self.headers

    @property
    def asking_unpacked(self) -> tuple[str, str, Headers]:
        """The same for a reply that is read here: in no encoding that only the client understands."""
        kept = [(name, value) for name, value in self.headers if name.lower() != b"accept-encoding"]
        return self.method, self.url, [*kept, (b"accept-encoding", b"identity")]

    @cached_property
    def request(self) -> Request | None:
        """None if it passes unchanged, whatever its size."""
        if self.api is None or self.bypasses or most_tokens(self.raw) < self.smallest:
            return None
        return read(self.api, self.raw)

    @cached_property
    def session(self) -> str:
        return "" if self.request is None else session_of(self.request, self.session_name, *self.owners)

    @cached_property
    def caller(self) -> bytes:
        """What all requests of its conversation have in common, except the body. It reveals no key."""
        api = "" if self.api is None else self.api.format
        said = "\0".join((api, self.session_name, self.preset, *self.owners))
        return blake2b(said.encode("utf-8", "replace"), digest_size=16).digest()
