"""What a provider's prompt cache would have served, simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.evaluation.measuring import Measured


class PromptCache:
    """Remembers the previous prompt; a prompt hits as far as it begins with the same messages.

    Providers differ in their minimum prefix and block size; neither is simulated. The first prompt of a
    conversation has no previous one and is not counted.
    """

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._before: Sequence[Any] | None = None
        self._tools: Any = None
        self.tokens = 0
        self.cached = 0

    def send(self, prompt: Sequence[Any], tools: Any) -> None:
        if self._before is not None:
            measured = self._measured
            self.tokens += measured.apart + sum(map(measured.size, prompt))
            # Tools come before everything else: with different tools nothing hits.
            if tools == self._tools:
                same = common_prefix(self._before, prompt)
                self.cached += measured.apart + sum(map(measured.size, prompt[:same]))
        self._before, self._tools = prompt, tools


def common_prefix(before: Sequence[Any], now: Sequence[Any]) -> int:
    """How many messages at the start are the same."""
    count = 0
    for old, new in zip(before, now, strict=False):
        if old is not new and old != new:
            break
        count += 1
    return count
