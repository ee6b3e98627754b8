"""When to compact: shares, turns, growth, long messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compact.core.trigger import Facts, decide, live_turns, policy_limits
from compact.model.event import Reason
from compact.model.plan import Limits
from compact.policies import preset
from support.views import policy

LIMITS = Limits(window=1_000, budget=950, trigger=850, fixed=0, summary=100)


def facts(total: int, **more: int | None) -> Facts:
    return Facts(total=total, **{"finished_turns": 0, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("window", "share", "above", "trigger"),
    [
        (128_000, 0.85, False, 108_800),
        (2_001, 0.80, False, 1_601),  # 1,600.8
        (2_001, 0.80, True, 1_600),
        (100, 0.29, False, 29),  # 28.999999999999996 in floats
        (100, 0.58, True, 58),  # 57.99999999999999
    ],
)
def test_the_trigger_is_the_first_whole_token_that_counts(
    window: int, share: float, above: bool, trigger: int
) -> None:
    numbers = policy(trigger_pct=share, trigger_above=above, hard_cap_buffer=0)
    assert policy_limits(numbers, window, fixed=0).trigger == trigger


def test_the_trigger_never_lies_above_the_budget() -> None:
    assert policy_limits(policy(output_reserve=1_500), 4_000, fixed=0).trigger == 2_500  # not 3,400


def test_the_buffer_takes_at_most_15_percent_of_a_small_window() -> None:
    assert policy_limits(policy(), 128_000, fixed=0).budget == 126_500
    assert policy_limits(policy(), 10_000, fixed=0).budget == 8_500
    assert policy_limits(policy(), 2_000, fixed=0).budget == 1_700
    assert policy_limits(policy(hard_cap_buffer=100), 2_000, fixed=0).budget == 1_900
    window = policy_limits(preset("window"), 2_000, fixed=0)
    assert (window.budget, window.trigger) == (2_000, 1_600)


def test_the_reserve_takes_at_most_40_percent_of_a_small_window() -> None:
    agent = preset("agent")
    assert policy_limits(agent, 128_000, fixed=0).budget == 128_000 - 4_096
    assert policy_limits(agent, 16_000, fixed=0).budget == 16_000 - 4_096
    assert policy_limits(agent, 4_000, fixed=0).budget == 2_400
    assert policy_limits(agent, 1_000, fixed=0).budget == 600


def test_a_prompt_that_fills_the_budget_still_fits() -> None:
    assert decide(facts(950, after_last=940), LIMITS, policy()) == (False, Reason.NO_GROWTH)
    assert decide(facts(951, after_last=940), LIMITS, policy()) == (True, Reason.OVERFLOW)


def test_at_or_strictly_above() -> None:
    assert decide(facts(850), LIMITS, policy()) == (True, Reason.OVERFLOW)
    assert decide(facts(849), LIMITS, policy()) == (False, Reason.BELOW_TRIGGER)
    above = replace(LIMITS, trigger_above=True)
    assert decide(facts(850), above, policy()) == (False, Reason.BELOW_TRIGGER)
    assert decide(facts(851), above, policy()) == (True, Reason.OVERFLOW)
    assert (above.below_trigger, LIMITS.below_trigger) == (850, 849)
    numbers = policy(trigger_above=True)
    assert policy_limits(numbers, 1_000, fixed=0).trigger_above


def test_after_a_compaction_the_next_needs_growth() -> None:
    assert decide(facts(900, after_last=860), LIMITS, policy()) == (False, Reason.NO_GROWTH)
    assert decide(facts(940, after_last=840), LIMITS, policy()) == (True, Reason.OVERFLOW)
    # Less than it left is no growth either, also when that is still over the trigger.
    assert decide(facts(855, after_last=870), LIMITS, policy()) == (False, Reason.NO_GROWTH)


def test_without_a_least_growth_there_must_be_some_all_the_same() -> None:
    assert decide(facts(860, after_last=860), LIMITS, policy(growth_pct=0)) == (False, Reason.NO_GROWTH)
    assert decide(facts(861, after_last=860), LIMITS, policy(growth_pct=0)) == (True, Reason.OVERFLOW)


def test_over_budget_nothing_holds_it_back() -> None:
    held = facts(951, after_last=951, newest_user_tokens=900)
    assert decide(held, LIMITS, policy("rolling")) == (True, Reason.OVERFLOW)


def test_folding_on_turns() -> None:
    rolling = policy("rolling")
    assert decide(facts(10, finished_turns=6), LIMITS, rolling) == (False, Reason.BELOW_TRIGGER)
    assert decide(facts(10, finished_turns=7), LIMITS, rolling) == (True, Reason.TURNS)
    assert decide(facts(10, finished_turns=7), LIMITS, policy()) == (False, Reason.BELOW_TRIGGER)


def test_a_long_message_waits() -> None:
    long = facts(400, finished_turns=9, newest_user_tokens=251)
    assert decide(long, LIMITS, policy("rolling")) == (False, Reason.LONG_MESSAGE)
    just = facts(400, finished_turns=9, newest_user_tokens=250)
    assert decide(just, LIMITS, policy("rolling")) == (True, Reason.TURNS)


def test_how_many_turns_may_live() -> None:
    rolling = policy("rolling")
    assert live_turns(rolling, 0) == 6
    assert live_turns(rolling, 2) == 6
    literal = policy("rolling", fold_slack_turns=0)
    assert live_turns(literal, 2) == 4
    # Right after the first fold 6 turns live: the window shrinks with the next user message, not at once.
    assert live_turns(literal, 1) == 6


def test_the_marks_are_shown_as_they_were_set() -> None:
    for scale in (0.83, 1.0, 1.37, 2.9, 3.3):
        limits = policy_limits(policy(hard_cap_buffer=200), 20_000, 300, scale)
        shown = [limits.real(mark) for mark in (limits.window, limits.budget, limits.trigger)]
        assert shown == [20_000, 19_800, 17_000]
        assert limits.real(limits.budget - 1) <= 19_800 <= limits.real(limits.budget + 1)


def test_a_fold_that_failed_waits_for_another_turn() -> None:
    rolling = preset("rolling")
    assert decide(facts(100, finished_turns=7), LIMITS, rolling) == (True, Reason.TURNS)
    failed = replace(facts(100, finished_turns=7), fold_failed=True)
    assert decide(failed, LIMITS, rolling) == (False, Reason.NO_GROWTH)
    # It does not stop a compaction that the size demands.
    assert decide(replace(failed, total=960), LIMITS, rolling) == (True, Reason.OVERFLOW)
