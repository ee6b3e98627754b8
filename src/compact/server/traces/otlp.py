"""OpenTelemetry's export of spans, as JSON or protobuf."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from compact.server.traces.event import TraceEvent, to_json
from compact.server.traces.fields import BadBody, label, moment, optional_identity
from compact.server.traces.settings import PROTOBUF

_HEX = re.compile(r"[0-9a-fA-F]+")
_KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
_STATUSES = {"1": "ok", "2": "error", "STATUS_CODE_OK": "ok", "STATUS_CODE_ERROR": "error"}
_KIND_ATTRIBUTES = ("openinference.span.kind", "gen_ai.operation.name")
_GROUP_ATTRIBUTES = ("gen_ai.conversation.id", "session.id")


def spans_of(payload: Mapping[str, Any]) -> Sequence[Callable[[], TraceEvent]]:
    """One function per span, so that a bad span fails alone."""
    makers: list[Callable[[], TraceEvent]] = []
    for resource_spans in _objects(_any(payload, "resourceSpans", "resource_spans")):
        resource = _attributes(_object(resource_spans.get("resource")).get("attributes"))
        for scope_spans in _objects(_any(resource_spans, "scopeSpans", "scope_spans")):
            scope = _object(scope_spans.get("scope")).get("name")
            spans = scope_spans.get("spans") or []
            makers += [partial(_event, span, resource, scope) for span in _list(spans)]
    return makers


def payload_of_protobuf(body: bytes) -> dict[str, Any]:
    """The message in its JSON form; BadBody if it cannot be read."""
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise BadBody(
            "OTLP as protobuf needs the extra `otel`: pip install 'compact-context[otel]'. Or send JSON. "
            "Nothing was stored.",
            415,
        ) from None
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
        made: dict[str, Any] = MessageToDict(request)
    except (DecodeError, ValueError, RecursionError) as error:
        raise BadBody(f"The body is not an OTLP message: {error}. Nothing was stored.") from None
    return made


def answer(protobuf: bool, rejected: int, problem: str) -> tuple[bytes, str]:
    """The answer to an exporter, and its media type. Answers about metrics and logs have the same layout."""
    if not protobuf:
        partial = {"rejectedSpans": str(rejected)} if rejected else {}
        partial |= {"errorMessage": problem} if problem else {}
        return to_json({"partialSuccess": partial}).encode(), "application/json"
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    made = ExportTraceServiceResponse()
    if rejected or problem:
        made.partial_success.rejected_spans = rejected
        made.partial_success.error_message = problem
    return bytes(made.SerializeToString()), PROTOBUF


def _event(span: Any, resource: Mapping[str, Any], scope: Any) -> TraceEvent:
    if not isinstance(span, Mapping):
        raise ValueError("a span is an object")
    attributes = _attributes(span.get("attributes"))
    outcome = _object(span.get("status"))
    parent = _any(span, "parentSpanId", "parent_span_id")
    data = {
        "attributes": attributes,
        "resource": resource,
        "scope": scope,
        "status_message": outcome.get("message"),
        "events": [_point(point) for point in _objects(span.get("events"))],
        "links": [_link(link) for link in _objects(span.get("links"))],
    }
    groups = (attributes.get(key) for key in _GROUP_ATTRIBUTES)
    return TraceEvent(
        trace_id=_id(_any(span, "traceId", "trace_id"), "traceId", 32),
        span_id=_id(_any(span, "spanId", "span_id"), "spanId", 16),
        parent_id=_id(parent, "parentSpanId", 16) if parent and set(str(parent)) != {"0"} else None,
        kind=_kind(span.get("kind"), attributes),
        name=label(span, "name"),
        group_id=optional_identity({"group": next((g for g in groups if isinstance(g, str)), None)}, "group"),
        started=_time(span, "startTimeUnixNano", "start_time_unix_nano"),
        ended=_time(span, "endTimeUnixNano", "end_time_unix_nano"),
        status=_STATUSES.get(str(outcome.get("code"))),
        data={key: value for key, value in data.items() if value},
    )


def _id(value: Any, name: str, digits: int) -> str:
    """Hex, as OTLP/JSON requires; base64, as in protobuf's own JSON, is recognized by its length."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is missing")
    if len(value) == digits and _HEX.fullmatch(value):
        return value.lower()
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) * 2 != digits:
        raise ValueError(f"{name} must be {digits} hexadecimal digits")
    return raw.hex()


def _time(span: Mapping[str, Any], *names: str) -> int | None:
    value = _any(span, *names)
    return None if value in (None, 0, "0") else moment({names[0]: value}, names[0])


def _kind(number: Any, attributes: Mapping[str, Any]) -> str | None:
    for key in _KIND_ATTRIBUTES:
        if isinstance(attributes.get(key), str):
            return label({"kind": attributes[key].lower()}, "kind")
    if isinstance(number, str):
        return number.removeprefix("SPAN_KIND_").lower()[:40]
    return _KINDS.get(number) if isinstance(number, int) else None


def _point(raw: Mapping[str, Any]) -> dict[str, Any]:
    at = _any(raw, "timeUnixNano", "time_unix_nano")
    return {"name": raw.get("name"), "at": at, "attributes": _attributes(raw.get("attributes"))}


def _link(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "trace_id": _any(raw, "traceId", "trace_id"),
        "span_id": _any(raw, "spanId", "span_id"),
        "attributes": _attributes(raw.get("attributes")),
    }


def _attributes(raw: Any) -> dict[str, Any]:
    return {str(pair["key"]): _plain(pair.get("value")) for pair in _objects(raw) if "key" in pair}


def _plain(value: Any) -> Any:
    """OTLP's typed value as ordinary JSON; nesting is cut by the depth limit of the event."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value or None
    [(kind, inner)] = value.items()
    if kind in ("arrayValue", "array_value"):
        return [_plain(item) for item in _list(_object(inner).get("values") or [])]
    if kind in ("kvlistValue", "kvlist_value"):
        return _attributes(_object(inner).get("values"))
    if kind in ("intValue", "int_value"):
        try:
            return int(inner)
        except (TypeError, ValueError):
            return inner
    return inner


def _any(raw: Mapping[str, Any], *names: str) -> Any:
    return next((raw[name] for name in names if name in raw), None)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]
