"""Bounds are exact: at the bound one thing happens, one token past it the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compact.core.plan import make_plan
from compact.core.trigger import live_turns
from compact.model.event import Reason
from compact.model.message import Message
from compact.model.outcome import Compacted, Unchanged
from compact.model.plan import Mode
from compact.model.summary import Summary
from support.conversations import user
from support.views import SIZES, limits, policy, size, step, turn, turns, view
from unit.core.test_flow import TEXT, Driver, job, plan_for


def test_a_trim_ends_right_below_the_trigger() -> None:
    messages = turns(40)
    reached = set()
    for window in range(150, 500):
        rule = policy("window")
        bounds = limits(window, "window")
        plan = make_plan(view(messages), bounds, rule, SIZES, Reason.OVERFLOW)
        if any(f"last {count} turns" in str(plan.warnings) for count in range(3, 10)):
            # Fewer than the policy keeps: as many as just fit below the trigger.
            assert plan.after < bounds.trigger
            reached.add(bounds.trigger - plan.after)
    assert min(reached) == 1


def test_a_trim_may_fill_the_budget_to_the_last_token() -> None:
    messages = [*turns(12), user("x" * 900)]

    def planned(window: int) -> tuple[Mode, bool]:
        found = make_plan(view(messages), limits(window, "window"), policy("window"), SIZES, Reason.OVERFLOW)
        return found.mode, found.insufficient is not None

    window = next(window for window in range(900, 1_400) if not planned(window)[1])
    assert planned(window) == (Mode.DISCARD, False) and planned(window - 1) == (Mode.NONE, True)
    # What stays is the first two turns, the newest, and the marker: that is the budget, exactly.
    least = make_plan(view(messages), limits(window, "window"), policy("window"), SIZES, Reason.OVERFLOW)
    assert least.after == window


@pytest.mark.parametrize("more", [0, 1])
def test_turns_are_due_with_one_more_than_may_live(more: int) -> None:
    rule = policy("rolling", prune=True, prune_protect=0, prune_minimum=0, prune_keep_turns=0)
    live = live_turns(rule, summary_version=0)
    messages: list[Message] = [m for n in range(live + more) for m in turn(n, *step(n, "x" * 400))]
    messages.append(user("new"))
    bounds = limits(100_000, "rolling")
    plan = make_plan(view(messages), bounds, rule, SIZES, Reason.OVERFLOW)
    assert plan.mode is (Mode.SUMMARIZE if more else Mode.PRUNE)


@pytest.mark.parametrize(("saved", "kind"), [(0, Unchanged), (1, Compacted)])
def test_a_compaction_that_saves_nothing_is_not_committed(saved: int, kind: type) -> None:
    work = job(turns(30))
    plan = plan_for(work)
    done = Driver(Summary(TEXT)).run(work, plan)
    assert isinstance(done, Compacted)
    driver = Driver(Summary(TEXT))
    outcome = driver.run(work, replace(plan, before=done.tokens_after + saved))
    assert isinstance(outcome, kind)
    if isinstance(outcome, Unchanged):
        assert outcome.reason is Reason.NOT_SMALLER and "NeedCommit" not in driver.shape


def test_sizes_are_what_the_bounds_are_about() -> None:
    assert size(user("x" * 900)) == 900
