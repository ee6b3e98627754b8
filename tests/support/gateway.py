"""A conversation through the gateway, and a manager behind it that counts characters."""

from __future__ import annotations

import atexit
import json
from typing import Any

import httpx2

from compact import CompactConfig, CompactManager
from compact.server.gateway.settings import GatewaySettings
from support.providers import CHAT, RESPONSES

WINDOW = 6_000
HTTP = httpx2.Client(trust_env=False, verify=False, timeout=30)
atexit.register(HTTP.close)
KEY = "sk-live-do-not-store-8f3a6c1b2d4e"
CONFIG: dict[str, Any] = {
    "max_context_tokens": WINDOW,
    "counter": "chars4",
    "archive": {"adapter": "none"},
    "strip_meta": True,
    # The provider counts the JSON around each message as well.
    "policy": {"trigger_pct": 0.7},
}


class Client:
    """A conversation through the gateway, in one of the three wire formats."""

    def __init__(self, url: str, path: str, topic: str = "ledger") -> None:
        self.url, self.path = url, path
        self.messages: list[Any] = []
        self.topic = topic

    def body(self, **more: Any) -> dict[str, Any]:
        if self.path == RESPONSES:
            return {"model": "gpt-4o", "instructions": "You check ledgers.", "input": self.messages, **more}
        if self.path == CHAT:
            system = [{"role": "system", "content": "You check ledgers."}]
            return {"model": "gpt-4o", "messages": [*system, *self.messages], **more}
        fixed = {"model": "gpt-4o", "max_tokens": 100, "system": "You check ledgers."}
        return {**fixed, "messages": self.messages, **more}

    def send(self, raw: bytes | None = None, headers: dict[str, str] | None = None, **more: Any) -> Any:
        named = {"content-type": "application/json", "authorization": f"Bearer {KEY}", **(headers or {})}
        content = raw if raw is not None else json.dumps(self.body(**more)).encode()
        return HTTP.post(self.url + self.path, content=content, headers=named)

    def say(self, number: int, **more: Any) -> Any:
        said = f"{self.topic} page {number}: " + "every ship paid its fee in full, nothing is open here. " * 6
        self.messages.append({"role": "user", "content": said})
        answer = self.send(**more)
        self.messages.append({"role": "assistant", "content": f"Page {number} agrees with the {self.topic}."})
        return answer


def gateway_settings(upstream: str, **more: Any) -> GatewaySettings:
    """On a free port. A request that still fits waits for its compaction, however busy the machine is."""
    return GatewaySettings(**{"upstream": upstream, "port": 0, "fitting_seconds": 60.0, **more})


def manager(store: Any = None) -> CompactManager:
    return CompactManager(CompactConfig(**CONFIG), store=store)
