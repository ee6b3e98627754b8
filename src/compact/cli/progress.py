"""Progress on standard error: a counter on a terminal, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from compact.console.terminal import Screen

Item = TypeVar("Item")

# Shorter work ends before anyone could read a bar.
_WORTH_SHOWING = 20


def tracked(
    items: Iterable[Item], total: int, screen: Screen, label: str, quiet: bool = False
) -> Iterator[Item]:
    """The items, one by one, with a progress bar on a terminal."""
    shown = screen.terminal and not quiet and total >= _WORTH_SHOWING
    for done, item in enumerate(items):
        if shown:
            screen.write(f"\r{label} {screen.bar(done / total, 30)} {done:,}/{total:,}")
            screen.stream.flush()
        yield item
    if shown:
        screen.write("\r" + " " * (len(label) + 50) + "\r")
        screen.stream.flush()
