"""Ariadne's contract (S4.13, the service's part): what is sent to `/ingest` can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.trace_service import followed, span, trace_service

pytestmark = pytest.mark.spec("S4.13", part="service")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with trace_service(tmp_path / "traces.db") as client:
        yield client


def tree(client: httpx2.Client, trace_id: str) -> dict[str, Any]:
    response = client.get(f"/traces/{trace_id}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_an_event_is_taken_and_seen_everywhere(client: httpx2.Client) -> None:
    event = span(kind="custom", name="compact.summary_created", status="ok", data={"tokens_after": 1200})
    event |= {"started_at": "2026-05-01T10:00:00Z", "ended_at": "2026-05-01T10:00:00.750Z"}
    answer = client.post("/ingest", json=event)
    assert (answer.status_code, answer.json()) == (200, {"success": True, "count": 1})

    [listed] = client.get("/traces").json()["traces"]
    assert (listed["trace_id"], listed["span_count"], listed["duration_ms"]) == ("t1", 1, 750.0)
    [shown] = tree(client, "t1")["spans"]
    assert shown["data"] == {"tokens_after": 1200}
    assert (shown["name"], shown["kind"], shown["status"], shown["duration_ms"], shown["depth"]) == (
        "compact.summary_created",
        "custom",
        "ok",
        750.0,
        0,
    )
    assert client.get("/spans/s1").json()["data"] == {"tokens_after": 1200}
    [(sequence, streamed)] = followed(client, 1, after=0)
    assert sequence == 1
    assert streamed == {
        **event,
        "started_at": "2026-05-01T10:00:00.000000Z",
        "ended_at": streamed["ended_at"],
    }


@pytest.mark.parametrize("key", ["batch", "events"])
def test_both_forms_of_a_batch_are_taken(client: httpx2.Client, key: str) -> None:
    trace = {
        "type": "trace",
        "trace_id": "t1",
        "name": "Coding",
        "group_id": "s-1",
        "metadata": {"user": "ada"},
    }
    answer = client.post("/ingest", json={key: [trace, span(id="a"), span(id="b", parent_id="a")]})
    assert answer.json() == {"success": True, "count": 3}
    found = tree(client, "t1")
    assert (found["name"], found["group_id"], found["metadata"]) == ("Coding", "s-1", {"user": "ada"})
    assert [(shown["span_id"], shown["depth"]) for shown in found["spans"]] == [("a", 0), ("b", 1)]


def test_one_bad_event_is_named_and_the_rest_is_taken(client: httpx2.Client) -> None:
    batch = [
        span(id="a"),
        {"type": "span", "trace_id": "t1"},
        span(id="b", started_at="yesterday"),
        span(id="c"),
    ]
    answer = client.post("/ingest", json={"batch": batch})
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "count": 2,
        "rejected": 2,
        "errors": [
            {"index": 1, "error": "span_id is missing"},
            {"index": 2, "error": "started_at is not a time: 'yesterday'"},
        ],
    }
    assert {shown["span_id"] for shown in tree(client, "t1")["spans"]} == {"a", "c"}


def test_nothing_but_bad_events_is_an_error_of_the_sender(client: httpx2.Client) -> None:
    for body in ({"type": "span"}, {"batch": [{"type": "metric", "trace_id": "t"}]}):
        answer = client.post("/ingest", json=body)
        assert answer.status_code == 400 and answer.json()["success"] is False
        assert answer.json()["errors"][0]["index"] == 0
    for content in (b"{", b"", b"\xff\xfe", b'"text"', b"7", b'{"batch": 3}'):
        answer = client.post("/ingest", content=content)
        assert answer.status_code == 400 and answer.json()["success"] is False, content
    assert client.get("/traces").json()["traces"] == []


def test_children_may_come_before_their_parents_and_parents_may_be_missing(client: httpx2.Client) -> None:
    client.post("/ingest", json=span(id="grandchild", parent_id="child"))
    client.post("/ingest", json=span(id="lost", parent_id="nowhere"))
    client.post("/ingest", json=span(id="child", parent_id="root"))
    first = {shown["span_id"]: shown for shown in tree(client, "t1")["spans"]}
    assert first["child"]["orphan"] and first["child"]["depth"] == 0
    client.post("/ingest", json=span(id="root", parent_id=None))
    places = {shown["span_id"]: (shown["depth"], shown["orphan"]) for shown in tree(client, "t1")["spans"]}
    assert places == {"root": (0, False), "child": (1, False), "grandchild": (2, False), "lost": (0, True)}


@pytest.mark.parametrize("end_first", [False, True])
def test_start_and_end_are_one_span(client: httpx2.Client, end_first: bool) -> None:
    start = span(name="summarize", kind="custom", started_at="2026-05-01T10:00:00Z", data={"messages": 12})
    end = span(ended_at="2026-05-01T12:00:02+02:00", status="error", data={"error": "timeout"})
    if not end_first:
        client.post("/ingest", json=start)
        assert client.get("/traces").json()["traces"][0]["status"] == "running"
        client.post("/ingest", json=end)
    else:
        client.post("/ingest", json=end)
        client.post("/ingest", json=start)
    found = tree(client, "t1")
    [shown] = found["spans"]
    assert (shown["name"], shown["duration_ms"], shown["status"]) == ("summarize", 2000.0, "error")
    assert shown["data"] == {"messages": 12, "error": "timeout"}
    assert (found["status"], found["span_count"], found["error_count"], found["running_count"]) == (
        "error",
        1,
        1,
        0,
    )


def test_a_span_that_has_not_ended_runs_though_its_sender_calls_it_ok(client: httpx2.Client) -> None:
    client.post("/ingest", json=span(started_at="2026-05-01T10:00:00Z", status="ok"))
    [shown] = tree(client, "t1")["spans"]
    assert shown["status"] == client.get("/spans/s1").json()["status"] == "running"
    client.post("/ingest", json=span(ended_at="2026-05-01T10:00:01Z", status="ok"))
    [shown] = tree(client, "t1")["spans"]
    assert shown["status"] == "ok"


def test_what_is_sent_twice_is_there_once(client: httpx2.Client) -> None:
    client.post("/ingest", json=span(name="once"))
    again = client.post("/ingest", json={"batch": [span(name="once"), span(name="once"), span(id="s2")]})
    assert again.json() == {"success": True, "count": 3, "duplicates": 2}
    assert client.get("/stats").json()["events"] == 2
    assert [event["span_id"] for _, event in followed(client, 2, after=0)] == ["s1", "s2"]


def test_a_reader_that_comes_back_gets_what_it_missed(client: httpx2.Client) -> None:
    client.post("/ingest", json={"batch": [span(id=f"s{number}") for number in range(5)]})
    missed = followed(client, 3, headers={"Last-Event-ID": "2"})
    assert [(sequence, event["span_id"]) for sequence, event in missed] == [(3, "s2"), (4, "s3"), (5, "s4")]


def test_a_reader_sees_what_it_asked_for(client: httpx2.Client) -> None:
    batch = [
        span("t1", "a", kind="llm", started_at="2026-05-01T10:00:00Z"),
        span("t1", "b", kind="tool", started_at="2026-05-01T11:00:00Z"),
        span("t2", "c", kind="llm", started_at="2026-05-01T12:00:00Z"),
        {"type": "trace", "trace_id": "t2", "name": "second"},
    ]
    client.post("/ingest", json={"batch": batch})

    def ids(count: int, **params: Any) -> list[str]:
        return [event.get("span_id", event["type"]) for _, event in followed(client, count, **params)]

    assert ids(2, after=0, traceId="t2") == ["c", "trace"]
    assert ids(3, after=0, kinds="llm, agent") == ["a", "c", "trace"]
    assert ids(3, since="2026-05-01T12:30:00+02:00") == ["b", "c", "trace"]
    assert client.get("/events", params={"since": "soon"}).status_code == 400


def test_without_more_a_reader_sees_what_comes_from_now_on(client: httpx2.Client) -> None:
    client.post("/ingest", json=span(id="before"))
    with client.stream("GET", "/events") as response:
        lines = response.iter_lines()
        next(lines)
        client.post("/ingest", json=span(id="after"))
        line = next(line for line in lines if line.startswith("data: ") and "connected" not in line)
    assert '"span_id":"after"' in line


def test_a_reader_that_left_before_anything_came_returns_without_a_gap(client: httpx2.Client) -> None:
    client.post("/ingest", json=span(id="before"))
    with client.stream("GET", "/events") as response:
        seen = next(line for line in response.iter_lines() if line.startswith("id: "))
    client.post("/ingest", json=span(id="meanwhile"))
    [(_, event)] = followed(client, 1, headers={"Last-Event-ID": seen.removeprefix("id: ")})
    assert event["span_id"] == "meanwhile"


def test_silence_is_filled_with_heartbeats(tmp_path: Path) -> None:
    with (
        trace_service(tmp_path / "traces.db", heartbeat_seconds=0.05) as client,
        client.stream("GET", "/events") as response,
    ):
        beats = [line for line, _ in zip(response.iter_lines(), range(12), strict=False) if line[:1] == ":"]
    assert len(beats) >= 2 and set(beats) == {": heartbeat"}


def test_health_is_told(client: httpx2.Client) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
