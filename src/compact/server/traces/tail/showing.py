"""`compact traces --tail`: a live tree on a terminal, plain lines elsewhere, or JSON."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from compact.console.context import Context, to_json
from compact.console.exits import ExitCode
from compact.console.terminal import one_line
from compact.errors import ConfigError, MissingExtra
from compact.server.traces.event import TraceEvent
from compact.server.traces.merging import state_of
from compact.server.traces.moments import iso, micros, milliseconds
from compact.server.traces.settings import PORT
from compact.server.traces.tail.client import Background, TraceClient, Update
from compact.server.traces.tail.view import ShownTrace, Traces, drawn, duration, event_from, hints

if TYPE_CHECKING:
    from rich.console import Console

_SETTLED = 1.5
"""Seconds of quiet after which a trace with nothing running is printed for the last time."""
_STALE = 120.0
"""The same if something still seems to run: its program may have ended without reporting it."""
_TICK = 0.2
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def tail(context: Context, token: str | None) -> ExitCode:
    args = context.args
    client = TraceClient(args.url or f"http://127.0.0.1:{PORT}", token)
    wanted = {"traceId": args.trace, "kinds": args.kinds, "since": since(args.since)}
    updates = client.follow({key: value for key, value in wanted.items() if value})
    try:
        if args.json:
            _json_lines(context, client, updates)
        elif context.out.terminal:
            _live(context, client, updates)
        else:
            _plain_lines(context, client, updates)
    except KeyboardInterrupt:
        context.note("")
    return ExitCode.OK


def since(text: str | None) -> str | None:
    """A time in the service's form; `10m` means ten minutes ago."""
    if not text:
        return None
    if ago := _AGO.fullmatch(text.strip()):
        seconds = float(ago[1]) * _UNITS[ago[2]]
        return iso(int((time.time() - seconds) * 1_000_000))
    try:
        return iso(micros(text))
    except (ValueError, OverflowError):
        raise ConfigError(f"--since {text!r} is neither a time nor an age such as 10m.", "since") from None


class _Connection:
    """Reports on standard error when the service appears or disappears, once each time."""

    def __init__(self, client: TraceClient) -> None:
        self._client = client
        self._before: bool | None = None

    def note(self, update: Update) -> str:
        if update.connected == self._before:
            return ""
        first, self._before = self._before is None, update.connected
        if update.connected:
            return f"following {self._client.url}{'' if first else ' again'} (Ctrl-C ends)"
        if first:
            return f"no trace service answers at {self._client.url} yet; waiting (start one: compact traces)"
        return "the service is gone; trying again"


def _json_lines(context: Context, client: TraceClient, updates: Iterator[Update]) -> None:
    connection = _Connection(client)
    for item in updates:
        if item.event is None:
            if note := connection.note(item):
                context.note(note)
            continue
        context.out.line(to_json({"sequence": item.sequence, **item.event}))
        context.out.stream.flush()


def _plain_lines(context: Context, client: TraceClient, updates: Iterator[Update]) -> None:
    connection, traces = _Connection(client), Traces()
    for item in updates:
        if item.event is None:
            if note := connection.note(item):
                context.note(note)
            continue
        event = event_from(item.event)
        _seed(traces, client, event)
        trace = traces.add(event)
        if event.span_id is not None:
            span = trace.spans.get(event.span_id, event)
            context.out.line(_plain(context, trace.title, span))
            context.out.stream.flush()


def _plain(context: Context, title: str, span: TraceEvent) -> str:
    at = span.ended if span.ended is not None else span.started
    clock = "--:--:--.---"
    if at is not None:
        clock = datetime.fromtimestamp(at / 1e6, UTC).astimezone().strftime("%H:%M:%S.%f")[:12]
    taken = milliseconds(span.started, span.ended)
    shown = "" if taken is None else duration(taken)
    name = one_line(span.name or span.kind or span.span_id or "?", 80)
    return f"{clock}  {state_of(span):<7}  {shown:>9}  {title} > {name}  {hints(span)}".rstrip()


def _seed(traces: Traces, client: TraceClient, event: TraceEvent) -> None:
    """Load the name and parents of a trace that began before we connected; only the service knows them."""
    begun_before = event.span_id is not None and not traces.known(event.trace_id)
    if begun_before and (found := client.trace(event.trace_id)):
        traces.seed(found)


def _live(context: Context, client: TraceClient, updates: Iterator[Update]) -> None:
    try:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.text import Text
    except ImportError:
        raise MissingExtra("rich", "traces") from None
    console = Console(
        file=context.out.stream, highlight=False, force_terminal=True, no_color=not context.out.color
    )
    connection, traces, state = _Connection(client), Traces(), "connecting"
    incoming = Background(updates)
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        while True:
            for item in incoming.take(_TICK):
                if item.event is None:
                    state = connection.note(item) or state
                    continue
                event = event_from(item.event)
                _seed(traces, client, event)
                traces.add(event)
            open_now = [trace for trace in traces.all.values() if trace.fresh]
            for trace in [trace for trace in open_now if _is_settled(trace)]:
                print_for_good(console, trace)
                open_now.remove(trace)
            room = max(1, console.height - 2)
            lines: list[Text] = []
            for trace in reversed(open_now):
                # Newest at the bottom; what does not fit is not drawn at all.
                if len(lines) < room:
                    lines = drawn(trace, console.width) + lines
            if len(lines) > room:
                lines = [Text("… more above", "dim"), *lines[len(lines) - room + 1 :]]
            passed = f"{context.out.dot}{traces.passed:,} traces went by too fast" if traces.passed else ""
            said = Text(state + passed, "dim", no_wrap=True, overflow="ellipsis")
            live.update(Group(*lines, said), refresh=True)


def print_for_good(console: Console, trace: ShownTrace) -> None:
    from rich.console import Group

    # A group keeps its lines separate: joined into one text they would wrap and break the tree.
    console.print(Group(*drawn(trace, console.width, only_new=True)))
    trace.printed = set(trace.spans)


def _is_settled(trace: ShownTrace) -> bool:
    return time.monotonic() - trace.touched > (_STALE if trace.running else _SETTLED)
