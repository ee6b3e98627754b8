"""What is known about the traces on screen, and how they look on a terminal."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compact.console.terminal import one_line
from compact.server.traces.event import TraceEvent
from compact.server.traces.fields import status
from compact.server.traces.merging import is_running, merged, state_of
from compact.server.traces.moments import micros, milliseconds
from compact.server.traces.tree import Placed, in_order

if TYPE_CHECKING:
    from rich.text import Text

MAX_TRACES = 50
MAX_SPANS = 1_000
"""Per trace; the oldest finished spans are dropped first."""
_HINTS = 3
_COLUMN, _NARROWEST = 56, 8
_TOOK = 13
"""Columns for a duration, with spaces around it and the mark for cut text."""
_DEEPEST = 12
_MARKS = {"ok": ("✓", "green"), "error": ("✗", "red"), "running": ("●", "yellow")}


@dataclass
class ShownTrace:
    trace_id: str
    name: str | None = None
    group_id: str | None = None
    spans: OrderedDict[str, TraceEvent] = field(default_factory=OrderedDict)
    forgotten: int = 0
    printed: set[str] = field(default_factory=set)
    touched: float = 0.0

    @property
    def fresh(self) -> bool:
        """Whether some of it has not been printed yet."""
        return any(id not in self.printed for id in self.spans)

    @property
    def running(self) -> bool:
        return any(is_running(span) for span in self.spans.values())

    @property
    def title(self) -> str:
        named = self.name or next(
            (s.name for s in self.spans.values() if s.parent_id is None and s.name), None
        )
        return one_line(named or self.trace_id, 80)

    def add(self, event: TraceEvent) -> None:
        self.touched = time.monotonic()
        self.group_id = event.group_id or self.group_id
        if event.span_id is None:
            self.name = event.name or self.name
            return
        self.spans[event.span_id] = merged(self.spans.get(event.span_id), event)
        self.printed.discard(event.span_id)
        if len(self.spans) > MAX_SPANS:
            done = next(
                (id for id, span in self.spans.items() if not is_running(span)), next(iter(self.spans))
            )
            del self.spans[done]
            self.printed.discard(done)
            self.forgotten += 1


class Traces:
    """The newest traces, up to a limit."""

    def __init__(self) -> None:
        self.all: OrderedDict[str, ShownTrace] = OrderedDict()
        self.passed = 0
        """Traces that were dropped before they could be printed."""

    def known(self, trace_id: str) -> bool:
        return trace_id in self.all

    def seed(self, found: Mapping[str, Any]) -> None:
        """Add what the service has about a trace that began earlier."""
        trace = self._trace(str(found["trace_id"]))
        trace.name, trace.group_id = found.get("name"), found.get("group_id")
        for raw in found.get("spans", ()):
            event = event_from(raw | {"trace_id": trace.trace_id})
            trace.spans[raw["span_id"]] = event
            trace.printed.add(raw["span_id"])

    def add(self, event: TraceEvent) -> ShownTrace:
        trace = self._trace(event.trace_id)
        trace.add(event)
        self.all.move_to_end(event.trace_id)
        return trace

    def _trace(self, trace_id: str) -> ShownTrace:
        if trace_id not in self.all:
            self.all[trace_id] = ShownTrace(trace_id)
            while len(self.all) > MAX_TRACES:
                _, oldest = self.all.popitem(last=False)
                self.passed += oldest.fresh
        return self.all[trace_id]


def event_from(raw: Mapping[str, Any]) -> TraceEvent:
    """An event as the service sends it, in its stream or its read API."""
    state = raw.get("status")
    return TraceEvent(
        trace_id=str(raw.get("trace_id")),
        span_id=raw.get("span_id"),
        parent_id=raw.get("parent_id"),
        kind=raw.get("kind"),
        name=raw.get("name"),
        group_id=raw.get("group_id"),
        started=micros(raw.get("started_at")),
        ended=micros(raw.get("ended_at")),
        status=None if state == "running" else status(state),
        data=raw.get("data"),
    )


def length(span: TraceEvent, now: int) -> str:
    """How long it took, or has been running."""
    if span.started is None:
        return ""
    taken = milliseconds(span.started, span.ended if span.ended is not None else now)
    return "" if taken is None else duration(taken)


def duration(ms: float) -> str:
    if ms < 1:
        return "<1 ms" if ms > 0 else "0 ms"
    if ms < 1_000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.2f} s"
    minutes, seconds = divmod(round(ms / 1_000), 60)
    return f"{minutes} min {seconds:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def hints(span: TraceEvent) -> str:
    """A few short facts from its data: what a reader would look for first."""
    found = []
    error = (span.data or {}).get("error")
    if isinstance(error, Mapping):
        error = error.get("message")
    if isinstance(error, str) and error:
        found.append(one_line(error, 80))
    for key, value in (span.data or {}).items():
        if key == "error":
            continue
        if isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= 40):
            shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
            found.append(f"{one_line(str(key), 30)}={one_line(shown, 40)}")
        if len(found) >= _HINTS:
            break
    return " ".join(found)


def drawn(trace: ShownTrace, width: int, only_new: bool = False) -> list[Text]:
    """A trace as lines: its title, then its spans. Parents of new spans are drawn too.

    In a narrow terminal names are cut, so that durations stay visible.
    """
    from rich.text import Text

    now = time.time_ns() // 1_000
    places = list(in_order(trace.spans))
    if only_new:
        wanted = {id for id in trace.spans if id not in trace.printed}
        for place in reversed(places):
            if place.span.span_id in wanted and place.span.parent_id in trace.spans:
                wanted.add(str(place.span.parent_id))
        places = [place for place in places if place.span.span_id in wanted]
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append(trace.title, "bold")
    count = len(trace.spans) + trace.forgotten
    facts = [trace.group_id, f"{count:,} span{'' if count == 1 else 's'}", _total(trace, now)]
    title.append("  " + " · ".join(one_line(fact, 60) for fact in facts if fact), "dim")
    labels = [_label(place, branch) for place, branch in zip(places, _branches(places), strict=True)]
    longest = max((label.cell_len for label in labels), default=0)
    column = min(longest, _COLUMN, max(_NARROWEST, width - _TOOK))
    return [
        title,
        *(_span_line(place, label, column, now) for place, label in zip(places, labels, strict=True)),
    ]


def _branches(places: Sequence[Placed]) -> list[str]:
    """The tree lines before each span, computed from the bottom, because only there a branch ends."""
    open_at: set[int] = set()
    found = []
    for place in reversed(places):
        depth = min(place.depth, _DEEPEST)
        ancestors = "".join("│  " if level in open_at else "   " for level in range(1, depth))
        own = ("├─ " if depth in open_at else "└─ ") if depth else ""
        found.append(ancestors + own)
        open_at = {level for level in open_at if level < depth} | {depth}
    return found[::-1]


def _label(place: Placed, branch: str) -> Text:
    from rich.text import Text

    span = place.span
    mark, style = _MARKS[state_of(span)]
    label = Text(f" {branch}", "dim")
    label.append(f"{mark} ", style)
    name = span.name or span.kind or span.span_id or "?"
    label.append(one_line(name, 80), "bold" if place.depth == 0 else "")
    # `compact.lease` is of kind `lease`: once is enough.
    if span.kind and span.kind != name.rpartition(".")[2]:
        label.append(f"  {one_line(span.kind, 24)}", "cyan")
    return label


def _span_line(place: Placed, label: Text, column: int, now: int) -> Text:
    from rich.text import Text

    label.truncate(column, overflow="ellipsis", pad=True)
    line = Text(no_wrap=True, overflow="ellipsis").append_text(label)
    state = state_of(place.span)
    line.append(f"  {length(place.span, now):>9}", _MARKS[state][1] if state != "ok" else "")
    if facts := hints(place.span):
        line.append(f"  {facts}", "dim")
    return line


def _total(trace: ShownTrace, now: int) -> str:
    starts = [span.started for span in trace.spans.values() if span.started is not None]
    ends = [span.ended for span in trace.spans.values() if span.ended is not None]
    if not starts or not (ends or trace.running):
        return ""
    return duration(milliseconds(min(starts), now if trace.running else max(ends)) or 0.0)
