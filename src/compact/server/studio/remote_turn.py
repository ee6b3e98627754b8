"""A reply that another process writes, for a reader that reconnected to this one.

Its chunks are in that process's memory. What is shared are the stored steps: each is sent as soon as it is
stored, and the end when the turn is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from compact.chat.turns import Turn
from compact.errors import HistoryGone
from compact.model.chat import FinishReason
from compact.server.http.problems import Problem
from compact.server.studio.messages import grouped, parts_of
from compact.server.studio.presence import Work
from compact.server.studio.ui_stream import DONE, encoded
from compact.server.studio.workspace import Workspace

_DELETED = {"type": "abort", "reason": "deleted"}
_REASONS = {FinishReason.LENGTH.value: "length", FinishReason.REFUSAL.value: "content-filter"}


async def followed_elsewhere(
    here: Workspace, session_id: str, running: Work, poll: float
) -> AsyncIterator[bytes]:
    first = running.position + 1
    metadata = {"position": first, "user_position": running.position}
    yield encoded({"type": "start", "messageId": f"m{first}", "messageMetadata": metadata})
    seen = first
    while not here.events.closed:
        # Checked first: what is stored between the two checks belongs to the turn.
        over = await here.is_over(session_id, running)
        try:
            turns = await here.look(session_id, lambda found: list(found.turns))
        except (Problem, HistoryGone):
            yield encoded(_DELETED)
            break
        groups = grouped(turns[seen:])
        for group in groups:
            seen += len(group.turns)
            yield b"".join(encoded(chunk) for chunk in _step(group.turns, group.position))
        if over:
            if await asyncio.to_thread(here.store.session, session_id) is None:
                yield encoded(_DELETED)
            else:
                yield b"".join(encoded(chunk) for chunk in _end(turns[first:]))
            break
        await asyncio.sleep(poll / 2)
    yield DONE


def _end(turns: list[Turn]) -> Iterator[dict[str, Any]]:
    """How the reply ended, by what is stored of it."""
    last = next((turn for turn in reversed(turns) if turn.get("role") == "assistant"), {})
    if last.get("finish_reason") == "interrupted":
        yield {"type": "abort", "reason": "stopped"}
        return
    if last.get("error"):
        yield {"type": "error", "errorText": str(last["error"])}
    yield {"type": "finish", "finishReason": _reason(last)}


def _reason(last: Mapping[str, Any]) -> str:
    if not last:
        return "other"  # nothing came: the question went back to its writer
    if last.get("error"):
        return "error"
    if last.get("tool_calls"):
        return "tool-calls"
    return _REASONS.get(str(last.get("finish_reason")), "stop")


def _step(turns: list[Turn], number: int) -> Iterator[dict[str, Any]]:
    yield {"type": "start-step"}
    for at, part in enumerate(parts_of(turns)):
        name = f"stored-{number}-{at}"
        match part:
            case {"type": ("text" | "reasoning") as kind, "text": text}:
                yield {"type": f"{kind}-start", "id": name}
                yield {"type": f"{kind}-delta", "id": name, "delta": text}
                yield {"type": f"{kind}-end", "id": name}
            case {"type": "dynamic-tool"}:
                named = {"toolCallId": part["toolCallId"], "dynamic": True}
                tool = {**named, "toolName": part["toolName"], "input": part["input"]}
                yield {"type": "tool-input-available", **tool}
                if part["state"] == "output-available":
                    yield {"type": "tool-output-available", **named, "output": part["output"]}
                elif part["state"] == "output-error":
                    yield {"type": "tool-output-error", **named, "errorText": part["errorText"]}
    yield {"type": "finish-step"}
