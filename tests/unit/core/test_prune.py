"""Which outputs are cleared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compact.core.prune import NOTHING, Pruning, minimum_tokens, plan_prune, protect_tokens
from compact.core.view import Item, cleared_text
from compact.model.message import Image, Message, Role, ToolResult
from compact.model.record import Cleared
from support.conversations import call, message, user
from support.views import SIZES, layout, policy, step, summary, turn, turns

PLACEHOLDER = len(cleared_text("r-0123456789"))


def prune(messages: list[Message], window: int = 1_000, **changes: Any) -> Pruning:
    found = layout(messages, "agent", **{"prune_minimum_pct": 0.0} | changes)
    return plan_prune(found, window, SIZES.of_results, SIZES.of_text)


def old(count: int, output: int = 200) -> list[Message]:
    return [m for n in range(1, count + 1) for m in turn(n, *step(n, "x" * output))] + turns(2)


def test_protect_and_minimum_follow_the_window() -> None:
    assert (protect_tokens(policy("agent"), 200_000), minimum_tokens(policy("agent"), 200_000)) == (
        40_000,
        20_000,
    )
    assert (protect_tokens(policy("agent"), 10_000), minimum_tokens(policy("agent"), 10_000)) == (
        3_000,
        1_500,
    )


def test_the_straddling_output_is_cleared() -> None:
    # Protect is 300 of 1,000: the newest output of 200 stays, the second straddles.
    found = prune(old(4))
    assert [entry.call_ids for _, entry in sorted(found.cleared.items())] == [("c1",), ("c2",), ("c3",)]
    assert found.saved == 3 * (200 - PLACEHOLDER) and found.tools == ("read",)


def test_all_or_nothing() -> None:
    worth = 3 * (200 - PLACEHOLDER)
    assert prune(old(4), prune_minimum=worth, prune_minimum_pct=1.0).saved == worth
    assert prune(old(4), prune_minimum=worth + 1, prune_minimum_pct=1.0) is NOTHING


def test_what_is_shorter_than_its_placeholder_stays() -> None:
    assert prune(old(9, output=PLACEHOLDER)) is NOTHING
    assert prune(old(9, output=PLACEHOLDER + 1)).saved > 0


def test_nothing_before_a_summary_is_looked_at() -> None:
    messages = [*turn(90, *step(90, "x" * 900)), summary(), *old(4)]
    assert {c for entry in prune(messages).cleared.values() for c in entry.call_ids} == {"c1", "c2", "c3"}


def test_protected_groups_stay() -> None:
    messages = old(4)
    messages[2] = message(Role.TOOL, *messages[2].parts, protected=True)
    assert {c for entry in prune(messages).cleared.values() for c in entry.call_ids} == {"c2", "c3"}


def test_what_was_cleared_before_is_not_counted_again() -> None:
    found = layout(old(4), "agent", prune_minimum_pct=0.0)
    items = list(found.items)
    items[2] = Item(items[2].message, 60, 2, Cleared(2, ("c1",), (200,)))
    again = plan_prune(type(found)(items, found.policy), 1_000, SIZES.of_results, SIZES.of_text)
    assert {c for entry in again.cleared.values() for c in entry.call_ids} == {"c2", "c3"}


def test_results_in_one_message_are_cleared_one_by_one() -> None:
    both = message(Role.TOOL, ToolResult("a", "x" * 250), ToolResult("b", "x" * 250))
    asked = call("a", "read", "{}")
    asked = message(Role.ASSISTANT, *asked.parts, *call("b", "read", "{}").parts)
    found = prune([user("q"), asked, both, *turns(2)])
    assert [entry.call_ids for entry in found.cleared.values()] == [("a",)]


def test_images_in_an_output_go_with_it() -> None:
    shot = ToolResult("s1", "", media=(Image("https://example.org/a.png"),))
    messages = [user("q"), call("s1", "shot", "{}"), message(Role.TOOL, shot), *old(3)]
    sized = replace(SIZES, of_results=lambda m: [1_000 if r.media else len(r.text) for r in m.results])
    found = plan_prune(
        layout(messages, "agent", prune_minimum_pct=0.0), 1_000, sized.of_results, sized.of_text
    )
    assert "shot" in found.tools


@pytest.mark.parametrize("steps", [1, 4, 5, 8])
def test_the_newest_steps_of_the_last_turns_are_exempt(steps: int) -> None:
    messages = [user("the task"), *[m for n in range(steps) for m in step(n, "x" * 400)]]
    assert len(prune(messages, prune_protect=0).cleared) == max(0, steps - 4)
