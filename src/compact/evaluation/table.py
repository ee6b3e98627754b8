"""The results as a text table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compact.evaluation.results import Row

COLUMNS = (
    "preset",
    "window",
    "convs",
    "all",
    "hard",
    "quest",
    "words",
    "concl",
    "kept",
    "tokens",
    "cache",
    "comp",
    "lint",
    "fail",
    "time",
)
_LEFT = ("preset",)


def table_lines(rows: Sequence[Row]) -> Iterator[tuple[str, bool]]:
    """Lines, and whether each is a heading; each source is a block under its name."""
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *cells, strict=True)]
    source, window = None, None
    for row, texts in zip(rows, cells, strict=True):
        if row.source != source:
            if source is not None:
                yield "", False
            yield row.source, True
            yield _line(COLUMNS, widths), True
        elif row.window != window:
            yield "", False
        source, window = row.source, row.window
        yield _line(texts, widths), False


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    aligned = [
        text.ljust(width) if name in _LEFT else text.rjust(width)
        for name, text, width in zip(COLUMNS, texts, widths, strict=True)
    ]
    return "  " + " ".join(aligned).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    sound = row.conversations - row.failed
    return (
        row.preset,
        row.window,
        f"{row.conversations:,}",
        percent(row.identifiers.share),
        percent(row.hard.share),
        percent(row.questions.share),
        percent(row.words.share),
        percent(row.conclusions.share),
        percent(row.ratio),
        f"{row.tokens_after // sound:,}" if sound else "–",
        percent(row.cache_hits),
        f"{row.compactions:,}",
        f"{row.violations:,}",
        f"{row.failed:,}",
        duration(row.seconds),
    )


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f}ms"
    return f"{seconds:.1f}s" if seconds < 100 else f"{seconds / 60:.1f}m"
