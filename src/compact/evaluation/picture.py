"""Survival against the share of tokens kept, one line per preset, drawn as SVG by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

from compact.evaluation.contestants import TAIL
from compact.evaluation.results import Outcome
from compact.evaluation.scoring import Score
from compact.evaluation.table import percent

# Distinct even with color blindness: hues of equal contrast, each with its own marker shape.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#a3508a", "#b8860b", "#2f9fd0")
_BASELINE_COLOR = "#6b6b6b"
_MARKS = ("circle", "square", "triangle", "diamond", "cross", "down")
_LOWER_CROSS = ((5, 2), (2, 2), (2, 5), (-2, 5), (-2, 2), (-5, 2))
_INK, _SOFT, _GRID = "#1f2328", "#57606a", "#e3e6ea"

_WIDTH, _PANEL_HEIGHT = 1_000, 320
_LEFT, _TOP, _BOTTOM, _GAP, _RIGHT = 70, 126, 64, 92, 28
_COLUMNS, _ROW_GAP = 2, 30
_SCALES = (0.75, 1.35)
"""Sizes of the marks for the smallest and the largest window."""
TITLE = "Survival of probes against the share of tokens kept"
_HOW_TO_READ = "higher and further left is better · larger marks, larger windows"


@dataclass(frozen=True, slots=True)
class Point:
    kept: float
    survival: float
    tip: str
    """Shown when the pointer hovers over the point."""
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    probes: int
    lines: dict[str, list[Point]]


def draw(outcomes: Sequence[Outcome], subtitle: str = "") -> str:
    """The picture as SVG text, with one panel for each kind of fact."""
    panels = panels_of(outcomes)
    names = list(dict.fromkeys(outcome.preset for outcome in outcomes))
    columns = max(1, min(_COLUMNS, len(panels)))
    room = (_WIDTH - _LEFT - _RIGHT - (columns - 1) * _GAP) / columns
    row_height = _PANEL_HEIGHT + _BOTTOM + _ROW_GAP
    height = _TOP + max(1, -(-len(panels) // columns)) * row_height - _ROW_GAP
    body = [
        _text(_LEFT, 30, "What survives compaction", size=18, weight="600"),
        _text(_LEFT, 51, subtitle, size=12, fill=_SOFT),
        _text(_WIDTH - _RIGHT, 30, _HOW_TO_READ, size=12, fill=_SOFT, anchor="end"),
        *_legend(names, _LEFT, 76),
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        body += _panel(panel, names, _LEFT + column * (room + _GAP), _TOP + row * row_height, room)
    if not panels:
        body.append(_text(_LEFT, _TOP + 40, "Nothing that could be measured was compacted.", size=13))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" role="img" '
            'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
            f"<title>{TITLE}</title>",
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def panels_of(outcomes: Iterable[Outcome]) -> list[Panel]:
    """Points are means over probes, on both axes: conversations are weighted by their number of probes."""
    outcomes = list(outcomes)
    hard = any(outcome.hard.of for outcome in outcomes)
    kinds: list[tuple[str, Callable[[Outcome], Score]]] = [
        ("Hard identifiers", lambda outcome: outcome.hard)
        if hard
        else ("Identifiers", lambda outcome: outcome.identifiers),
        ("Questions", lambda outcome: outcome.questions),
        ("User's words", lambda outcome: outcome.words),
        ("Conclusions", lambda outcome: outcome.conclusions),
    ]
    panels = [
        Panel(title, _most_probes(outcomes, score_of), _lines(outcomes, score_of))
        for title, score_of in kinds
    ]
    return [panel for panel in panels if panel.lines]


def _most_probes(outcomes: Sequence[Outcome], score_of: Callable[[Outcome], Score]) -> int:
    """Probes behind a point; with windows in tokens this varies, because what fits is skipped."""
    counts: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        counts[outcome.preset, outcome.window] += score_of(outcome).of
    return max(counts.values(), default=0)


def _lines(outcomes: Sequence[Outcome], score_of: Callable[[Outcome], Score]) -> dict[str, list[Point]]:
    grouped: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        if score_of(outcome).of:
            grouped.setdefault(outcome.preset, {}).setdefault(outcome.window, []).append(outcome)
    lines: dict[str, list[Point]] = {}
    order = list(dict.fromkeys(outcome.window for outcome in outcomes))
    for preset, windows in grouped.items():
        points = [
            _point(preset, window, among, score_of, _scale(order.index(window), len(order)))
            for window, among in windows.items()
        ]
        found = [point for point in points if point is not None]
        if found:
            lines[preset] = sorted(found, key=lambda point: point.kept)
    return lines


def _scale(number: int, count: int) -> float:
    """The size of the marks for this window; a single window has marks as in the legend."""
    small, large = _SCALES
    return small + (large - small) * number / (count - 1) if count > 1 else 1.0


def _point(
    preset: str, window: str, among: Sequence[Outcome], score_of: Callable[[Outcome], Score], scale: float
) -> Point | None:
    weighted = [(kept, score_of(outcome).of) for outcome in among if (kept := outcome.kept) is not None]
    if not weighted:
        return None
    kept = sum(share * weight for share, weight in weighted) / sum(weight for _, weight in weighted)
    survival = sum((score_of(outcome) for outcome in among), Score()).share or 0.0
    tip = f"{preset}, window {window}: {percent(survival)} survive with {percent(kept)} of the tokens"
    return Point(kept, survival, tip, scale)


def _panel(panel: Panel, names: Sequence[str], left: float, top: float, width: float) -> list[str]:
    widest = max(point.kept for points in panel.lines.values() for point in points)
    step = 0.02 if widest <= 0.1 else 0.05 if widest <= 0.25 else 0.1 if widest <= 0.6 else 0.2
    limit = step * max(1, ceil(round(widest * 1.02 / step, 6)))
    bottom = top + _PANEL_HEIGHT

    def x(share: float) -> float:
        return left + share / limit * width

    def y(share: float) -> float:
        return bottom - share * _PANEL_HEIGHT

    drawn = [_text(left, top - 12, f"{panel.title} ({panel.probes:,} probes)", size=13, weight="600")]
    for tenth in range(0, 11, 2):
        at = y(tenth / 10)
        drawn.append(_rule(left, at, left + width, at, _SOFT if tenth == 0 else _GRID))
        drawn.append(_text(left - 8, at + 4, f"{tenth * 10}%", size=11, fill=_SOFT, anchor="end"))
    for number in range(round(limit / step) + 1):
        at = x(number * step)
        drawn.append(_rule(at, top, at, bottom, _SOFT if number == 0 else _GRID))
        share = f"{round(number * step * 100)}%"
        drawn.append(_text(at, bottom + 17, share, size=11, fill=_SOFT, anchor="middle"))
    middle = left + width / 2
    drawn.append(_text(middle, bottom + 42, "share of tokens kept", size=12, anchor="middle"))
    across = top + _PANEL_HEIGHT / 2
    turned = f'transform="rotate(-90 {left - 48:.1f} {across:.1f})"'
    drawn.append(_text(left - 48, across, "probes that survive", size=12, anchor="middle", more=turned))
    # The baseline is drawn first, below what it is compared with; large marks below small ones.
    ordered = sorted(panel.lines, key=lambda name: name != TAIL)
    drawn += [
        _polyline([(x(point.kept), y(point.survival)) for point in panel.lines[name]], name, names)
        for name in ordered
    ]
    marks = [(point, name) for name in ordered for point in panel.lines[name]]
    drawn += [
        _mark(x(point.kept), y(point.survival), name, names, point.tip, point.scale)
        for point, name in sorted(marks, key=lambda mark: -mark[0].scale)
    ]
    return drawn


def _legend(names: Sequence[str], left: float, at: float) -> list[str]:
    drawn = []
    for name in names:
        label = f"{name} (newest messages only)" if name == TAIL else name
        drawn.append(_polyline([(left, at), (left + 26, at)], name, names))
        drawn.append(_mark(left + 13, at, name, names))
        drawn.append(_text(left + 33, at + 4, label, size=12))
        left += 33 + 7 * len(label) + 22
    return drawn


def _color(name: str, names: Sequence[str]) -> str:
    return _BASELINE_COLOR if name == TAIL else _COLORS[names.index(name) % len(_COLORS)]


def _polyline(points: Sequence[tuple[float, float]], name: str, names: Sequence[str]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = ' stroke-dasharray="5 4"' if name == TAIL else ""
    color = _color(name, names)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dashed}/>'


def _mark(x: float, y: float, name: str, names: Sequence[str], tip: str = "", scale: float = 1.0) -> str:
    kind = _MARKS[names.index(name) % len(_MARKS)]
    color = _color(name, names)
    title = f"<title>{escape(tip)}</title>" if tip else ""
    style = f'fill="{color}" stroke="#ffffff" stroke-width="1"'
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4.5 * scale:.1f}" {style}>{title}</circle>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5.5), (5, 4), (-5, 4)),
        "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        "cross": ((-5, -2), (-2, -2), (-2, -5), (2, -5), (2, -2), (5, -2), *_LOWER_CROSS),
        "down": ((0, 5.5), (5, -4), (-5, -4)),
    }[kind]
    path = " ".join(f"{x + dx * scale:.1f},{y + dy * scale:.1f}" for dx, dy in corners)
    return f'<polygon points="{path}" {style}>{title}</polygon>'


def _rule(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    fill: str = _INK,
    weight: str = "400",
    anchor: str = "start",
    more: str = "",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}" {more}>{escape(text)}</text>'
    )
