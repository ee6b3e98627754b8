"""Hypothesis strategies for valid conversations in every wire format.

    @given(conversations("anthropic", max_turns=6))
    def test_my_plugin(messages): ...

The result is what a caller would hold: plain dicts, valid for the format's own provider, with parallel calls,
several tool steps in a turn, thinking or reasoning, images, unknown fields, and tool outputs long enough to
overflow a small window.
"""

from __future__ import annotations

from math import prod
from typing import Any, TypedDict, Unpack

from compact.errors import ConfigError, MissingExtra
from compact.testing.scenes import CallPlan, Ending, Picture, Plan, StepPlan, TurnPlan, Words
from compact.testing.wire import FORMATS, PROVIDERS, render
from compact.testing.wire_parts import Raw

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ImportError:
    raise MissingExtra("hypothesis", "dev") from None

__all__ = ["FORMATS", "PROVIDERS", "Switches", "conversations", "plans", "protect_some"]

# A failing example shrinks to the first one.
_WORDS = (5, 20, 60, 200, 600)
_OUTPUTS = (40, 0, 300, 1_200, 4_000, 9_000)


class Switches(TypedDict, total=False):
    """The options of `plans`; each switch allows what it names.

    `developer` messages may also be in the middle, which only OpenAI accepts (the AI SDK has no such role and
    gets system messages; Anthropic gets none). `assistant_first` is ignored for Anthropic, which rejects it.
    No text is much longer than `max_words`, no tool output has more than `max_output` characters.
    """

    min_turns: int
    max_turns: int
    tools: bool
    parallel: bool
    thinking: bool
    images: bool
    developer: bool
    assistant_first: bool
    unknown_fields: bool
    max_words: int
    max_output: int


def conversations(
    format: str = "openai-chat", *, protected: bool = False, **switches: Unpack[Switches]
) -> SearchStrategy[list[Raw]]:
    """Conversations of `min_turns` to `max_turns` turns; see `plans` for the defaults of the switches.

    `protected` marks some messages with `meta.protected`.
    """
    if format not in FORMATS:
        raise ConfigError(f"format must be one of {', '.join(FORMATS)}, not {format!r}", path="format")
    if PROVIDERS[format] == "anthropic":
        switches["assistant_first"] = False
    rendered = plans(**switches).map(lambda plan: render(plan, format))
    return rendered.flatmap(protect_some) if protected else rendered


def plans(
    *,
    min_turns: int = 1,
    max_turns: int = 8,
    tools: bool = True,
    parallel: bool = True,
    thinking: bool = True,
    images: bool = True,
    developer: bool = True,
    assistant_first: bool = False,
    unknown_fields: bool = True,
    max_words: int = 600,
    max_output: int = 9_000,
) -> SearchStrategy[Plan]:
    """What `conversations` renders: the same story for every format."""
    turn = st.tuples(
        st.integers(0, prod(_TURN) - 1),
        st.lists(st.integers(0, prod(_STEP) - 1), max_size=5 if tools else 0),
    )

    def plan(numbers: list[tuple[int, list[int]]], head: int) -> Plan:
        system, leading, greeting, ending = _digits(head, *_HEAD)
        return Plan(
            turns=tuple(_turn(number, steps) for number, steps in numbers),
            system=bool(system),
            developer=developer and bool(leading),
            greeting=assistant_first and bool(greeting),
            ending=tuple(Ending)[ending],
        )

    def _turn(number: int, steps: list[int]) -> TurnPlan:
        asked, answer, picture, thought, note, extra = _digits(number, *_TURN)
        return TurnPlan(
            asked=_words(asked, max_words),
            answer=_words(answer, max_words),
            steps=tuple(_step(step) for step in steps),
            picture=tuple(Picture)[picture] if images else Picture.NONE,
            thought=thinking and bool(thought),
            # Rare, because one in the middle makes a conversation invalid for Anthropic.
            note=developer and note == 9,
            extra=unknown_fields and bool(extra),
        )

    def _step(number: int) -> StepPlan:
        count, thought, said, *calls = _digits(number, *_STEP)
        return StepPlan(
            calls=tuple(_call(call, max_output) for call in calls[: count + 1 if parallel else 1]),
            said=_words(said - 1, max_words) if said else None,
            thought=thinking and bool(thought),
        )

    turns = st.lists(turn, min_size=min_turns, max_size=max_turns)
    return st.builds(plan, turns, st.integers(0, prod(_HEAD) - 1))


# One number per turn or step, read as digits of mixed bases: drawing is slow, reading is not.
_CALL = (5, len(_OUTPUTS), 2)
_SAID = (31, len(_WORDS))
_HEAD = (2, 2, 2, len(Ending))
_TURN = (prod(_SAID), prod(_SAID), len(Picture), 2, 10, 2)
_STEP = (3, 2, 1 + prod(_SAID), prod(_CALL), prod(_CALL), prod(_CALL))


def _digits(number: int, *bases: int) -> list[int]:
    found = []
    for base in bases:
        number, digit = divmod(number, base)
        found.append(digit)
    return found


def _words(number: int, most: int) -> Words:
    seed, size = _digits(number, *_SAID)
    return Words(seed, min(_WORDS[size], most))


def _call(number: int, most: int) -> CallPlan:
    tool, size, failed = _digits(number, *_CALL)
    return CallPlan(tool, min(_OUTPUTS[size], most), bool(failed))


@st.composite
def protect_some(draw: Any, conversation: list[Raw], at_most: int = 3) -> list[Raw]:
    """The conversation with `meta.protected` on up to `at_most` of its messages; the others are unchanged."""
    last = len(conversation) - 1
    chosen = draw(st.sets(st.integers(0, last), max_size=at_most)) if conversation else set()
    return [
        {**message, "meta": {**message.get("meta", {}), "protected": True}} if index in chosen else message
        for index, message in enumerate(conversation)
    ]
