"""Looking without touching: usage, calibration, recall."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from compact import InsufficientBudget
from compact.core.view import handle
from compact.engine.queries import prompt_tokens
from compact.model.event import EventName
from compact.model.message import ToolResult, Usage
from support.raw import PRIMING, ROLE, Desk, pairs, steps, system, tool, user, words


def test_usage_by_share() -> None:
    desk = Desk(window=4_000)
    history = [system(20), {"role": "developer", "content": "x" * 40}, *pairs(5)]
    usage = desk.manager.usage("s", history, tools=[tool("read_file")])
    shares = usage.breakdown
    assert (shares["system"], shares["developer"], shares["messages"]) == (24, 14, 500 + PRIMING)
    assert shares["summary"] == 0 and shares["tools"] > 0
    assert usage.tokens == sum(v for name, v in shares.items() if name != "free")
    assert shares["free"] == 4_000 - usage.tokens
    assert usage.percent == round(100 * usage.tokens / 4_000, 2)
    assert (usage.window, usage.budget, usage.trigger, usage.exact) == (4_000, 3_900, 3_400, False)


def test_usage_after_a_compaction_counts_the_summary_apart() -> None:
    desk = Desk(window=4_000)
    history = [*pairs(40), user("new")]
    out = desk.preflight(history)
    usage = desk.manager.usage("s", history)
    assert usage.tokens == desk.tokens(out) and usage.breakdown["summary"] > 50


def test_a_view_that_fills_the_budget_goes_out_and_one_token_more_does_not() -> None:
    def total(tokens: int) -> list[Any]:
        return [*pairs(20), user("the newest", tokens - PRIMING - 2_000 - ROLE)]

    desk = Desk(window=4_000)
    assert desk.manager.view("a", total(3_900)).tokens.final == 3_900
    with pytest.raises(InsufficientBudget):
        desk.manager.view("b", total(3_901))


def test_looking_does_nothing() -> None:
    desk = Desk(window=4_000)
    history = [*pairs(40), user("new")]
    desk.manager.usage("s", history)
    desk.manager.overflow("s", history)
    plan = desk.manager.plan("s", history)
    assert plan.triggered and plan.replaced
    assert desk.manager.records("s") == () and desk.summarizer.calls == 0
    assert desk.events(EventName.TRIGGER_DECISION) == []


def test_the_providers_count_corrects_the_estimate() -> None:
    desk = Desk(window=4_000)
    history = pairs(20)
    assert desk.manager.observe("s", history, {"prompt_tokens": 3_004}) == pytest.approx(3_004 / 2_003)
    corrected = desk.manager.usage("s", history)
    assert corrected.tokens == 3_004
    # What we count as 2,553 is 3,829 to the provider: over 85 % of the window, so it is time.
    more = [*pairs(25), user("new")]
    assert desk.prepare(more).was_compacted
    other = [*pairs(25, first=50), user("new")]
    assert desk.manager.usage("other", other).tokens == 2_553


def test_a_count_that_cannot_be_meant_for_this_prompt_is_bounded() -> None:
    desk = Desk()
    assert desk.manager.observe("s", pairs(5), 1_000_000) == 4.0
    assert "reported 1,000,000 tokens where 503 were estimated" in desk.warnings[-1]
    assert desk.manager.observe("s", pairs(5), 1) == 0.8
    assert desk.manager.observe("s", pairs(5), {}) == 0.8  # nothing reported, nothing changed


@pytest.mark.parametrize("counter", ["tiktoken", "estimate", "chars4"])
def test_a_provider_that_reports_too_little_does_not_overfill_the_window(counter: str) -> None:
    desk = Desk(window=8_000, counter=counter)
    history = [{**message, "content": f"{message['content']} {n}"} for n, message in enumerate(pairs(40, 60))]
    counted = desk.tokens(history)
    for _ in range(3):
        desk.manager.observe("s", history, counted // 2)
    least = counted if counter == "tiktoken" else 0.8 * counted
    assert desk.manager.usage("s", history).tokens == pytest.approx(least, rel=0.001)
    for number in range(80):
        history += pairs(1, 60, first=100 + number)
        sent = desk.preflight(history)
        assert desk.tokens(sent) <= (7_900 if counter == "tiktoken" else 7_900 / 0.8)
        desk.manager.observe("s", sent, desk.tokens(sent) // 2)


def test_what_a_server_adds_to_every_prompt_does_not_inflate_a_short_conversation() -> None:
    desk = Desk(window=40_000)
    overhead, history = 170, pairs(1, tokens=40)
    first = desk.tokens(history)
    desk.manager.observe("s", history, first + overhead)
    longer = [*history, *pairs(3, first=2)]
    real = desk.tokens(longer) + overhead
    assert abs(desk.manager.usage("s", longer).tokens - real) <= overhead
    # By now the prompt says enough: what the provider counts is what is shown.
    full = pairs(12)
    desk.manager.observe("s", full, 2 * desk.tokens(full))
    assert desk.manager.usage("s", full).tokens == 2 * desk.tokens(full)
    assert desk.warnings == []


@pytest.mark.parametrize(
    ("reported", "tokens"),
    [
        (120, 120),
        ({"prompt_tokens": 120, "completion_tokens": 5}, 120),
        ({"input_tokens": 20, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10}, 120),
        (SimpleNamespace(prompt_tokens=120), 120),
        (SimpleNamespace(input_tokens=120, cache_read_input_tokens=None), 120),
        (Usage(input=120, cache_read=100), 120),
        (SimpleNamespace(prompt_token_count=120, cached_content_token_count=90), 120),
        ({"promptTokenCount": 120, "totalTokenCount": 130}, 120),
        ({"inputTokens": 20, "cacheReadInputTokens": 90, "cacheWriteInputTokens": 10}, 120),
        ({"inputTokens": 120, "cachedInputTokens": 90, "outputTokens": 5}, 120),
        (SimpleNamespace(id="r", usage=SimpleNamespace(prompt_tokens=120)), 120),
        ({"usageMetadata": {"promptTokenCount": 120}}, 120),
        ({"usage": None}, 0),
        ({}, 0),
    ],
)
def test_usage_in_every_vendors_words(reported: Any, tokens: int) -> None:
    assert prompt_tokens(reported) == tokens


def test_recall_by_handle_and_by_words() -> None:
    desk = Desk("agent", window=10_000)
    history = [user("find the berth of ship LH-204"), *steps(20, 400)]
    desk.preflight(history)
    name = handle(ToolResult("call_003", words("output call_003", 400)))
    (by_handle,) = desk.manager.recall("s", name)
    assert by_handle.text.startswith("output call_003") and by_handle.handles == (name,)
    assert desk.manager.recall("s", "ship LH-204")[0].role == "user"
    assert len(desk.manager.recall("s", "output", limit=3)) == 3
    assert desk.manager.recall("s", "zeppelin") == []
    assert desk.events(EventName.RECALL)[-1].data == {"query": "zeppelin", "found": []}
