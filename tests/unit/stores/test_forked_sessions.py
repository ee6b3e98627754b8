"""Two sessions that begin alike share a summary's work, and nothing else: each has a record of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact.model.record import RecordKind
from support.raw import Desk, Raw, assistant, pairs, summaries, user

WINDOW = 2_000
LONG: list[Raw] = [*pairs(30), user("the newest")]
FORK = [*LONG, assistant("fine"), user("another way")]

Opener = Callable[[], Any]


def both(opened: Opener) -> Desk:
    desk = Desk("chat", WINDOW, store=opened())
    assert summaries(desk.preflight(LONG, session="one"))
    assert desk.summarizer.calls == 1
    assert summaries(desk.preflight(FORK, session="two"))
    assert desk.summarizer.calls == 1
    return desk


@pytest.mark.spec("S0.5")
def test_a_fork_has_the_summary_on_its_own_record(opened: Opener) -> None:
    desk = both(opened)
    (one,), (two,) = desk.manager.records("one"), desk.manager.records("two")
    assert (two.summary, two.output, two.step) == (one.summary, one.output, 1)
    assert two.id != one.id
    # Also for who comes later, and it is not copied again.
    later = Desk("chat", WINDOW, store=opened())
    later.preflight(FORK, session="two")
    assert [record.id for record in later.manager.records("two")] == [two.id]
    assert later.summarizer.calls == 0


def test_undoing_it_in_the_fork_leaves_the_first_as_it_is(opened: Opener) -> None:
    desk = both(opened)
    sent = desk.preflight(LONG, session="one")
    assert desk.manager.restore("two", 1) == FORK
    plan = desk.manager.plan("two", FORK)
    assert [message.text for message in plan.messages] == [message["content"] for message in FORK]
    assert desk.preflight(LONG, session="one") == sent
    assert [record.kind for record in desk.manager.records("one")] == [RecordKind.COMPACTION]
    assert desk.summarizer.calls == 1


def test_undoing_it_in_the_first_leaves_the_fork_as_it_is(opened: Opener) -> None:
    desk = both(opened)
    sent = desk.preflight(FORK, session="two")
    assert desk.manager.restore("one", 1) == LONG
    for again in (desk, Desk("chat", WINDOW, store=opened())):
        assert again.preflight(FORK, session="two") == sent


def test_a_restored_fork_compacts_again_by_itself(opened: Opener) -> None:
    desk = both(opened)
    desk.manager.restore("two", 1)
    assert summaries(desk.preflight(FORK, session="two"))
    assert desk.summarizer.calls == 2
    assert len(desk.manager.records("one")) == 1
    assert desk.manager.records("two")[-1].parent is None


def test_the_fork_keeps_it_when_the_first_is_deleted(opened: Opener) -> None:
    desk = both(opened)
    sent = desk.preflight(FORK, session="two")
    assert desk.manager.forget("one")
    later = Desk("chat", WINDOW, store=desk.manager._engine.store)
    assert later.preflight(FORK, session="two") == sent
    assert later.summarizer.calls == 0


def test_a_fork_of_a_fork_and_the_list_that_came_back(opened: Opener) -> None:
    desk = both(opened)
    third = desk.preflight(FORK, session="three")
    assert third == desk.preflight(FORK, session="two")
    assert [record.step for record in desk.manager.records("three")] == [1]
    # Handed a list that a record shortened, a session has not the originals: there is nothing it could undo.
    assert desk.preflight(third, session="four") == third
    assert not desk.manager.records("four")
    # And whoever goes on with that list in its own session is on its own record.
    assert desk.preflight(third, session="three") == third
    assert len(desk.manager.records("three")) == 1
    assert desk.summarizer.calls == 1
