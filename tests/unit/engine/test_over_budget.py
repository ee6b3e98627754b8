"""No prompt over the budget is sent: what may not be removed raises InsufficientBudget."""

from __future__ import annotations

from typing import Any

import pytest

from compact import CompactConfig, CompactManager, InsufficientBudget, Policy, count_tokens
from compact.archives.memory import MemoryArchive
from compact.model.event import EventName
from compact.model.message import Role
from compact.policies import PRESETS, preset
from compact.testing import CollectingExporter
from compact.testing.scripted import EchoSummarizer

WINDOW = 8_000
DOORS = ("preflight", "view", "manual_compact", "end_turn")


def manager(policy: Policy, *exporters: Any) -> CompactManager:
    config = CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, policy=policy, counter="chars4")
    return CompactManager(config, EchoSummarizer(), None, MemoryArchive(), exporters)


def policy(name: str, by_role: bool = False) -> Policy:
    """The preset with some room between trigger and budget, maybe with every role never pruned."""
    changed: dict[str, Any] = {"trigger_pct": 0.8, "hard_cap_buffer": 200, "output_reserve": 0}
    if by_role:
        changed["roles_never_prune"] = tuple(Role)
    return Policy(**{**preset(name).model_dump(), **changed})


def turn(n: int, pin: bool) -> list[dict[str, Any]]:
    call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    made: list[dict[str, Any]] = [
        {"role": "user", "content": f"question {n} " + "word " * 120},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{n}", "content": f"found {n} " + "word " * 160},
        {"role": "assistant", "content": f"answer {n} " + "word " * 120},
    ]
    return [{**message, "meta": {"protected": True}} for message in made] if pin else made


@pytest.mark.spec("S4.7")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("by_role", (False, True))
@pytest.mark.parametrize("name", PRESETS)
def test_everything_pinned_and_over_budget_is_refused_at_every_door(
    name: str, by_role: bool, door: str
) -> None:
    held = manager(policy(name, by_role))
    history = [message for n in range(20) for message in turn(n, not by_role)]
    for _ in range(2):
        with pytest.raises(InsufficientBudget, match="Reduce protected memory"):
            getattr(held, door)("s", history)
    assert not held.records("s")


@pytest.mark.spec("S4.7")
@pytest.mark.parametrize("adopts", (False, True))
@pytest.mark.parametrize("by_role", (False, True))
@pytest.mark.parametrize("name", PRESETS)
def test_pins_grow_from_trigger_to_budget_without_a_compaction_and_then_are_refused(
    name: str, by_role: bool, adopts: bool
) -> None:
    events = CollectingExporter()
    held = manager(policy(name, by_role), events)
    budget = WINDOW - held.config.policy.reserve(WINDOW)
    history: list[dict[str, Any]] = []
    for n in range(20):
        history += turn(n, not by_role)
        size = count_tokens(history, "gpt-4o", counter="chars4")
        if size > budget:
            break
        sent = held.preflight("s", history)
        assert sent == history
        history = sent if adopts else history
    for door in DOORS:
        with pytest.raises(InsufficientBudget):
            getattr(held, door)("s", history)
    held.flush()
    warned = [event for event in events.events if event.name is EventName.FLOOR]
    assert warned, "the trigger was raised silently"
    started = [event for event in events.events if event.name is EventName.START]
    assert len(started) == len(DOORS), "a compaction was tried that could not help"


@pytest.mark.spec("S4.3")
@pytest.mark.parametrize("name", PRESETS)
def test_after_a_compaction_without_growth_no_prompt_exceeds_the_budget(name: str) -> None:
    """Half is pinned: after a compaction the prompt may stay over the trigger, never over the budget."""
    held = manager(policy(name))
    budget = WINDOW - held.config.policy.reserve(WINDOW)
    history: list[dict[str, Any]] = []
    refused = False
    for n in range(34):
        history += turn(n, pin=n % 2 == 0)
        for door in ("preflight", "manual_compact", "preflight"):
            try:
                sent = getattr(held, door)("s", history)
            except InsufficientBudget:
                refused = True
            else:
                assert not refused, "refused before, and now it fits"
                assert count_tokens(sent, "gpt-4o", counter="chars4") <= budget
    assert refused


@pytest.mark.parametrize("words", (10, 1_000))
@pytest.mark.parametrize("name", PRESETS)
def test_a_plan_and_the_error_name_one_sum(name: str, words: int) -> None:
    """Also if system prompt and tools alone are over the budget: the newest turn needs room, too."""
    with CompactManager(
        CompactConfig(preset=name, max_context_tokens=200, counter="chars4"), archive=MemoryArchive()
    ) as held:
        history = [{"role": "system", "content": "rule " * words}, *turn(1, False), *turn(2, False)]
        plan = held.plan("s", history)
        with pytest.raises(InsufficientBudget) as caught:
            held.prepare("s", history)
    assert plan.insufficient == caught.value.arithmetic
    assert caught.value.needed == sum(plan.insufficient.values())
    assert caught.value.arithmetic["newest_turn"] > 0


@pytest.mark.spec("S4.7")
@pytest.mark.parametrize("newest", (True, False), ids=["newest", "answered"])
@pytest.mark.parametrize("name", PRESETS)
def test_an_output_of_a_role_that_is_never_pruned_is_refused_over_the_budget(name: str, newest: bool) -> None:
    held = manager(policy(name).model_copy(update={"roles_never_prune": (Role.SYSTEM, Role.TOOL)}))
    history = turn(1, False)[:-1] if newest else [*turn(1, False), *turn(2, False)]
    history[2]["content"] = "word " * 7_200
    shown = held.plan("s", history).insufficient
    assert shown is not None and shown["protected"] >= 9_000
    for door in DOORS:
        with pytest.raises(InsufficientBudget) as caught:
            getattr(held, door)("s", history)
        assert door == "view" or caught.value.arithmetic == shown
    assert not held.records("s")
