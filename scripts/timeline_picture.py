"""Draws docs/images/timeline.svg from the events of a real run.

    python scripts/timeline_picture.py [output]

Above: how full the window is at each call of the model, and where it was compacted. Below: the spans of one
compaction, as a trace viewer shows them.
"""

from __future__ import annotations

import random
import sys
import time
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compact import CompactConfig, CompactManager
from compact.model.event import Event, EventName
from compact.tracing.spans import COMPACTION, Span, Spans

OUTPUT = Path(__file__).parents[1] / "docs/images/timeline.svg"
WIDTH, LEFT, RIGHT = 1_000, 200, 30
INK, SOFT, GRID, BLUE, ORANGE, GREEN = "#1f2328", "#57606a", "#e3e6ea", "#0072b2", "#d55e00", "#009e73"
COLORS = {"compact.summary_created": ORANGE, "compact.archival": GREEN, COMPACTION: INK}
WORDS = "module test config parser socket retry session handler import cache index query schema".split()


def session(folder: str, calls: int = 90) -> list[Event]:
    """An agent that reads files, through a window of 16,000 tokens, with the embedded summarizer."""
    dice = random.Random(11)
    config = CompactConfig(max_context_tokens=16_000, archive={"adapter": "fs", "path": folder})
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful engineer."},
        {"role": "user", "content": "Find out why the nightly build fails, and mend it."},
    ]
    with CompactManager(config) as manager:
        for number in range(calls):
            messages = manager.preflight("nightly-build", messages)
            time.sleep(0.01)  # The model thinks.
            path = f"src/{dice.choice(WORDS)}/{dice.choice(WORDS)}_{number}.py"
            function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            lines = [f"def {dice.choice(WORDS)}_{n}(): return {n}" for n in range(dice.randint(20, 70))]
            messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "\n".join(lines)})
        return list(manager.events)


def main() -> None:
    with TemporaryDirectory() as folder:
        events = session(folder)
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    output.write_text(draw(events), encoding="utf-8")


def draw(events: list[Event]) -> str:
    body = [*_usage(events, 60, 150), *_spans(events, 290)]
    height = 290 + 6 * 34 + 10
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" font-family="system-ui, sans-serif" role="img">',
            "<title>A session and one of its compactions, as events tell them</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def _usage(events: list[Event], top: int, height: int) -> list[str]:
    """The share of the window at each call, and the drop at each compaction."""
    asked = [event for event in events if event.name is EventName.TOKEN_ESTIMATE]
    room = WIDTH - LEFT - RIGHT

    def x(number: float) -> float:
        return LEFT + room * number / (len(asked) - 1)

    def y(percent: float) -> float:
        return top + height * (1 - percent / 100)

    parts = [_text(LEFT, 34, "How full the window is, call by call", 16, weight="600")]
    for percent in (0, 50, 85, 100):
        dash = ' stroke-dasharray="5 4"' if percent == 85 else ""
        parts.append(
            _line(LEFT, y(percent), WIDTH - RIGHT, y(percent), GRID if percent != 85 else ORANGE, dash)
        )
        label = f"{percent} %" + (" (trigger)" if percent == 85 else "")
        parts.append(_text(LEFT - 10, y(percent) + 4, label, 12, SOFT, "end"))
    points, number = [], -1
    for event in events:
        if event.name is EventName.TOKEN_ESTIMATE:
            number += 1
            points.append((x(number), y(event.data["usage_pct"])))
        elif event.name is EventName.COMPLETE:
            told = f"{event.data['tokensBefore']:,} → {event.data['tokensAfter']:,} tokens"
            after = 100 * event.data["tokensAfter"] / 16_000
            points.append((x(number), y(after)))
            mark = f'<circle cx="{x(number):.1f}" cy="{y(after):.1f}" r="5" fill="{ORANGE}">'
            parts.append(f"{mark}<title>compaction {event.step}: {told}</title></circle>")
            parts.append(_text(x(number) + 9, y(after) + 5, f"#{event.step}", 12, ORANGE))
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    parts.insert(1, f'<polyline points="{path}" fill="none" stroke="{BLUE}" stroke-width="2"/>')
    parts.append(_text(WIDTH - RIGHT, top + height + 20, f"{len(asked)} calls of the model", 12, SOFT, "end"))
    return parts


def _spans(events: list[Event], top: int) -> list[str]:
    """The spans of the second compaction: the first loads what later ones find loaded."""
    projected, ended = Spans(), list[Span]()
    for event in events:
        ended += [span for span in projected.of(event) if span.ended is not None]
    whole = [span for span in ended if span.name == COMPACTION][1]
    rows = [whole, *(span for span in ended if span.parent is whole)]
    assert whole.ended is not None
    scale = (WIDTH - LEFT - RIGHT - 180) / (whole.ended - whole.started)
    data = whole.data
    told = f"{data['tokensBefore']:,} → {data['tokensAfter']:,} tokens"
    parts = [_text(LEFT, top - 26, f"Compaction {data['step']}: {told}", 16, weight="600")]
    for number, span in enumerate(rows):
        assert span.ended is not None
        y = top + number * 34
        x = LEFT + (span.started - whole.started) * scale
        width = max(3.0, (span.ended - span.started) * scale)
        color = COLORS.get(span.name, BLUE)
        indent = 0 if span is whole else 14
        name = escape(span.name.removeprefix("compact."))
        parts.append(_text(14 + indent, y + 16, name, 13, INK if span is whole else SOFT))
        title = f"<title>{name}: {_said(span)}</title>"
        place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="22" rx="3"'
        parts.append(f'<rect {place} fill="{color}">{title}</rect>')
        parts.append(_text(x + width + 8, y + 16, _said(span), 12, SOFT))
    return parts


def _said(span: Span) -> str:
    assert span.ended is not None
    took = f"{1000 * (span.ended - span.started):.1f} ms"
    data = span.data
    match span.name:
        case "compact.token_estimate":
            return f"{data['usage_pct']:.1f} % of the window"
        case "compact.trigger_decision":
            return f"{data['reason']}: {data['pruned_count']} messages go"
        case "compact.summary_created":
            return f"{took} for {data['summary_tokens']:,} tokens"
        case "compact.pruned_messages":
            return f"{data['recent']} messages stay"
        case _:
            return took


def _text(
    x: float, y: float, said: str, size: int, fill: str = INK, anchor: str = "start", weight: str = ""
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"{bold}>'
        f"{escape(said)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str, dash: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{dash}/>'


if __name__ == "__main__":
    main()
