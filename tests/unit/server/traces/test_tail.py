"""What `compact traces --tail` makes of the stream."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.console import Console

from compact.errors import ConfigError, StoreError
from compact.server.traces.event import TraceEvent
from compact.server.traces.tail.client import Background, TraceClient, Update, events
from compact.server.traces.tail.showing import print_for_good, since
from compact.server.traces.tail.view import (
    MAX_SPANS,
    MAX_TRACES,
    ShownTrace,
    Traces,
    drawn,
    duration,
    event_from,
    hints,
)

SECOND = 1_000_000


def text(trace: ShownTrace, only_new: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    for line in drawn(trace, console.width, only_new):
        console.print(line)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def span(id: str, parent: str | None = None, **fields: Any) -> TraceEvent:
    return TraceEvent("t", id, parent, **fields)


def test_a_tree_shows_marks_durations_and_facts() -> None:
    traces, failure = Traces(), {"error": {"message": "no file"}}
    for event in (
        TraceEvent("t", name="Parcels", group_id="session-1"),
        span("a", name="coder", kind="agent", started=0, ended=5 * SECOND),
        span("b", "a", name="gpt-4o", kind="generation", started=1, ended=425_001, data={"tokens": 121_400}),
        span("c", "b", name="inner", started=2, ended=2),
        span("d", "a", name="read", started=3, ended=200_003, status="error", data=failure),
        span("e", "d", name="leaf", started=4),
        span("f", "lost", name="orphan"),
    ):
        trace = traces.add(event)
    lines = text(trace)
    assert lines[0].startswith("Parcels  session-1 · 6 spans")
    assert [line.split("  ")[0] for line in lines[1:]] == [
        " ✓ coder",
        " ├─ ✓ gpt-4o",
        " │",
        " └─ ✗ read",
        "",
        " ✓ orphan",
    ]
    assert lines[2].endswith("425 ms  tokens=121,400") and lines[3].startswith(" │  └─ ✓ inner")
    assert lines[4].endswith("200 ms  no file") and lines[5].startswith("    └─ ● leaf")


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("compact.lease", "lease", " ✓ compact.lease"),
        ("lease", "lease", " ✓ lease"),
        (None, "lease", " ✓ lease"),
        ("compact.lease", "custom", " ✓ compact.lease  custom"),
    ],
)
def test_a_kind_that_the_name_tells_is_not_told_again(name: str | None, kind: str, shown: str) -> None:
    lines = text(Traces().add(span("a", name=name, kind=kind, started=0, ended=2_000)))
    assert lines[1] == f"{shown}       2 ms"


def test_what_was_printed_is_not_printed_again() -> None:
    trace = ShownTrace("t")
    for number in range(3):
        trace.add(span(f"old{number}", "root", name=f"old{number}"))
    trace.add(span("root", name="root"))
    trace.printed = set(trace.spans)
    trace.add(span("new", "old1", name="new"))
    assert [line.split()[-1] for line in text(trace, only_new=True)[1:]] == ["root", "old1", "new"]


def test_what_stays_on_a_narrow_terminal_has_one_line_a_span() -> None:
    traces, told = Traces(), {"path": "billing/rounding.py", "old": "x" * 30, "new": "y" * 30}
    for number in range(5):
        trace = traces.add(span(f"s{number}", name="edit_file", kind="function", started=1, data=told))
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    print_for_good(console, trace)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 6 and all(line.startswith(" ● edit_file") for line in lines[1:])
    assert not trace.fresh


def test_a_narrow_terminal_shows_how_long_each_span_took() -> None:
    name = "a_function_whose_name_alone_would_fill_the_line"
    trace = Traces().add(span("a", name=name, started=0, ended=3 * SECOND, data={"tokens": 5}))
    console = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    print_for_good(console, trace)
    assert isinstance(console.file, io.StringIO)
    [_, line] = console.file.getvalue().splitlines()
    assert line.startswith(" ✓ a_function") and "3.00 s" in line


def test_a_terminal_is_not_played_tricks_on() -> None:
    trace = ShownTrace("t\x1b]0;owned\x07")
    trace.add(span("a", name="\x1b[2Jboo\nboo [red]", kind="\x07kind", data={"k\x1b[1m": "v\r\x1b[31m"}))
    shown = "\n".join(text(trace))
    assert "\x1b" not in shown and "\x07" not in shown and "\r" not in shown
    assert "boo boo [red]" in shown and "k=v" in shown


def test_memory_is_bounded_whatever_goes_by() -> None:
    traces = Traces()
    for number in range(MAX_TRACES * 3):
        traces.add(TraceEvent(f"t{number}", "s"))
    assert traces.passed == MAX_TRACES * 2
    assert len(traces.all) == MAX_TRACES and traces.known(f"t{MAX_TRACES * 3 - 1}")
    trace = ShownTrace("t")
    trace.add(span("running", name="r", started=int(time.time() * SECOND)))
    for number in range(MAX_SPANS + 50):
        trace.add(span(str(number)))
    assert len(trace.spans) == MAX_SPANS and "running" in trace.spans and trace.forgotten == 51
    assert f"{MAX_SPANS + 51:,} spans" in text(trace)[0]


def test_a_trace_that_was_under_way_is_known_from_the_service() -> None:
    traces = Traces()
    shown = {
        "span_id": "a",
        "parent_id": None,
        "name": "root",
        "status": "running",
        "started_at": "2026-05-01T12:00:00Z",
    }
    traces.seed({"trace_id": "t", "name": "Run", "group_id": "g", "spans": [shown]})
    traces.add(
        event_from({"type": "span", "trace_id": "t", "span_id": "a", "ended_at": "2026-05-01T12:00:02Z"})
    )
    assert text(traces.all["t"])[1].split() == ["✓", "root", "2.00", "s"]


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0 ms"),
        (0.4, "<1 ms"),
        (12.4, "12 ms"),
        (1_234, "1.23 s"),
        (65_000, "1 min 05 s"),
        (7_500_000, "2 h 05 min"),
    ],
)
def test_durations_read_well(ms: float, shown: str) -> None:
    assert duration(ms) == shown


def test_only_short_facts_are_hinted_at() -> None:
    data = {"long": "x" * 50, "list": [1], "a": True, "b": 0.5, "c": "yes", "d": 4}
    assert hints(span("s", data=data)) == "a=True b=0.5 c=yes"
    assert hints(span("s")) == ""


@pytest.mark.parametrize(("age", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7_200), ("1d", 86_400)])
def test_since_takes_ages(age: str, seconds: int) -> None:
    from compact.server.traces.moments import micros

    moment = micros(since(age))
    assert moment is not None and abs(time.time() - seconds - moment / SECOND) < 60


def test_since_takes_times_and_nothing_else() -> None:
    assert since(None) is None
    assert since("2026-05-01T14:00:00+02:00") == "2026-05-01T12:00:00.000000Z"
    with pytest.raises(ConfigError, match="10m"):
        since("yesterday")


def test_messages_are_read_as_the_stream_sends_them() -> None:
    sent = 'retry: 1000|data: {"type":"connected","sequence":4}||: heartbeat|id: 7||'
    sent += 'id: 8|data: {"a":1}||data: [1]||'
    assert list(events(iter(sent.split("|")))) == [
        (0, {"type": "connected", "sequence": 4}),
        (7, None),
        (8, {"a": 1}),
        (8, None),
    ]


def test_a_stream_read_in_the_background_raises_what_it_met() -> None:
    def told() -> Any:
        yield Update(1, {"a": 1})
        raise StoreError("no service")

    stream = Background(told())
    with pytest.raises(StoreError, match="no service"):
        for _ in range(100):
            assert [item.sequence for item in stream.take(1.0)] in ([1], [])


def test_what_is_no_trace_service_is_not_followed(tmp_path: Any) -> None:
    from support.trace_service import trace_service

    with trace_service(tmp_path / "traces.db", token="a token") as client:
        url = str(client.base_url)
        with pytest.raises(ConfigError, match="token"):
            list(TraceClient(url, "another").follow({}))
        with pytest.raises(StoreError, match="not a trace service"):
            list(TraceClient(f"{url}/elsewhere", "a token").follow({}))
        assert next(TraceClient(url, "a token").follow({})).connected
    waiting = TraceClient(url, "a token").follow({}, pauses=(0.0,))
    assert not next(waiting).connected
