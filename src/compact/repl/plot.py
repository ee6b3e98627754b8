"""A small plot of the context size after each turn."""

from __future__ import annotations

from collections.abc import Sequence

_ROWS = 4
# For each row, from the bottom, the character for each height in eighths of a row.
_LEVELS = [
    [" ▁▂▃▄▅▆▇█"[min(8, max(0, height - 8 * row))] for height in range(8 * _ROWS + 1)] for row in range(_ROWS)
]
_PLAIN_LEVELS = [
    ["#" if height >= 8 * row + 4 else " " for height in range(8 * _ROWS + 1)] for row in range(_ROWS)
]


def plot(sizes: Sequence[int], window: int, width: int, blocks: bool = True) -> list[str]:
    """Rows from full to empty; with more sizes than columns, each column shows the largest of its share."""
    full = 8 * _ROWS
    # Even the smallest size is visible.
    heights = [min(full, max(1, full * size // window)) for size in _columns(sizes, max(1, width))]
    levels = _LEVELS if blocks else _PLAIN_LEVELS
    return ["".join(map(levels[row].__getitem__, heights)) for row in range(_ROWS - 1, -1, -1)]


def _columns(sizes: Sequence[int], width: int) -> Sequence[int]:
    share = -(-len(sizes) // width)
    if share <= 1:
        return sizes
    return [max(sizes[start : start + share]) for start in range(0, len(sizes), share)]
