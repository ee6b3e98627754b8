"""S4.19: random conversations, many of them, and one of three times the window."""

from __future__ import annotations

import os
from random import Random

import pytest

from compact import InsufficientBudget
from compact.policies import PRESETS
from support.raw import PRIMING, Desk, Raw, assistant, is_sound, protected, step, summaries, system, user

SEED = int(os.environ.get("TEST_SEED", "384000"))
"""Set the variable to see other conversations; a failing test prints the seed it ran with."""


def random_turn(random: Random, number: int) -> list[Raw]:
    made = [user(f"task {number}", random.randint(5, 60))]
    for n in range(random.choice((0, 0, 1, 2, 6))):
        made += step(number * 100 + n, random.choice((5, 40, 150)), calls=random.choice((1, 1, 2, 3)))
    return [*made, assistant(f"done {number}", random.randint(5, 60))]


def random_conversation(random: Random, turns: int, marked: int = 0) -> list[Raw]:
    made = [system(random.randint(5, 40))]
    for number in range(1, turns + 1):
        made += random_turn(random, number)
    made.append(user("the newest", random.randint(5, 60)))
    for index in random.sample(range(1, len(made)), marked):
        made[index] = protected(made[index])
    return made


@pytest.mark.spec("S4.19")
def test_100_random_runs_never_touch_what_is_protected_and_end_within_the_budget() -> None:
    print(f"TEST_SEED={SEED}")
    compacted = 0
    for run in range(100):
        random = Random(f"{SEED}/{run}")
        preset = PRESETS[run % len(PRESETS)]
        history = random_conversation(random, random.randint(8, 30), marked=random.randint(0, 4))
        desk = Desk(preset, window=random.randint(2_500, 5_000))
        budget = desk.manager.usage("s", history).budget
        pinned = [message for message in history if "meta" in message or message["role"] == "system"]
        try:
            prepared = desk.prepare(history)
        except InsufficientBudget as error:
            # Only ever where the sum that it shows proves it.
            assert error.needed == sum(error.arithmetic.values()) > error.budget == budget, (SEED, run)
            continue
        compacted += prepared.was_compacted or prepared.was_pruned
        assert prepared.tokens.final <= budget, (SEED, run)
        assert desk.tokens(prepared.messages) == prepared.tokens.final, (SEED, run)
        sent = {id(message) for message in prepared.messages}
        assert all(id(message) in sent for message in pinned), (SEED, run)
        asked = {id(m.origin.source) for r in desk.summarizer.requests for m in r.messages if m.origin}
        assert not asked & {id(message) for message in pinned}, (SEED, run)
        assert is_sound(prepared.messages), (SEED, run)
    assert compacted >= 40


class ContextLimit(Exception):
    pass


@pytest.mark.spec("S4.19")
def test_1000_runs_without_a_context_limit_error() -> None:
    print(f"TEST_SEED={SEED}")
    window = 1_400
    desks = {preset: Desk(preset, window=window) for preset in PRESETS}
    rounds = 0
    for run in range(1_000):
        random = Random(f"{SEED}/soak/{run}")
        desk = desks[PRESETS[run % len(PRESETS)]]
        session, history = f"run-{run}", [system(10)]
        for number in range(1, 5):
            turn = random_turn(random, number)
            while turn:
                history.append(turn.pop(0))
                if turn and (turn[0]["role"] == "tool" or history[-1]["role"] == "assistant"):
                    continue
                if turn:
                    out = desk.preflight(history, session)
                    # The model that would be asked refuses what is larger than its window.
                    if size(out) > window:
                        raise ContextLimit(f"seed {SEED}, run {run}: {size(out)} tokens")
        rounds += len(desk.manager.records(session))
    assert rounds >= 500


def size(messages: list[Raw]) -> int:
    """The model's own count, which is nobody's estimate: four characters a token, four tokens a message."""
    total = PRIMING
    for message in messages:
        total += 4 + -(-len(message["content"] or "") // 4)
        for call in message.get("tool_calls", ()):
            total += -(-len(call["function"]["name"]) // 4) + -(-len(call["function"]["arguments"]) // 4)
    return total


@pytest.mark.spec("S4.19")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("shape", ["one task", "many turns"])
def test_384000_tokens_through_a_window_of_128000(preset: str, shape: str) -> None:
    desk = Desk(preset, window=128_000)
    budget = desk.manager.usage("s", []).budget
    history, total, number = [system(500)], 0, 0
    if shape == "one task":
        history.append(user("read all of it and report"))
    while total < 384_000:
        number += 1
        fresh = (
            step(number, 1_900) if shape == "one task" else [user(f"task {number}", 60), *step(number, 1_900)]
        )
        history += fresh
        total += size(fresh) - PRIMING
        prepared = desk.prepare(history)
        assert prepared.tokens.final <= budget
        if shape == "many turns":
            history.append(assistant(f"done {number}", 60))
            total += 64
    assert size(prepared.messages) <= budget
    assert size(history) > 384_000
    assert len(desk.manager.records("s")) >= 3
    assert len(summaries(prepared.messages)) <= 1 and is_sound(prepared.messages)
