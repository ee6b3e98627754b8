"""The chat server on a real socket, with a model that follows a rule, and what its clients see."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from compact.chat.tools import Toolbox, ToolRunner
from compact.config import CompactConfig
from compact.model.chat import CallMade, FinishReason, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall, Usage
from compact.server.studio.catalog import Catalog, Offered
from compact.server.studio.running import serving
from compact.server.studio.settings import StudioSettings

WINDOW = 4_000
Rule = Callable[[Sequence[Mapping[str, Any]]], Any]


class RuleModel:
    """Answers by a rule: text, or (tool name, arguments) for a call; `gate` holds replies halfway."""

    model = "gpt-4o"
    label = "a rule"

    def __init__(self, rule: Rule | None = None) -> None:
        self.rule = rule or (lambda messages: f"You said: {str(messages[-1]['content'])[:60]}")
        self.prompts: list[list[Mapping[str, Any]]] = []
        self.tools: list[Any] = []
        self.reports_usage = True
        self.gate: threading.Event | None = None
        self.half = threading.Event()
        """Set when half of a reply has been sent."""
        self.end = FinishReason.STOP

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[ReplyPiece]:
        self.prompts.append([dict(message) for message in messages])
        self.tools.append(tools)
        said = self.rule(messages)
        size = sum(len(str(one)) for one in messages) // 4
        usage = Usage(input=size, output=10) if self.reports_usage else None
        if isinstance(said, Exception):
            raise said
        if isinstance(said, tuple):
            call = ToolCall(f"call_{len(self.prompts)}", said[0], json.dumps(said[1]))
            yield CallMade(call)
            function = {"name": call.name, "arguments": call.arguments}
            sent = [{"id": call.call_id, "type": "function", "function": function}]
            message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": sent}
            yield ReplyEnd(FinishReason.TOOL_CALLS, message, usage)
            return
        middle = len(said) // 2
        yield TextPiece(said[:middle])
        self.half.set()
        if self.gate is not None:
            self.gate.wait(120)
        yield TextPiece(said[middle:])
        yield ReplyEnd(self.end, {"role": "assistant", "content": said}, usage)


def config(**changes: Any) -> CompactConfig:
    """A small window, so that compactions come soon; nothing is written outside the store."""
    settings = {
        "max_context_tokens": WINDOW,
        "archive": {"adapter": "none"},
        "counter": "estimate",
        "summarizer": {"name": "extractive"},
        "policy": {"hard_cap_buffer": 200},
    }
    return CompactConfig(**{**settings, **changes})


@contextmanager
def studio(
    folder: Path | str,
    model: Any = None,
    tools: ToolRunner | None = None,
    models: Mapping[str, Any] | None = None,
    summarizer: Any = None,
    **changes: Any,
) -> Iterator[httpx2.Client]:
    """A client of its own server; `folder` is where its SQLite file goes, or a database URL."""
    store = folder if isinstance(folder, str) else f"sqlite:///{folder}/studio.db"
    found = dict(models or {"gpt-4o": model or RuleModel()})
    catalog = Catalog(
        [Offered(name, name) for name in found],
        next(iter(found)),
        found.__getitem__,
        tools or Toolbox(),
        summarizer,
    )
    defaults: dict[str, Any] = {"port": 0, "config": config(), "requests_per_second": 0, "stop_seconds": 2}
    settings = StudioSettings(store=store, **{**defaults, **changes})
    with (
        serving(settings, catalog) as url,
        httpx2.Client(base_url=url, timeout=30, trust_env=False) as client,
    ):
        yield client


def new_session(client: httpx2.Client, **settings: Any) -> str:
    answer = client.post("/api/sessions", json=settings)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["id"]
    return found


def user_message(text: str) -> dict[str, Any]:
    return {"id": "client-made", "role": "user", "parts": [{"type": "text", "text": text}]}


def body_of(session: str, text: str) -> dict[str, Any]:
    return {"id": session, "messages": [user_message(text)], "trigger": "submit-message"}


def said(client: httpx2.Client, session: str, text: str) -> list[dict[str, Any]]:
    """Send a message; returns all chunks of the reply."""
    answer = client.post("/api/chat", json=body_of(session, text))
    assert answer.status_code == 200, answer.text
    return chunks(answer.text)


def chunks(text: str) -> list[dict[str, Any]]:
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]", lines[-3:]
    return [json.loads(line) for line in lines[:-1]]


def compactions(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["data"]["event"] for one in found if one["type"] == "data-compaction"]


def reply_text(found: Sequence[Mapping[str, Any]]) -> str:
    return "".join(one["delta"] for one in found if one["type"] == "text-delta")


def stored_events(client: httpx2.Client, session: str) -> list[dict[str, Any]]:
    page = client.get(f"/api/sessions/{session}/events", params={"format": "json", "limit": 1000})
    found: list[dict[str, Any]] = page.json()["events"]
    return found
