"""A session that grows, is rewound, is shared: what goes out is always whole and within the budget."""

from __future__ import annotations

import copy
from threading import Thread
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, InsufficientBudget, SessionBusy, count_tokens, lint
from compact.archives.memory import MemoryArchive
from compact.policies import PRESETS
from compact.stores.memory import MemoryStore
from compact.testing.scripted import EchoSummarizer

WINDOW = 8_000


def words(count: int) -> str:
    return "word " * count


def manager(preset: str = "budget", store: MemoryStore | None = None, **settings: Any) -> CompactManager:
    config = CompactConfig(
        model="gpt-4o", max_context_tokens=WINDOW, preset=preset, counter="chars4", **settings
    )
    return CompactManager(config, EchoSummarizer(), store, MemoryArchive())


def chat(pairs: int, size: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for n in range(pairs):
        made.append({"role": "user", "content": f"question {n} {words(size)}"})
        made.append({"role": "assistant", "content": f"answer {n} {words(size)}"})
    return made


def step(n: int, size: int = 8) -> list[dict[str, Any]]:
    call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{n}", "content": f"found {n} {words(size)}"},
    ]


def tokens(messages: Any) -> int:
    return count_tokens(messages, "gpt-4o", counter="chars4")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_large_task_never_pushes_a_prompt_over_the_budget(preset: str) -> None:
    held = manager(preset)
    budget = WINDOW - held.config.policy.reserve(WINDOW)
    history = [*chat(30, 100), {"role": "user", "content": "task " + words(int(budget * 0.7))}]
    refused = 0
    for n in range(12):
        try:
            assert tokens(held.preflight("s", history)) <= budget
        except InsufficientBudget as error:
            assert sum(error.arithmetic.values()) > error.budget
            refused += 1
        history += step(n, 60)
    assert refused < 12


def test_working_memory_that_keeps_changing_stays_within_the_budget() -> None:
    held = manager()
    history: list[dict[str, Any]] = []
    for n in range(8):
        history += [{"role": "user", "content": f"q{n}"}]
        out = held.prepare("s", history, context=f"memory {n} {words(2_000)}").messages
        assert tokens(out) <= WINDOW - 1_500 and any(f"memory {n} " in m["content"] for m in out)
        history += [{"role": "assistant", "content": f"a{n}"}]


def test_working_memory_never_parts_a_call_from_its_results() -> None:
    held = manager()
    calls = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in "ab"]
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    held.prepare("s", history, context="memory")
    history.append({"role": "tool", "tool_call_id": "b", "content": "2"})
    assert lint(held.prepare("s", history, context="memory").messages, "openai") == []


@pytest.mark.parametrize("preset", PRESETS)
def test_a_history_rewound_to_any_point_ends_with_its_newest_message(preset: str) -> None:
    held = manager(preset)
    history = chat(60, 40)
    for n in range(20):
        history += step(n, 40)
    record = held.prepare("s", history).record
    assert record is not None
    border = record.source_length
    for length in range(max(1, border - 3), min(len(history), border + 4)):
        cut = history[:length]
        if cut[-1].get("tool_calls"):
            continue
        out = held.preflight("s", cut)
        assert out[-1] is cut[-1] and lint(out, "openai") == []


def test_what_is_protected_later_is_not_replaced_by_an_earlier_record() -> None:
    held = manager()
    history = chat(60, 40)
    held.preflight("s", history)
    now = copy.deepcopy(history)
    now[10]["meta"] = {"protected": True}
    assert any(message is now[10] for message in held.preflight("s", now))


def test_a_record_serves_only_the_policy_and_the_window_it_was_made_for() -> None:
    store = MemoryStore()
    history = chat(60, 40)
    manager("budget", store).preflight("s", history)
    config = CompactConfig(model="gpt-4o", max_context_tokens=128_000, counter="chars4")
    larger = CompactManager(config, EchoSummarizer(), store, MemoryArchive())
    assert larger.preflight("s", history) == history
    keeps_users = manager("budget", store, policy={"roles_never_prune": ["system", "user"]})
    out = keeps_users.preflight("s", history)
    assert sum(m["role"] == "user" and "question" in m["content"] for m in out) == 60


@pytest.mark.parametrize("preset", ["budget", "chat", "agent", "window"])
def test_threads_with_lists_of_different_lengths_all_get_prompts_that_fit(preset: str) -> None:
    held = manager(preset)
    budget = WINDOW - held.config.policy.reserve(WINDOW)
    history = chat(70, 40)
    wrong: list[str] = []

    def talk(first: int) -> None:
        for length in range(first, len(history), 6):
            cut = history[: length - length % 2 + 1]
            try:
                out = held.preflight("s", cut)
            except SessionBusy:
                continue  # an honest answer while another thread compacts
            if tokens(out) > budget or out[-1] is not cut[-1] or lint(out, "openai"):
                wrong.append(f"{length}: {tokens(out)} tokens, last is {out[-1]['content'][:20]!r}")

    threads = [Thread(target=talk, args=(first,)) for first in (20, 24, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_edits_in_place_are_seen_in_any_kind_of_container() -> None:
    class Own(dict[str, Any]):
        pass

    held = manager()
    for message in (
        Own(role="user", content="short"),
        {"role": "user", "content": ({"type": "text", "text": "s"},)},
    ):
        small = held.usage("s", [message]).tokens
        if isinstance(message, Own):
            message["content"] = words(500)
        else:
            message["content"][0]["text"] = words(500)
        assert held.usage("s", [message]).tokens > small + 400


def test_calibration_moves_the_budget_in_the_providers_own_tokens() -> None:
    held = manager()
    history = chat(10, 100)
    ours = held.usage("s", history).tokens
    held.observe("s", history, {"prompt_tokens": ours * 2})
    usage = held.usage("s", history)
    assert usage.tokens == ours * 2 and usage.budget == 6_800
    with pytest.raises(InsufficientBudget) as caught:
        held.preflight("s", [*history, {"role": "user", "content": words(3_000)}])
    assert caught.value.budget == 6_800 and "window of 8,000" in str(caught.value)


def test_looking_and_ending_a_turn_without_tools_is_no_change_of_tools() -> None:
    held = manager()
    tools = [{"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}]
    history = chat(2, 10)
    held.preflight("s", history, tools)
    held.end_turn("s", history)
    held.usage("s", history)
    held.plan("s", history)
    held.preflight("s", history, tools)
    assert not [event for event in held.events if event.name == "compact.warning"]
