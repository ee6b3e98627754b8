"""The results as a text table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from compact.evaluation.results import Row
from compact.evaluation.scoring import Score

SCORES: Mapping[str, Callable[[Row], Score]] = {
    "all": lambda row: row.identifiers,
    "hard": lambda row: row.hard,
    "quest": lambda row: row.questions,
    "words": lambda row: row.words,
    "concl": lambda row: row.conclusions,
}
"""The columns that are shares of something, and of what."""


def unmeasured(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns that would be empty in every row."""
    return tuple(name for name, score in SCORES.items() if not any(score(row).of for row in rows))


def table_lines(rows: Sequence[Row]) -> Iterator[tuple[str, bool]]:
    """Lines, and whether each is a heading; each source is a block under its name.

    Empty columns are left out: between them, it is easy to misread which one a share belongs to.
    """
    gone = unmeasured(rows)
    shown = [{name: text for name, text in _cells(row).items() if name not in gone} for row in rows]
    columns = list(shown[0]) if shown else []
    cells = [list(texts.values()) for texts in shown]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    source, window = None, None
    for row, texts in zip(rows, cells, strict=True):
        if row.source != source:
            if source is not None:
                yield "", False
            yield row.source, True
            yield _line(columns, widths), True
        elif row.window != window:
            yield "", False
        source, window = row.source, row.window
        yield _line(texts, widths), False


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    preset, *numbers = texts
    aligned = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
    return "  " + " ".join([preset.ljust(widths[0]), *aligned]).rstrip()


def _cells(row: Row) -> dict[str, str]:
    sound = row.conversations - row.failed
    return {
        "preset": row.preset,
        "window": row.window,
        "convs": f"{row.conversations:,}",
        **{name: percent(score(row).share) for name, score in SCORES.items()},
        "kept": percent(row.ratio),
        "tokens": f"{row.tokens_after // sound:,}" if sound else "–",
        "cache": percent(row.cache_hits),
        "comp": f"{row.compactions:,}",
        "lint": f"{row.violations:,}",
        "fail": f"{row.failed:,}",
        "time": duration(row.seconds),
    }


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f}ms"
    return f"{seconds:.1f}s" if seconds < 100 else f"{seconds / 60:.1f}m"
