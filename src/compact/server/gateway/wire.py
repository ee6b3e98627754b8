"""The three APIs that are compacted: where each keeps its messages, and what its errors look like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
_SMALL = 8_000
"""Bytes. A token has at least one, so a body this small fits every window there is."""


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
        """The body with other messages; every other field as it came, in its place."""
        changed = {**self.body, self.api.messages: list(messages)}
        if tools is not self.tools and tools is not None:
            changed["tools"] = tools
        return json_bytes(changed)


def read(api: Api, raw: bytes) -> Request | None:
    """The request, if it is one that may be compacted; None passes it on as it is.

    Whatever the provider would refuse is the provider's to refuse.
    """
    if len(raw) < _SMALL:
        return None
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
    """Which conversation it probably is: the one named, else the one that began like this.

    A guess may be wrong without harm, since records are found by content. `owners` (the caller's key among
    them) only keep the sessions of two callers apart; nothing of them can be read off the hash.
    """
    first = next((one for one in request.messages if _role(one) == "user"), request.messages[0])
    begins = named or json.dumps(first, sort_keys=True, default=str)
    identity = "\0".join((request.api.format, begins, *owners))
    return f"gateway-{blake2b(identity.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def error_body(api: Api | None, status: int, message: str) -> bytes:
    """An error of the gateway's own, in the envelope that the client's SDK can read."""
    kind = "invalid_request_error" if status < 500 else "api_error"
    if api is not None and api.error == "anthropic":
        return json_bytes({"type": "error", "error": {"type": kind, "message": message}})
    return json_bytes({"error": {"message": message, "type": kind, "param": None, "code": None}})
