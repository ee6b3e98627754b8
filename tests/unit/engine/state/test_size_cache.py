"""Sizes are remembered, but not those of every message that a server ever saw."""

from __future__ import annotations

import pytest

from compact.core.layers import CONTINUE_LINE, FIRST_LINE, SummaryText, summary_messages
from compact.core.view import span_handle
from compact.counters.chars4 import CharsCounter
from compact.engine.state import size_cache
from compact.engine.state.size_cache import SizeCache
from compact.policies import preset
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


@pytest.mark.parametrize("name", ["budget", "chat", "agent", "rolling"])
def test_a_plan_knows_all_that_surrounds_a_summary(name: str) -> None:
    sizes, policy = SizeCache(CharsCounter()), preset(name)
    said, doubted, told = "- said once", "- may be quoted", "- a tool's line"
    summary = SummaryText(said, told, doubted)
    bridges = [user(FIRST_LINE), user(CONTINUE_LINE)]
    around = [*summary_messages(summary, 99, policy, span_handle(())), *bridges]
    sent = sum(map(sizes.of_message, around))
    own = sum(map(sizes.of_text, (said, doubted, told)))
    assert sent - own <= sizes.for_plans(policy.placement).frame
