"""A trace of a chat is named by the chat's title, once that is known."""

from __future__ import annotations

import json

from compact.model.event import Event, EventName
from compact.tracing.ariadne import AriadneExporter

RECALL = (EventName.RECALL, {"query": "q", "found": []})
TITLE = (EventName.TITLE, {"title": "Moving house"})


def sent(*events: tuple[EventName, dict[str, object]]) -> list[str]:
    """The names of the records that wait to be sent."""
    exporter = AriadneExporter("http://127.0.0.1:9")
    for number, (name, data) in enumerate(events, 1):
        exporter.export(Event(name, "s1", number, float(number), data))
    return [json.loads(record)["name"] for record in exporter._waiting]


def test_a_title_names_the_trace_before_and_after_its_first_span() -> None:
    assert sent(RECALL, TITLE, RECALL) == ["compact s1", "compact.recall", "Moving house", "compact.recall"]
    assert sent(TITLE, RECALL, RECALL) == ["Moving house", "compact.recall", "compact.recall"]


def test_a_title_alone_makes_no_trace() -> None:
    assert sent(TITLE) == []
