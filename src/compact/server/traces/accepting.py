"""Turn a request's JSON into trace events: Ariadne's form, the Agents SDK's and OTLP's, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compact.model.message import json_kind
from compact.server.traces.agents_sdk import event_of_item
from compact.server.traces.event import TraceEvent
from compact.server.traces.fields import BadBody, identity, label, mapping, moment, optional_identity, status
from compact.server.traces.otlp import spans_of

Item = tuple[int, TraceEvent | str]
"""The place of an event in its batch, and the event or what is wrong with it."""


def events_of(payload: Any, max_depth: int) -> Iterator[Item]:
    """Each event of the body with its index; BadBody if the body has none of these forms."""
    if isinstance(payload, Mapping):
        for key in ("batch", "events"):
            if key in payload:
                return _each(_listed(payload[key], key), event_of, max_depth)
        if "data" in payload and "type" not in payload and "trace_id" not in payload:
            return _each(_listed(payload["data"], "data"), event_of_item, max_depth)
        if "resourceSpans" in payload or "resource_spans" in payload:
            return _each(spans_of(payload), lambda made: made(), max_depth)
        make = event_of_item if "object" in payload else event_of
        return _each([payload], make, max_depth)
    if isinstance(payload, list):
        return _each(payload, event_of, max_depth)
    raise BadBody(
        'Expected an event, {"batch":[…]}, {"events":[…]}, {"data":[…]} or {"resourceSpans":[…]}; '
        f"got {json_kind(payload)}. Nothing was stored."
    )


def event_of(raw: Any) -> TraceEvent:
    """An event in Ariadne's form; ValueError says what is wrong."""
    if not isinstance(raw, Mapping):
        raise ValueError("an event is an object")
    if "object" in raw and "type" not in raw:
        return event_of_item(raw)
    kind_of_event = raw.get("type", "span" if raw.get("span_id") else "trace")
    if kind_of_event not in ("trace", "span"):
        raise ValueError('type must be "trace" or "span"')
    trace = kind_of_event == "trace"
    started = moment(raw, "started_at")
    ended = moment(raw, "ended_at")
    if started is None and ended is None:
        # A point in time is a span without length.
        started = ended = moment(raw, "timestamp")
    if trace:
        data = mapping(raw.get("metadata"), raw.get("data"))
    else:
        data = mapping(raw.get("properties"), raw.get("metadata"), raw.get("data"))
        if raw.get("payload") is not None:
            data = {**(data or {}), "payload": raw["payload"]}
    return TraceEvent(
        trace_id=identity(raw, "trace_id"),
        span_id=None if trace else identity(raw, "span_id"),
        parent_id=None if trace else optional_identity(raw, "parent_id"),
        kind=None if trace else label(raw, "kind"),
        name=label(raw, "name"),
        group_id=optional_identity(raw, "group_id"),
        started=started,
        ended=ended,
        status=status(raw.get("status")),
        data=data,
    )


def _each(raws: Sequence[Any], make: Callable[[Any], TraceEvent], max_depth: int) -> Iterator[Item]:
    for index, raw in enumerate(raws):
        try:
            event = make(raw)
            if _deeper_than(event.data, max_depth):
                raise ValueError(f"nested deeper than {max_depth} levels")
            yield index, event
        except ValueError as error:
            yield index, str(error)
        except RecursionError:
            yield index, f"nested deeper than {max_depth} levels"


def _listed(value: Any, key: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise BadBody(f"{key} must be an array of events. Nothing was stored.")
    return value


def _deeper_than(value: Any, limit: int) -> bool:
    """Level by level, so that deep nesting cannot overflow the stack."""
    level = [value]
    for _ in range(limit + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                below += [part for part in item.values() if isinstance(part, Mapping | list)]
            elif isinstance(item, list):
                below += [part for part in item if isinstance(part, Mapping | list)]
        if not below:
            return False
        level = below
    return True
