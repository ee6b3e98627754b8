"""Merges several events about one span."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compact.server.traces.event import TraceEvent


def merged(known: TraceEvent | None, event: TraceEvent) -> TraceEvent:
    """`known` with what the event adds, whichever of start and end came first.

    The event that reports the end wins; of two such events, the later one. An error remains an error.
    """
    if known is None:
        return event
    late_start = known.ended is not None and event.ended is None
    old, new = (event, known) if late_start else (known, event)
    return replace(
        new,
        parent_id=new.parent_id if new.parent_id is not None else old.parent_id,
        kind=new.kind if new.kind is not None else old.kind,
        name=new.name if new.name is not None else old.name,
        group_id=new.group_id if new.group_id is not None else old.group_id,
        started=_of(min, old.started, new.started),
        ended=_of(max, old.ended, new.ended),
        status="error" if "error" in (old.status, new.status) else new.status or old.status,
        data={**old.data, **new.data} if old.data and new.data else new.data or old.data,
    )


def is_running(span: TraceEvent | None) -> bool:
    return span is not None and span.started is not None and span.ended is None


def state_of(span: TraceEvent) -> str:
    """Senders call a span "ok" before it has ended; a reader wants to know that it has not."""
    return "running" if is_running(span) and span.status != "error" else span.status or "ok"


def _of(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else b
    return choose(a, b)
