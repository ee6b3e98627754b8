"""Database rows as the read API returns them."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from compact.server.traces.event import TraceEvent
from compact.server.traces.merging import state_of
from compact.server.traces.moments import iso, micros, milliseconds
from compact.server.traces.tree import Placed


def event_of_body(body: str) -> TraceEvent:
    """A stored event, parsed from its JSON."""
    raw = json.loads(body)
    return TraceEvent(
        trace_id=raw["trace_id"],
        span_id=raw.get("span_id"),
        parent_id=raw.get("parent_id"),
        kind=raw.get("kind"),
        name=raw.get("name"),
        group_id=raw.get("group_id"),
        started=micros(raw.get("started_at")),
        ended=micros(raw.get("ended_at")),
        status=raw.get("status"),
        data=raw.get("data" if "span_id" in raw else "metadata"),
    )


def light(trace_id: str, row: sqlite3.Row) -> TraceEvent:
    return TraceEvent(
        trace_id,
        row["span_id"],
        row["parent_id"],
        row["kind"],
        row["name"],
        None,
        row["started"],
        row["ended"],
        row["status"],
    )


def shown_trace(row: sqlite3.Row, compactions: int) -> dict[str, Any]:
    status = "ok"
    if row["errors"] or row["status"] == "error":
        status = "error"
    elif row["running"]:
        status = "running"
    return {
        "trace_id": row["trace_id"],
        "name": row["name"] or row["root_name"],
        "group_id": row["group_id"],
        "status": status,
        "started_at": iso(row["started"]),
        "ended_at": None if row["running"] else iso(row["ended"]),
        "duration_ms": milliseconds(row["started"], row["ended"]),
        "span_count": row["spans"],
        "error_count": row["errors"],
        "running_count": row["running"],
        "compaction_count": compactions,
        "event_count": row["events"],
        "updated_at": iso(row["updated"]),
        "last_sequence": row["last_seq"],
        "metadata": json.loads(row["metadata"] or "{}"),
    }


def shown_span(span: TraceEvent, trace_started: int | None) -> dict[str, Any]:
    return {
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "kind": span.kind,
        "name": span.name,
        "status": state_of(span),
        "started_at": iso(span.started),
        "ended_at": iso(span.ended),
        "duration_ms": milliseconds(span.started, span.ended),
        "offset_ms": milliseconds(trace_started, span.started),
    }


def shown_place(place: Placed, trace_started: int | None, data: dict[str, Any] | None) -> dict[str, Any]:
    made = shown_span(place.span, trace_started)
    made |= {"depth": place.depth, "children": place.children, "orphan": place.orphan}
    if data is not None:
        made["data"] = data.get(place.span.span_id or "") or {}
    return made
