"""A small plot of how large the context was after each turn."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"


def plot(sizes: Sequence[int], window: int, width: int, blocks: bool = True) -> list[str]:
    """Rows from full to empty; with more sizes than columns, each shows the largest of its share."""
    columns = _columns(sizes, max(1, width))
    height = 4
    rows = []
    for row in range(height, 0, -1):
        cells = []
        for size in columns:
            eighths = round(min(1.0, size / window) * height * 8) - (row - 1) * 8
            if not blocks:
                cells.append("#" if eighths >= 4 else " ")
            else:
                # What is there at all shows.
                least = 1 if row == 1 and size > 0 else 0
                cells.append(_BLOCKS[max(least, min(8, eighths))])
        rows.append("".join(cells))
    return rows


def _columns(sizes: Sequence[int], width: int) -> list[int]:
    if len(sizes) <= width:
        return list(sizes)
    share = len(sizes) / width
    return [max(sizes[int(n * share) : max(int(n * share) + 1, int((n + 1) * share))]) for n in range(width)]
