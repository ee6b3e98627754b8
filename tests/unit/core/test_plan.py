"""Plans: what would happen, as a value."""

from __future__ import annotations

from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.core.event_data import hopeless_data, insufficient_budget
from compact.core.layers import FIRST_LINE
from compact.core.plan import make_plan, plan_without_summary
from compact.core.trigger import policy_limits
from compact.model.event import Reason
from compact.model.message import Message, Role, Text
from compact.model.plan import Action, Mode, Plan
from compact.model.policy import LEAST_SUMMARY
from support.conversations import assistant, message, user
from support.views import FRAME, SIZES, limits, policy, size, step, summary, turn, turns, view

TURN = size(turns(1)[0]) + size(turns(1)[1])


def planned(messages: list[Message], window: int, name: str = "budget", **changes: Any) -> Plan:
    reason = changes.pop("reason", Reason.OVERFLOW)
    changes = {"hard_cap_buffer": 0, "output_reserve": 0} | changes
    return make_plan(view(messages), limits(window, name, **changes), policy(name, **changes), SIZES, reason)


def actions(plan: Plan) -> list[str]:
    return [step.action.value for step in plan.steps if step.index is not None]


def test_a_plan_names_every_message_and_what_it_saves() -> None:
    messages = [message(Role.USER, *user("rule").parts, protected=True), *turns(30)]
    plan = planned(messages, 600)
    assert plan.mode is Mode.SUMMARIZE and plan.reason is Reason.OVERFLOW
    assert actions(plan) == ["pinned", *["summarized"] * 48, *["kept"] * 12]
    assert sum(s.saves for s in plan.steps) == sum(size(m) for m in messages[1:49])
    assert plan.steps[-1].action is Action.INJECT and plan.steps[-1].tokens == plan.summary_tokens + FRAME
    assert sorted((*plan.leading, *plan.recent, *plan.replaced)) == list(range(len(messages)))
    assert plan.before == sum(map(size, messages)) and plan.after < plan.before
    assert (plan.kept_counts.pinned, plan.kept_counts.recent_turns) == (1, 7)


def test_the_same_view_gives_the_same_plan() -> None:
    messages = [m for n in range(9) for m in turn(n, *step(n))]
    assert planned(messages, 900) == planned(messages, 900)


def test_two_managers_make_equal_plans_of_equal_messages() -> None:
    config = CompactConfig(counter="chars4", max_context_tokens=2_000)
    made = [
        CompactManager(config).plan("s", [{"role": "user", "content": f"{n} " * 400} for n in range(9)])
        for _ in range(2)
    ]
    assert made[0] == made[1] and made[0].triggered


def test_the_summary_gets_at_most_half_of_what_it_replaces() -> None:
    plan = planned(turns(40), 8_000, reason=Reason.MANUAL)
    assert plan.summary_tokens == sum(size(m) for m in turns(40)[:68]) // 2


def test_a_summary_that_would_save_nothing_is_not_asked_for() -> None:
    few = planned(turns(7), 8_000, reason=Reason.MANUAL)
    assert TURN <= LEAST_SUMMARY + FRAME
    assert few.mode is Mode.NONE and few.reason is Reason.NOTHING_TO_SHRINK
    # Folding on turns is about the number of turns, not about tokens.
    assert planned(turns(7), 8_000, "rolling", reason=Reason.TURNS).mode is Mode.SUMMARIZE


def test_nothing_to_shrink() -> None:
    assert planned(turns(3), 8_000, reason=Reason.MANUAL).reason is Reason.NOTHING_TO_SHRINK
    assert planned([], 8_000, reason=Reason.MANUAL).reason is Reason.NOTHING_TO_SHRINK


def test_where_not_even_the_floor_fits_the_sum_is_shown() -> None:
    plan = planned([*turns(2), user("x" * 900)], 800)
    assert plan.mode is Mode.NONE and plan.insufficient is not None
    assert plan.insufficient["newest_turn"] == 900
    assert sum(plan.insufficient.values()) > 800


def test_a_plan_that_does_not_fit_shows_the_sizes_of_what_is_there() -> None:
    messages = [*turn(0, *step(0, "x" * 4_000)), user("y" * 900)]
    plan = planned(messages, 800)
    assert plan.insufficient is not None and plan.before == sum(map(size, messages))


def test_first_turns_that_always_stay_are_told_apart() -> None:
    plan = planned([user("x" * 900), *turns(4)], 800, "window")
    assert plan.insufficient is not None
    assert plan.insufficient["first_turns"] >= 900 > 100 > plan.insufficient["newest_turn"] > 0
    assert "shorten the first or the newest message" in str(
        insufficient_budget(plan.insufficient, plan.limits)
    )
    alone = planned([user("x" * 900)], 800, "window")
    assert alone.insufficient is not None and alone.insufficient["newest_turn"] == 900
    assert "shorten the newest message" in str(insufficient_budget(alone.insufficient, alone.limits))


def test_the_error_that_nothing_fits_names_the_parts_in_words() -> None:
    numbers = policy_limits(policy(hard_cap_buffer=300), 2_500, fixed=1_200)
    parts = {
        "system_and_tools": 1_200,
        "protected": 600,
        "first_turns": 1,
        "newest_turn": 500,
        "marks_of_ours": 9,
    }
    error = insufficient_budget(parts, numbers)
    assert error.arithmetic == parts
    assert (
        "needs 2,310 tokens (system prompt and tools: 1,200 tokens, protected messages: 600, first turns: 1, "
        "newest turn: 500, lines around the summary: 9), but the budget"
    ) in str(error)
    assert "_" not in str(error)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"system_and_tools": 9_000, "newest_turn": 90}, "Shorten the system prompt or the tools, reduce"),
        ({"system_and_tools": 90, "newest_turn": 9_000}, "Nothing was changed. Reduce protected memory, "),
    ],
)
def test_the_advice_names_the_system_prompt_where_it_is_the_largest(parts: dict[str, int], told: str) -> None:
    assert told in str(insufficient_budget(parts, policy_limits(policy(), 2_500, fixed=3)))


@pytest.mark.parametrize(
    ("fixed", "messages", "helps"),
    [
        (0, [user("p" * 9_000, protected=True), user("x" * 90)], True),
        (0, [user("x" * 2_200)], True),
        (0, [user("x" * 2_201)], False),
        (1_000, [user("x" * 1_201)], False),
        (2_201, [], False),
        # What something has answered is stored: a new session does not send it again.
        (0, [user("x" * 9_000), assistant("fine")], True),
        (0, [user("x" * 90), *step(1, output="o" * 9_000)], True),
        (2_199, [user("x" * 9_000), assistant("fine")], True),
        (2_201, [user("x" * 9_000), assistant("fine")], False),
        # Only the newest message is to be sent; what we or the developer added after it is not the user's.
        (0, [user("x" * 9_000), user("x" * 90)], True),
        (0, [user("x" * 9_000), message(Role.SYSTEM, Text("be brief")), summary("s")], False),
    ],
)
def test_a_new_session_is_suggested_where_it_could_send_the_newest_message(
    fixed: int, messages: list[Message], helps: bool
) -> None:
    numbers = policy_limits(policy(hard_cap_buffer=300), 2_500, fixed=fixed)
    assert numbers.budget == 2_200
    data = hopeless_data(insufficient_budget({"newest_turn": 9_000}, numbers), view(messages), numbers)
    assert (data["canRetry"], data["suggestNewSession"]) == (False, helps)


@pytest.mark.parametrize("scale", [0.5, 0.8, 1.0, 1.1, 2.7])
def test_a_sum_over_the_budget_is_so_too_as_the_provider_counts(scale: float) -> None:
    numbers = policy_limits(policy(hard_cap_buffer=300), 2_500, fixed=3, scale=scale)
    for protected in range(numbers.budget - 2, numbers.budget + 60):
        error = insufficient_budget({"system_and_tools": 3, "protected": protected}, numbers)
        assert error.needed == sum(error.arithmetic.values()) > error.budget
        assert f"needs {error.needed:,} tokens" in str(error)


def test_a_small_prune_is_discarded_for_a_summary() -> None:
    def run(outputs: int) -> list[Message]:
        old = [m for n in range(outputs) for m in turn(n, *step(n, "x" * 300))]
        return [*old, user("y" * 200), *turns(2)]

    # Four outputs of 300 lie past protect (600); without them some 1,300 of 2,000 are left.
    assert planned(run(6), 2_000, "agent", prune_accept_pct=0.7).mode is Mode.PRUNE
    tight = planned(run(6), 2_000, "agent", prune_accept_pct=0.6)
    assert tight.mode is Mode.SUMMARIZE and not tight.cleared


@pytest.mark.parametrize("above", [True, False])
def test_a_prune_is_enough_only_if_it_does_not_leave_the_trigger_reached(above: bool) -> None:
    old = [m for n in range(6) for m in turn(n, *step(n, "x" * 300))]
    changes = {"trigger_above": above, "prune_accept_pct": 1.0}
    left = planned([*old, *turns(2)], 2_000, "agent", **changes).after
    filled = [*old, user("y" * (1_600 - left - size(user("")))), *turns(2)]
    plan = planned(filled, 2_000, "agent", **changes)
    assert plan.after == 1_600 if above else plan.mode is Mode.SUMMARIZE
    made = plan_without_summary(view(filled), plan.limits, policy("agent", **changes), SIZES, plan.reason)
    assert made.mode is (Mode.PRUNE if above else Mode.DISCARD)


def test_at_the_end_of_a_turn_there_is_a_prune_or_nothing() -> None:
    messages = [m for n in range(9) for m in turn(n, *step(n, "x" * 300))]
    assert planned(messages, 3_000, "agent", reason=Reason.END_TURN).mode is Mode.PRUNE
    for name in ("budget", "chat", "window", "rolling"):
        assert planned(messages, 3_000, name, reason=Reason.END_TURN).mode is Mode.NONE


def test_a_trim_goes_below_the_trigger_and_says_what_it_kept() -> None:
    messages = [
        m for n in range(20) for m in (user("q" * 40), message(Role.ASSISTANT, *user("a" * 40).parts))
    ]
    plan = planned(messages, 1_200, "window")
    assert plan.mode is Mode.DISCARD and plan.after < 960
    assert plan.warnings == ("Context trimmed. Kept first 2 and last 10 turns.",)
    lower = planned(messages, 625, "window")
    assert lower.warnings == ("Context trimmed. Kept first 2 and last 8 turns.",)


def test_what_the_steps_save_and_put_in_is_what_the_plan_saves() -> None:
    busy = [m for n in range(9) for m in turn(n, *step(n, "x" * 300))]
    plans = [
        planned(busy, 3_000, "agent", prune_accept_pct=0.8),
        planned(busy, 1_500, "agent"),
        planned([assistant("an answer first"), *busy], 1_500, "window"),
        plan_without_summary(
            view([summary(), *busy]), limits(900), policy(hard_cap_buffer=0), SIZES, Reason.OVERFLOW
        ),
    ]
    assert [plan.mode for plan in plans] == [Mode.PRUNE, Mode.SUMMARIZE, Mode.DISCARD, Mode.DISCARD]
    for plan in plans:
        injected = sum(s.tokens for s in plan.steps if s.action is Action.INJECT)
        assert plan.after == plan.before - sum(s.saves for s in plan.steps) + injected < plan.before


@pytest.mark.parametrize("name", ["budget", "chat", "agent", "rolling"])
def test_what_must_stay_fits_to_the_last_token_where_no_summary_does(name: str) -> None:
    pinned = message(Role.USER, *user("p" * 500).parts, protected=True)
    messages = [pinned, *turns(9), user("now finish")]
    plan = planned(messages, 510, name)
    assert plan.mode is Mode.DISCARD and plan.after == 510 and not plan.carries_summary
    short = planned(messages, 509, name)
    assert short.insufficient == {"system_and_tools": 0, "protected": 500, "newest_turn": 10}


def test_a_line_that_must_open_the_prompt_is_part_of_the_sum() -> None:
    messages = [*turns(9), *step(1), message(Role.ASSISTANT, *user("p" * 500).parts, protected=True)]
    needed = 500 + size(user("question 9")) + sum(map(size, step(1)))
    assert planned(messages, needed).mode is Mode.DISCARD
    answer_first = [messages[-1], *turns(9), user("go")]
    assert planned(answer_first, 502 + len(FIRST_LINE)).mode is Mode.DISCARD
    refused = planned(answer_first, 501 + len(FIRST_LINE)).insufficient
    assert refused is not None and refused["marks_of_ours"] == len(FIRST_LINE)


@pytest.mark.parametrize("reason", [Reason.TURNS, Reason.OVERFLOW, Reason.MANUAL])
def test_where_turns_are_due_clearing_outputs_is_not_enough(reason: Reason) -> None:
    busy = [m for n in range(9) for m in turn(n, *step(n, "x" * 300))]
    folding = {"prune": True, "keep_tool_io_pairs": None, "reason": reason}
    assert planned([*busy, user("go")], 3_000, "rolling", **folding).mode is Mode.SUMMARIZE
    # Turns that are protected never fold, so they are not due either.
    kept = [message(Role.USER, *user(f"rule {n}").parts, protected=True) for n in range(9)]
    pruned = planned([*kept, *busy[-20:], user("go")], 2_000, "rolling", **folding, prune_accept_pct=1.0)
    assert (pruned.mode is Mode.PRUNE) == (reason is not Reason.TURNS)


def test_without_a_summary_the_earlier_one_is_counted() -> None:
    messages = [summary("S" * 300), *turns(30)]
    numbers = policy(hard_cap_buffer=0)
    plan = plan_without_summary(view(messages), limits(700), numbers, SIZES, Reason.OVERFLOW)
    assert plan.mode is Mode.DISCARD and plan.summary_tokens == 0
    assert plan.after >= 300 + 12 * TURN // 2 - 1


def loop(steps: int, output: int) -> list[Message]:
    """A run of one task, as agents make them."""
    lines = "\n".join(f"{n:>4} a line of the file" for n in range(output // 24))
    return [user("the task"), *(m for n in range(steps) for m in step(n, lines))]


def test_kept_outputs_are_cut_evenly_to_what_the_target_leaves() -> None:
    plan = planned(loop(12, 3_000), 40_000, summary_max_pct=0.05)
    assert plan.mode is Mode.SUMMARIZE and len(plan.cleared) == 3
    assert 8_500 < plan.after <= 10_000
    lengths = {len(text) for entry in plan.cleared.values() for text in entry.texts}
    assert max(lengths) - min(lengths) < 50
    # With room for them they stay whole.
    assert not planned(loop(12, 3_000), 40_000, summary_max_pct=0.05, target_pct=0.40).cleared


def test_toward_the_target_outputs_are_cut_to_an_eighth_of_the_cap_at_most() -> None:
    plan = planned(loop(12, 3_000), 40_000, target_pct=0.0)
    lengths = [len(text) for entry in plan.cleared.values() for text in entry.texts]
    assert len(lengths) == 3 and all(400 < length <= 500 for length in lengths)


def test_shortening_what_stays_takes_nothing_from_the_summary_of_the_rest() -> None:
    whole = planned(loop(12, 3_000), 40_000, output_cap_pct=1.0, target_pct=1.0)
    short = planned(loop(12, 3_000), 40_000, target_pct=0.0)
    assert short.summary_tokens == whole.summary_tokens == 6_000 and short.after < whole.after


def test_whether_a_prune_is_enough_is_asked_of_the_whole_view() -> None:
    # Were it asked of the shortened one, the plan with short outputs would be a prune, and not be taken.
    plan = planned(loop(8, 3_300), 32_000, "agent", prune_accept_pct=0.60, target_pct=0.25)
    assert plan.mode is Mode.SUMMARIZE and len(plan.cleared) == 3 and plan.after <= 8_000
