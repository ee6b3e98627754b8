"""What the OpenAI Agents SDK's own exporter posts: `{"data": [trace | trace.span, …]}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.server.traces.event import TraceEvent
from compact.server.traces.fields import identity, label, mapping, moment, optional_identity


def event_of_item(raw: Any) -> TraceEvent:
    if not isinstance(raw, Mapping):
        raise ValueError("an item is an object")
    if raw.get("object") == "trace":
        return TraceEvent(
            trace_id=identity(raw, "id"),
            name=label(raw, "workflow_name"),
            group_id=optional_identity(raw, "group_id"),
            started=moment(raw, "started_at"),
            ended=moment(raw, "ended_at"),
            data=mapping(raw.get("metadata")),
        )
    if raw.get("object") != "trace.span":
        raise ValueError('object must be "trace" or "trace.span"')
    about = raw.get("span_data")
    if about is not None and not isinstance(about, Mapping):
        raise ValueError("span_data must be an object")
    about = about or {}
    kind = label(about, "type")
    error = raw.get("error")
    return TraceEvent(
        trace_id=identity(raw, "trace_id"),
        span_id=identity(raw, "id"),
        parent_id=optional_identity(raw, "parent_id"),
        kind=kind,
        name=_name(kind, about),
        started=moment(raw, "started_at"),
        ended=moment(raw, "ended_at"),
        status="error" if error else ("ok" if raw.get("ended_at") else None),
        data=_data(kind, about, error, raw.get("metadata")),
    )


def _name(kind: str | None, about: Mapping[str, Any]) -> str | None:
    if kind == "handoff" and (about.get("from_agent") or about.get("to_agent")):
        return f"{about.get('from_agent') or '?'} → {about.get('to_agent') or '?'}"
    name = about.get("name") or (about.get("model") if kind == "generation" else None)
    return label({"name": str(name)}, "name") if name else kind


def _data(kind: str | None, about: Mapping[str, Any], error: Any, metadata: Any) -> dict[str, Any] | None:
    """A custom span's own data, moved to the top level as other senders have it."""
    rest = {key: value for key, value in about.items() if key not in ("type", "name") and value is not None}
    if kind == "custom" and isinstance(rest.get("data"), Mapping):
        rest |= rest.pop("data")
    if error:
        rest["error"] = error
    if metadata:
        rest["metadata"] = metadata
    return rest or None
