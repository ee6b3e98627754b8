"""The three APIs that are compacted: where each keeps its messages, and what its errors look like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from compact.server.http.bodies import json_bytes


@dataclass(frozen=True, slots=True)
class Api:
    """One endpoint: the fields of its body, and the format of its messages."""

    format: str
    messages: str
    system: str | None
    error: str
    """Whose envelope its errors have: "openai" or "anthropic"."""
    stateful: tuple[str, ...] = ()
    """Fields that refer to messages the provider holds; what we cannot see we cannot compact."""


CHAT = Api("openai-chat", "messages", None, "openai")
RESPONSES = Api(
    "openai-responses", "input", "instructions", "openai", ("previous_response_id", "conversation", "prompt")
)
MESSAGES = Api("anthropic", "messages", "system", "anthropic")

ROUTES: Mapping[str, Api] = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
    "/v1/messages/count_tokens": MESSAGES,
}
is_own_session = re.compile("gateway-[0-9a-f]{32}").fullmatch
"""Whether an id is one that `session_of` makes: people may name sessions of the same database."""
_ANTHROPIC_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A body that could be read."""

    api: Api
    body: Mapping[str, Any]
    messages: Sequence[Any]

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def system(self) -> Any:
        return self.body.get(self.api.system) if self.api.system else None

    @property
    def tools(self) -> Any:
        return self.body.get("tools")

    def replaced(self, messages: Sequence[Any], tools: Any) -> bytes:
        """The body with other messages; every other field unchanged and in its place."""
        changed = {**self.body, self.api.messages: list(messages)}
        if tools is not self.tools and tools is not None:
            changed["tools"] = tools
        return json_bytes(changed)


def read(api: Api, raw: bytes) -> Request | None:
    """The request, if it may be compacted; None means forward it unchanged.

    Whatever the provider would reject is left for the provider to reject.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return None
    messages = body.get(api.messages)
    if not isinstance(messages, list) or not messages or any(body.get(name) for name in api.stateful):
        return None
    return Request(api, body, messages)


def session_of(request: Request, named: str, *owners: str) -> str:
    """Which conversation it probably is: the named one, else the one that began like this.

    A wrong guess does no harm, since records are found by content. `owners` (including the caller's key) only
    separates the sessions of two callers; the hash reveals nothing about them.
    """
    first = next((one for one in request.messages if _role(one) == "user"), request.messages[0])
    begins = named or json.dumps(first, sort_keys=True, default=str)
    identity = "\0".join((request.api.format, begins, *owners))
    return f"gateway-{blake2b(identity.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def spoken_at(path: str, headers: Iterable[tuple[bytes, bytes]]) -> Api:
    """Which provider's client this probably is."""
    if path in ROUTES:
        return ROUTES[path]
    speaks_anthropic = any(name.lower() == b"anthropic-version" for name, _ in headers)
    return MESSAGES if speaks_anthropic or path.startswith("/v1/messages") else CHAT


def error_body(api: Api | None, status: int, message: str, code: str | None = None) -> bytes:
    """One of the gateway's own errors, in the envelope that the client's SDK can read."""
    if api is not None and api.error == "anthropic":
        kind = _ANTHROPIC_KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return json_bytes({"type": "error", "error": {"type": kind, "message": message}})
    kind = "invalid_request_error" if status < 500 else "api_error"
    return json_bytes({"error": {"message": message, "type": kind, "param": None, "code": code}})
