"""Sizes are remembered, but not those of every message that a server ever saw."""

from __future__ import annotations

import pytest

from compact.engine.state import size_cache
from compact.engine.state.size_cache import SizeCache
from support.conversations import user


class CountingCounter:
    """Notes what it is asked to count."""

    name = "noting"
    exact = True
    margin = 0.0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def test_what_is_in_use_is_counted_once_and_the_rest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_cache, "_SIZES_KEPT", 5)
    counter = CountingCounter()
    sizes = SizeCache(counter)
    for number in range(40):
        sizes.of_message(user("in use"))
        sizes.of_message(user(f"message {number}"))
    assert counter.asked.count("in use") == 1
    assert len(counter.asked) == 41
    sizes.of_message(user("message 39"))
    assert len(counter.asked) == 41
    sizes.of_message(user("message 0"))
    assert len(counter.asked) == 42
