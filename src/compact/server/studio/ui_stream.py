"""Chat events as chunks of the AI SDK's UI message stream, version 1.

A chunk is a dict; None stands in none of them, since a null in an optional field breaks the reader. What a
text or reasoning part needs around its deltas is added here: a start, and an end before anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from compact.chat.events import (
    Accepted,
    ChatEvent,
    Compacting,
    ContextReduced,
    Failed,
    Finish,
    Finished,
    Notice,
    ReasoningDelta,
    StepStarted,
    Stored,
    TextDelta,
    ToolCalled,
    ToolReturned,
    UsageReported,
)
from compact.chat.turns import text_of
from compact.model.event import Event

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"
Chunk = dict[str, Any]

_FINISH = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.REFUSAL: "content-filter",
    Finish.STEP_LIMIT: "tool-calls",
    Finish.FAILED: "error",
    Finish.EMPTY: "other",
    Finish.STOPPED: "other",
}


class UiStream:
    """The chunks of one reply, event by event."""

    def __init__(self) -> None:
        self._open: tuple[str, str] | None = None
        """Kind and id of the part whose deltas are arriving."""
        self._parts = 0
        self._in_step = False
        self._metadata: Chunk = {}
        self._error: str | None = None
        """Comes right before the end: readers of a stream stop at an error."""

    def chunks(self, event: ChatEvent) -> Iterator[Chunk]:
        match event:
            case TextDelta(text=text):
                yield from self._delta("text", text)
            case ReasoningDelta(text=text):
                yield from self._delta("reasoning", text)
            case Compacting(event=engine_event):
                yield compaction_part(engine_event)
            case Notice():
                yield notice_part(event)
            case _:
                yield from self._close_part()
                yield from self._whole(event)

    def _whole(self, event: ChatEvent) -> Iterator[Chunk]:
        match event:
            case Accepted(turn=turn, position=position):
                # A page that joins late finds the question here: it is stored with its reply.
                yield {
                    "type": "start",
                    "messageId": f"m{position + 1}",
                    "messageMetadata": {
                        "position": position + 1,
                        "user_position": position,
                        "question": text_of(turn),
                    },
                }
            case StepStarted():
                yield from self._close_step()
                self._in_step = True
                yield {"type": "start-step"}
            case ToolCalled(call=call):
                named = {"toolCallId": call.call_id, "toolName": call.name, "dynamic": True}
                yield {"type": "tool-input-start", **named}
                yield {"type": "tool-input-available", **named, "input": _json_or_text(call.arguments)}
            case ToolReturned(call_id=call_id, text=text, is_error=is_error):
                kind = ("tool-output-error", "errorText") if is_error else ("tool-output-available", "output")
                yield {"type": kind[0], "toolCallId": call_id, kind[1]: text, "dynamic": True}
            case UsageReported(usage=usage, cost=cost):
                self._add_usage(usage, cost)
            case Failed(error=error):
                self._error = str(error)
            case Finished(reason=reason, draft=draft):
                yield from self._finished(reason, draft)
            case Stored() | ContextReduced():
                pass  # its usage comes as a part of its own: `usage_part`

    def _finished(self, reason: Finish, draft: str) -> Iterator[Chunk]:
        yield from self._close_step()
        if reason is Finish.STOPPED:
            yield {"type": "abort", "reason": "stopped"}
            return
        if self._error is not None:
            yield {"type": "error", "errorText": self._error}
        metadata = {**self._metadata, **({"draft": draft} if draft else {})}
        finish = {"type": "finish", "finishReason": _FINISH[reason]}
        yield {**finish, "messageMetadata": metadata} if metadata else finish

    def _delta(self, kind: str, text: str) -> Iterator[Chunk]:
        if self._open is None or self._open[0] != kind:
            yield from self._close_part()
            self._parts += 1
            self._open = (kind, f"{kind}-{self._parts}")
            yield {"type": f"{kind}-start", "id": self._open[1]}
        yield {"type": f"{kind}-delta", "id": self._open[1], "delta": text}

    def _close_part(self) -> Iterator[Chunk]:
        if self._open is not None:
            kind, part = self._open
            self._open = None
            yield {"type": f"{kind}-end", "id": part}

    def _close_step(self) -> Iterator[Chunk]:
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _add_usage(self, usage: Any, cost: float | None) -> None:
        """All steps of a reply count together."""
        before: Mapping[str, int] = self._metadata.get("usage", {})
        counted = {
            name: getattr(usage, name) + before.get(name, 0)
            for name in ("input", "output", "cache_read", "cache_write")
        }
        self._metadata = {**self._metadata, "usage": counted}
        if cost is not None:
            self._metadata["cost"] = self._metadata.get("cost", 0.0) + cost


def compaction_part(event: Event) -> Chunk:
    """An event of S2.18. Those of one compaction share an id, so that the newest state replaces the last."""
    data: Chunk = {"event": event.name.value, "step": event.step, "at": event.at, **event.data}
    if event.duration is not None:
        data["duration"] = event.duration
    return {"type": "data-compaction", "id": f"c-{event.step}", "data": without_nulls(data)}


def usage_part(usage: Mapping[str, Any]) -> Chunk:
    return {"type": "data-context-usage", "id": "usage", "data": dict(usage)}


def notice_part(notice: Notice) -> Chunk:
    data = {"level": notice.severity.value, "text": notice.text, "code": notice.topic.value, **notice.data}
    return {"type": "data-notice", "data": data, "transient": True}


def encoded(chunk: Mapping[str, Any], id: str | None = None) -> bytes:
    """One server-sent event. A lone surrogate, which models do send, becomes a question mark."""
    body = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"), default=str)
    head = f"id: {id}\n" if id is not None else ""
    return f"{head}data: {body}\n\n".encode("utf-8", "replace")


def without_nulls(data: Mapping[str, Any]) -> Chunk:
    return {name: value for name, value in data.items() if value is not None}


def _json_or_text(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
