"""What the engine reported about a compaction besides its record: duration, author, failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compact.model.event import Event, EventName
from compact.model.message import Usage
from compact.models.prices import cost
from compact.ports import Threads

TYPE = "record-detail"
"""Of stored events that followers do not get."""
NAMES = frozenset({EventName.SUMMARY_CREATED, EventName.ERROR})
_MOST = 10_000


@dataclass
class Detail:
    duration: float | None = None
    summarizer: str | None = None
    cost: float | None = None
    fallback: str | None = None
    warnings: list[str] = field(default_factory=list)


def detail_data(event: Event) -> dict[str, Any] | None:
    """What is kept of an event for the record of its step."""
    if not event.step:
        return None
    kept: dict[str, Any] = {"type": TYPE, "step": event.step}
    if event.name is EventName.SUMMARY_CREATED:
        usage = event.data.get("usage")
        return {**kept, "summarizer": event.data.get("model"), "usage": usage}
    return {**kept, "fallback": event.data.get("fallback"), "warning": event.data.get("message")}


def details_of(store: Threads, session_id: str) -> dict[int, Detail]:
    """By the number of the compaction."""
    found: dict[int, Detail] = {}
    for event in store.events(session_id, 0, _MOST):
        if event.name is EventName.DOOR:
            _take(found, event.data)
    return found


def _take(found: dict[int, Detail], data: Mapping[str, Any]) -> None:
    if data.get("type") == "data-compaction" and data["data"].get("event") == "compaction-complete":
        found.setdefault(data["data"]["step"], Detail()).duration = data["data"].get("duration")
    elif data.get("type") == TYPE:
        detail = found.setdefault(data["step"], Detail())
        detail.summarizer = data.get("summarizer") or detail.summarizer
        detail.fallback = data.get("fallback") or detail.fallback
        if data.get("warning"):
            detail.warnings.append(str(data["warning"]))
        match data.get("usage"):
            case {"input": int(read), "output": int(written)} if detail.summarizer:
                price = cost(detail.summarizer, Usage(input=read, output=written))
                detail.cost = float(price) if price is not None else None
