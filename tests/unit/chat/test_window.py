"""The state machine of the warnings and the delayed trim, as tables."""

from __future__ import annotations

import pytest

from compact.chat.window import Grace, Level, Sending, WindowState, landed, sending, trimmed

WINDOW, TRIGGER, BUDGET = 1_000, 800, 980
FRESH = WindowState()


@pytest.mark.parametrize(
    ("sizes", "warned"),
    [
        ([799, 800], [0, 80]),
        ([800, 810, 899], [80, 0, 0]),
        ([850, 900, 950], [80, 90, 0]),
        ([950], [90]),  # a jump past 90 % shows the orange warning only
        ([950, 850, 910], [90, 0, 90]),  # what fell below a step may cross it again
        ([850, 300, 850], [80, 0, 80]),
        ([1_200], [90]),
    ],
)
def test_each_warning_comes_once_a_crossing(sizes: list[int], warned: list[int]) -> None:
    state, told = FRESH, []
    for size in sizes:
        state, level = landed(state, size, WINDOW)
        told.append(int(level))
    assert told == warned


def test_after_a_trim_every_warning_may_come_again() -> None:
    state, _ = landed(FRESH, 950, WINDOW)
    assert landed(state, 955, WINDOW)[1] is Level.BELOW
    assert landed(trimmed(), 955, WINDOW)[1] is Level.NINETY


@pytest.mark.parametrize(
    ("before", "with_message", "how"),
    [
        (500, 520, Sending.AS_IT_IS),
        (799, 850, Sending.AS_IT_IS),  # the message itself crosses: the warning comes first, then the trim
        (800, 820, Sending.COMPACT),
        (899, 950, Sending.COMPACT),
        (500, 981, Sending.COMPACT),  # would not fit: at once
    ],
)
def test_a_trim_falls_due_at_the_trigger_and_runs_with_the_next_message(
    before: int, with_message: int, how: Sending
) -> None:
    state, _ = landed(FRESH, before, WINDOW)
    assert sending(state, before, with_message, TRIGGER, BUDGET)[1] is how


def test_at_90_percent_it_waits_for_exactly_one_further_turn() -> None:
    state, _ = landed(FRESH, 920, WINDOW)
    state, how = sending(state, 920, 930, TRIGGER, BUDGET)
    assert how is Sending.TRIM_WAITS
    state, _ = landed(state, 940, WINDOW)
    assert sending(state, 940, 950, TRIGGER, BUDGET)[1] is Sending.COMPACT


def test_a_turn_at_80_that_goes_on_to_90_waits_only_from_there() -> None:
    state, _ = landed(FRESH, 850, WINDOW)
    assert state.grace is Grace.NONE
    # The trim found nothing to take, so the turn went out and landed at 90 %.
    state, level = landed(state, 910, WINDOW)
    assert level is Level.NINETY
    assert sending(state, 910, 915, TRIGGER, BUDGET)[1] is Sending.TRIM_WAITS


def test_the_further_turn_is_not_granted_where_it_would_not_fit() -> None:
    state, _ = landed(FRESH, 950, WINDOW)
    after, how = sending(state, 950, 981, TRIGGER, BUDGET)
    assert how is Sending.COMPACT
    assert after.grace is Grace.OPEN  # it was not used up


def test_grace_is_given_anew_after_a_trim_and_after_falling_below() -> None:
    spent = WindowState(Level.NINETY, Grace.SPENT)
    below, _ = landed(spent, 300, WINDOW)
    assert landed(below, 950, WINDOW)[0].grace is Grace.OPEN
    assert landed(spent, 950, WINDOW)[0].grace is Grace.SPENT
    assert landed(trimmed(), 950, WINDOW)[0].grace is Grace.OPEN
