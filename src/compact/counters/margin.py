"""The safety margin on counts, applied in one place (S2.5)."""

from __future__ import annotations

from math import ceil

from compact.ports import TokenCounter


def with_margin(tokens: int, counter: TokenCounter) -> int:
    """Raw tokens plus what the counter adds if its tokenizer is not the model's own."""
    return tokens if counter.margin == 1.0 else ceil(tokens * counter.margin)


class Margined:
    """A counter whose counts include its margin, so that a summary is measured as the engine measures it."""

    margin = 1.0

    def __init__(self, counter: TokenCounter) -> None:
        self.name, self.exact = counter.name, counter.exact
        self._counter = counter

    def count(self, text: str) -> int:
        return with_margin(self._counter.count(text), self._counter)
