"""The checks of the policy contract find what they are there to find."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from compact.errors import InsufficientBudget
from compact.model.outcome import ContextUsage, Debug, Prepared, TokenCounts
from compact.testing import EchoSummarizer
from compact.testing.policies import check_growing, check_repeatable, prepared, sendable

GO = {"role": "user", "content": "Go on."}
DONE = {"role": "assistant", "content": "Done."}
CALL = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "a", "content": "ok"}
Change = Callable[[list[Any]], list[Any]]


class Fake:
    """Returns what `change` makes of the messages, and says it has so many tokens."""

    def __init__(self, change: Change, tokens: int = 10, budget: int = 100) -> None:
        self.change, self.tokens, self.budget = change, tokens, budget

    def prepare(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Prepared:
        out = self.change(messages if isinstance(messages, list) else list(messages))
        counts = TokenCounts(self.tokens, self.tokens, self.tokens, self.tokens)
        return Prepared(out, False, False, counts, Debug())

    def usage(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> ContextUsage:
        return ContextUsage(10, 200, 5.0, budget=self.budget)


def grow(messages: list[Any]) -> list[Any]:
    messages.append(GO)
    return messages


def edit(messages: list[Any]) -> list[Any]:
    messages[0]["content"] = "Edited."
    return messages


def test_a_faithful_manager_passes() -> None:
    messages = [GO, ASKS, TOLD, DONE, {**GO, "meta": {"protected": True}}]
    assert prepared(Fake(list), "s", messages, "openai-chat") is not None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (grow, "the caller's list was changed"),
        (edit, "a message of the caller was changed"),
        (lambda messages: messages[:-1], "a protected message went"),
        (lambda messages: [*copy.deepcopy(messages[:1]), *messages[1:]], "a copy went out"),
        (lambda messages: [messages[0], *messages[2:]], "openai would refuse"),
    ],
)
def test_what_a_manager_may_not_do(change: Change, problem: str) -> None:
    messages = [dict(GO), ASKS, TOLD, DONE, {**GO, "meta": {"protected": True}}]
    with pytest.raises(AssertionError, match=problem):
        prepared(Fake(change), "s", messages, "openai-chat")


@pytest.mark.parametrize(("tokens", "budget", "problem"), [(10, 5, "5 allowed"), (9, 100, "reported 9")])
def test_the_budget(tokens: int, budget: int, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        prepared(Fake(list, tokens, budget), "s", [GO], "openai-chat")


@pytest.mark.parametrize(("needed", "parts"), [(10, {"protected": 10}), (30, {"protected": 10})])
def test_an_insufficient_budget_must_be_explained(needed: int, parts: dict[str, int]) -> None:
    def refuse(messages: list[Any]) -> list[Any]:
        raise InsufficientBudget("no", needed=needed, budget=20, arithmetic=parts)

    with pytest.raises(AssertionError):
        prepared(Fake(refuse), "s", [GO], "openai-chat")


def test_a_second_call_must_give_the_same() -> None:
    seen: list[int] = []

    def wander(messages: list[Any]) -> list[Any]:
        seen.append(1)
        return [{"role": "user", "content": f"Call {len(seen)}."}, *messages]

    manager, echo = Fake(wander), EchoSummarizer()
    found = prepared(manager, "s", [GO], "openai-chat")
    assert found is not None
    with pytest.raises(AssertionError, match="other bytes"):
        check_repeatable(manager, echo, "s", [GO], found, "openai-chat")


def test_a_prompt_must_continue_the_one_before() -> None:
    messages = [GO, DONE, GO, DONE, GO]
    steady = Fake(list)
    assert len(list(check_growing(steady, "s", messages, "openai-chat", adopt=False))) == 3
    sliding = Fake(lambda given: given[-1:])
    with pytest.raises(AssertionError, match="no prefix"):
        list(check_growing(sliding, "s", [GO, DONE, {**GO, "content": "More."}], "openai-chat", adopt=False))


def test_where_a_model_would_be_called() -> None:
    messages = [GO, ASKS, TOLD, DONE, GO, {**ASKS, "tool_calls": [CALL, {**CALL, "id": "b"}]}, TOLD]
    assert list(sendable(messages, "openai-chat")) == [(0, 1), (1, 3), (3, 5)]
