"""The forms that senders use, and what is wrong with an event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.server.traces.accepting import events_of
from compact.server.traces.event import TraceEvent, row_of
from compact.server.traces.fields import BadBody

MOMENT = 1_777_636_800_000_000


def taken(payload: Any, max_depth: int = 64) -> list[TraceEvent | str]:
    found = list(events_of(payload, max_depth))
    assert [index for index, _ in found] == list(range(len(found)))
    return [event for _, event in found]


def one(payload: Any) -> TraceEvent:
    [event] = taken(payload)
    assert isinstance(event, TraceEvent), event
    return event


def test_a_point_in_time_with_properties_is_a_span_without_length() -> None:
    event = one(
        {
            "type": "span",
            "trace_id": "session-1",
            "span_id": "compact-1",
            "name": "compact.token_estimate",
            "timestamp": MOMENT / 1e6,
            "properties": {"tokens": 5},
            "payload": '{"a": 1}',
        }
    )
    assert (event.started, event.ended) == (MOMENT, MOMENT)
    assert event.data == {"tokens": 5, "payload": '{"a": 1}'}


@pytest.mark.parametrize(
    "form", [lambda e: e, lambda e: [e], lambda e: {"batch": [e]}, lambda e: {"events": [e]}]
)
def test_the_type_is_told_by_the_ids_where_it_is_missing(form: Any) -> None:
    assert one(form({"trace_id": "t"})).span_id is None
    assert one(form({"trace_id": "t", "span_id": "s"})).span_id == "s"


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"type": "log", "trace_id": "t"}, 'type must be "trace" or "span"'),
        ({"type": "span", "span_id": "s"}, "trace_id is missing"),
        ({"type": "span", "trace_id": "", "span_id": "s"}, "trace_id is missing"),
        ({"type": "span", "trace_id": ["t"], "span_id": "s"}, "trace_id must be text"),
        ({"type": "span", "trace_id": "t" * 513, "span_id": "s"}, "trace_id is longer than 512 characters"),
        ({"type": "span", "trace_id": "t", "span_id": "s", "name": 3}, "name must be text"),
        ({"type": "span", "trace_id": "t", "span_id": "s", "status": "so"}, 'status must be "ok" or "error"'),
        ({"type": "span", "trace_id": "t", "span_id": "s", "ended_at": {}}, "ended_at is not a time: '{}'"),
        (7, "an event is an object"),
        (None, "an event is an object"),
        ({"object": "thread", "id": "x"}, 'object must be "trace" or "trace.span"'),
    ],
)
def test_what_is_wrong_is_said(raw: Any, problem: str) -> None:
    assert taken({"batch": [raw]}) == [problem]


@pytest.mark.parametrize("payload", [None, 3, "x", True, {"batch": {}}, {"events": None}, {"data": "x"}])
def test_what_is_no_form_of_ours_is_refused_whole(payload: Any) -> None:
    with pytest.raises(BadBody):
        taken(payload)


def test_deep_data_is_refused_alone() -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    shallow = {"trace_id": "t", "span_id": "a", "data": {"a": [[1]]}}
    event, problem = taken([shallow, {"trace_id": "t", "span_id": "b", "data": {"a": deep}}])
    assert isinstance(event, TraceEvent) and problem == "nested deeper than 64 levels"


def test_what_the_agents_sdk_sends() -> None:
    trace, generation, custom, handoff, failed = taken(
        {
            "data": [
                {
                    "object": "trace",
                    "id": "trace_1",
                    "workflow_name": "Run",
                    "group_id": "g",
                    "metadata": None,
                },
                sdk_span(
                    {"type": "generation", "model": "gpt-4o", "input": [], "usage": {"input_tokens": 5}}
                ),
                sdk_span({"type": "custom", "name": "compact.error", "data": {"status": "x"}}),
                sdk_span({"type": "handoff", "from_agent": "a", "to_agent": "b"}),
                sdk_span({"type": "function", "name": "read"}, error={"message": "no file", "data": None}),
            ]
        }
    )
    assert trace == TraceEvent("trace_1", name="Run", group_id="g")
    assert isinstance(generation, TraceEvent) and generation.name == "gpt-4o"
    assert (generation.parent_id, generation.status, generation.ended) == (None, "ok", MOMENT + 1_000_000)
    assert generation.data == {"model": "gpt-4o", "input": [], "usage": {"input_tokens": 5}}
    assert isinstance(custom, TraceEvent) and (custom.name, custom.data) == ("compact.error", {"status": "x"})
    assert isinstance(handoff, TraceEvent) and (handoff.kind, handoff.name) == ("handoff", "a → b")
    assert isinstance(failed, TraceEvent) and failed.status == "error"
    assert failed.data == {"error": {"message": "no file", "data": None}}


def sdk_span(about: dict[str, Any], error: Any = None) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": "span_1",
        "trace_id": "trace_1",
        "parent_id": None,
        "started_at": "2026-05-01T12:00:00.000000+00:00",
        "ended_at": "2026-05-01T12:00:01+00:00",
        "span_data": about,
        "error": error,
    }


def otlp(*spans: Any) -> dict[str, Any]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    scope = {"scope": {"name": "compact"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def test_what_opentelemetry_sends() -> None:
    event = one(
        otlp(
            {
                "traceId": "5B8EFFF798038103D269B633813FC60C",
                "spanId": "eee19b7ec3c1b174",
                "parentSpanId": "",
                "name": "chat gpt-4o",
                "kind": 3,
                "startTimeUnixNano": "1777636800000000000",
                "endTimeUnixNano": 1777636800250000000,
                "status": {"code": 2, "message": "refused"},
                "attributes": [
                    {"key": "gen_ai.conversation.id", "value": {"stringValue": "s-1"}},
                    {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "120"}},
                    {"key": "list", "value": {"arrayValue": {"values": [{"boolValue": True}]}}},
                    {
                        "key": "map",
                        "value": {"kvlistValue": {"values": [{"key": "a", "value": {"doubleValue": 0.5}}]}},
                    },
                ],
                "events": [{"name": "exception", "timeUnixNano": "1777636800100000000", "attributes": []}],
            }
        )
    )
    assert (event.trace_id, event.span_id, event.parent_id) == (
        "5b8efff798038103d269b633813fc60c",
        "eee19b7ec3c1b174",
        None,
    )
    assert (event.kind, event.status, event.group_id) == ("client", "error", "s-1")
    assert (event.started, event.ended) == (MOMENT, MOMENT + 250_000)
    assert event.data is not None
    assert event.data["attributes"]["gen_ai.usage.input_tokens"] == 120
    assert (event.data["attributes"]["list"], event.data["attributes"]["map"]) == ([True], {"a": 0.5})
    assert event.data["resource"] == {"service.name": "shop"} and event.data["status_message"] == "refused"
    assert event.data["events"][0]["name"] == "exception"


def test_a_bad_span_of_opentelemetry_is_refused_alone() -> None:
    good = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "x"}
    event, *problems = taken(otlp(good, {**good, "traceId": "short"}, {**good, "spanId": None}, 3))
    assert isinstance(event, TraceEvent)
    assert problems == ["traceId must be 32 hexadecimal digits", "spanId is missing", "a span is an object"]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (1, "ok"),
        ("STATUS_CODE_ERROR", "error"),
        (0, None),
        (None, None),
        ([2], None),
        ({}, None),
        ("x", None),
    ],
)
def test_a_status_that_opentelemetry_does_not_know_is_none(code: Any, status: str | None) -> None:
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "status": {"code": code}}
    assert one(otlp(span)).status == status


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    "type object data batch events trace_id span_id id parent_id span_data started_at resourceSpans"
    " scopeSpans spans status metadata timestamp attributes".split()
)


@given(
    JSON
    | st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON, max_size=6), max_size=3), max_size=6)
)
def test_whatever_comes_is_taken_or_refused_in_words(payload: Any) -> None:
    try:
        found = taken(payload)
    except BadBody as error:
        assert str(error)
        return
    for event in found:
        assert event and (isinstance(event, str) or row_of(event).body.encode())
