"""The conversations whose shapes are kept, each with the sentence that says what happens in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compact.errors import SummarizerError
from compact.testing.scripted import EchoSummarizer, ScriptedSummarizer
from support.raw import (
    LONG_ENOUGH,
    Raw,
    anthropic_step,
    assistant,
    pairs,
    protected,
    step,
    steps,
    system,
    user,
)


@dataclass(frozen=True)
class Scenario:
    sentence: str
    window: int
    rounds: Callable[[], list[list[Raw]]]
    """The lists that are sent one after the other; the last one is drawn."""
    summarizer: Callable[[], object] = EchoSummarizer


def _short_chat() -> list[list[Raw]]:
    return [[system(), *pairs(3), user("question 4")]]


def _long_chat() -> list[list[Raw]]:
    return [[system(), *pairs(40), user("question 41")]]


def _hundred_steps() -> list[list[Raw]]:
    return [[system(), user("the task"), *steps(100, 390)]]


def _parallel_protected() -> list[list[Raw]]:
    group = step(3, 120, calls=3)
    group[2] = protected(group[2])
    rule = protected(user("a standing rule"))
    history = [
        system(),
        user("task 1"),
        *steps(2, 120),
        *group,
        assistant("done 1"),
        rule,
        assistant("noted"),
    ]
    for number in range(2, 9):
        history += [user(f"task {number}"), *step(number * 10, 120, calls=2), assistant(f"done {number}")]
    return [[*history, user("task 9"), *step(90, 120, calls=2)]]


def _second_compaction() -> list[list[Raw]]:
    first = [system(), *pairs(40), user("question 41")]
    second = [*first, assistant("answer 41"), *pairs(39, first=42), user("question 81")]
    return [first, second]


def _folding() -> list[list[Raw]]:
    return [[system(), *pairs(7), user("question 8")], [system(), *pairs(8), user("question 9")]]


def _anthropic_thinking() -> list[list[Raw]]:
    history: list[Raw] = []
    for number in range(1, 9):
        history.append(user(f"task {number}"))
        for n in range(number * 10, number * 10 + 2):
            history += anthropic_step(n, 160, thinking=f"I should look at m{n}.py first.")
        history.append(assistant(f"done {number}"))
    return [[*history, user("task 9"), *anthropic_step(90, 160, thinking="One more file.")]]


def _down_later() -> object:
    return ScriptedSummarizer([LONG_ENOUGH, *[SummarizerError("connection refused")] * 3])


SCENARIOS = {
    "short_chat": Scenario("A short chat, far below every trigger.", 4_000, _short_chat),
    "long_chat": Scenario(
        "A chat of 40 answered questions and a new one goes over the window.", 4_000, _long_chat
    ),
    "hundred_steps": Scenario("One task, then 100 tool steps in a row.", 40_000, _hundred_steps),
    "parallel_protected": Scenario(
        "Turns with parallel calls; one result of a group of three is protected, and so is a rule.",
        4_000,
        _parallel_protected,
    ),
    "second_compaction": Scenario(
        "A chat that was compacted grows by 40 answered questions and is compacted again.",
        4_000,
        _second_compaction,
    ),
    "summarizer_down": Scenario(
        "The second compaction of a chat finds the summarizer down.", 4_000, _second_compaction, _down_later
    ),
    "summarizer_down_but_it_fits": Scenario(
        "A few turns in a wide window; where turns are folded, the second fold finds the summarizer down.",
        40_000,
        _folding,
        _down_later,
    ),
    "anthropic_thinking": Scenario(
        "Anthropic messages with signed thinking before every tool call.", 4_000, _anthropic_thinking
    ),
}
