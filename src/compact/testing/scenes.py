"""Conversations as small plans, and what is said and done in them: the same words for the same plan.

A plan is a handful of small numbers, so that a generator can draw and shrink it quickly. The long texts are
generated from it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Ending(StrEnum):
    """Where the conversation stops in the newest turn."""

    ASKED = "asked"
    RESULTS = "results"
    ANSWERED = "answered"


class Picture(StrEnum):
    NONE = "none"
    LINK = "link"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Words:
    seed: int
    count: int


@dataclass(frozen=True, slots=True)
class CallPlan:
    tool: int
    size: int
    """Characters of output."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class StepPlan:
    calls: tuple[CallPlan, ...]
    said: Words | None = None
    thought: bool = False


@dataclass(frozen=True, slots=True)
class TurnPlan:
    asked: Words
    answer: Words
    steps: tuple[StepPlan, ...] = ()
    picture: Picture = Picture.NONE
    thought: bool = False
    note: bool = False
    """A developer message before the question."""
    extra: bool = False
    """Fields and parts that no format knows."""


@dataclass(frozen=True, slots=True)
class Plan:
    turns: tuple[TurnPlan, ...]
    system: bool = True
    developer: bool = False
    greeting: bool = False
    ending: Ending = Ending.ASKED


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any]
    output: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Said:
    """System, developer or user text."""

    role: str
    text: str
    number: int
    picture: Picture = Picture.NONE
    extra: bool = False


@dataclass(frozen=True, slots=True)
class Acted:
    """One assistant message: reasoning, text, calls with their results."""

    number: int
    text: str | None
    thought: str | None = None
    calls: tuple[Call, ...] = ()
    extra: bool = False
    turn: int = 0


Scene = Said | Acted


def scenes(plan: Plan) -> Iterator[Scene]:
    """What happens, in order."""
    count = _Counter()
    if plan.system:
        yield Said(
            "system", "You are a careful engineer. Never push to main. " + prose(Words(3, 20)), count.next()
        )
    if plan.developer:
        yield Said("developer", "Answer in English; always cite file and line.", count.next())
    if plan.greeting:
        yield Acted(count.next(), "Hello, what shall we work on today?")
    for number, turn in enumerate(plan.turns):
        is_last = number == len(plan.turns) - 1
        if turn.note:
            yield Said("developer", f"Note {number}: the release is frozen until Friday.", count.next())
        yield Said("user", prose(turn.asked), count.next(), turn.picture, turn.extra)
        if is_last and plan.ending is Ending.ASKED:
            return
        for step in turn.steps:
            yield _step(step, number, count, turn.extra)
        if is_last and plan.ending is Ending.RESULTS and turn.steps:
            return
        thought = _thought(turn.answer.seed) if turn.thought else None
        yield Acted(count.next(), prose(turn.answer), thought, extra=turn.extra, turn=number)


def _step(step: StepPlan, turn: int, count: _Counter, extra: bool) -> Acted:
    number = count.next()
    calls = []
    for call in step.calls:
        at = count.next()
        name, arguments = _TOOLS[call.tool % len(_TOOLS)]
        calls.append(
            Call(
                id=f"call_{at:04d}{at * 7919 % 65536:04x}",
                name=name,
                arguments={
                    key: value.format(path=_pick(_PATHS, at), at=at) for key, value in arguments.items()
                },
                output=output(at + call.tool, call.size),
                failed=call.failed,
            )
        )
    return Acted(
        number,
        None if step.said is None else prose(step.said),
        _thought(number) if step.thought else None,
        tuple(calls),
        extra,
        turn,
    )


@dataclass(slots=True)
class _Counter:
    value: int = field(default=0)

    def next(self) -> int:
        self.value += 1
        return self.value


_PATHS = (
    "src/app/models.py",
    "src/app/views/checkout.py",
    "tests/test_checkout.py",
    "infra/terraform/main.tf",
    "web/src/pages/Cart.tsx",
    "docs/adr/0007-retries.md",
)
_IDS = ("ORD-48213", "usr_9f2c11", "a3f9e01", "#1187", "10.4.0.12", "REQ-77-B")
_TOOLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("read_file", {"path": "{path}"}),
    ("run", {"command": "pytest -q {path} -k case_{at}"}),
    ("search", {"query": "retry policy", "path": "{path}"}),
    ("edit_file", {"path": "{path}", "old": "timeout = 30", "new": "timeout = {at}"}),
    ("get_order", {"order_id": "ORD-{at}"}),
)
_SENTENCES = (
    "Please look at {path} and tell me why {id} fails.",
    "We decided to retry {n} times with a back-off of {n} ms.",
    "The test in {path} breaks at line {n} since commit {id}.",
    "I prefer the smaller change; leave {path} alone.",
    "The customer behind {id} was charged {n}.50 EUR twice.",
    "It works now: {n} passed, 2 skipped.",
    "Next I will update {path} and then run the suite.",
    "Could you also check {id} against the table of {n} rows?",
    "ValueError: expected {n} columns in {path}.",
    "Never delete {path}; it is read by the billing job.",
)


def _pick(values: tuple[str, ...], number: int) -> str:
    return values[number % len(values)]


@lru_cache(4_096)
def sentence(number: int) -> str:
    return _SENTENCES[number % len(_SENTENCES)].format(
        path=_pick(_PATHS, number * 5 + 1), id=_pick(_IDS, number * 3 + 2), n=number * 37 % 900 + 3
    )


@lru_cache(512)
def prose(words: Words) -> str:
    """About `count` words, at least one."""
    said: list[str] = []
    total = 0
    number = words.seed
    while total < max(1, words.count):
        said.append(sentence(number))
        total += said[-1].count(" ") + 1
        number += 1
    return " ".join(said)


@lru_cache(512)
def output(seed: int, size: int) -> str:
    """Exactly `size` characters as a tool would print them."""
    if size <= 0:
        return ""
    block = "\n".join(f"{number:>4}: {sentence(seed + number)}" for number in range(12))
    times = size // (len(block) + 1) + 1
    # Ends with a letter, so that no cut leaves a trailing space.
    return "\n".join([block] * times)[: size - 1] + "."


def _thought(number: int) -> str:
    return f"The user wants {sentence(number)} I should check {_pick(_PATHS, number)} first."
