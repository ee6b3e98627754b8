"""Two sessions that begin alike share a summary's work, and nothing else: each has a record of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact.errors import CompactError
from compact.model.record import RecordKind
from compact.stores.memory import MemoryStore
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
    assert desk.manager.delete("one")
    later = Desk("chat", WINDOW, store=desk.manager._engine.store)
    assert later.preflight(FORK, session="two") == sent
    assert later.summarizer.calls == 0


def test_a_fork_of_a_fork_and_the_list_that_came_back(opened: Opener) -> None:
    desk = both(opened)
    third = desk.preflight(FORK, session="three")
    assert third == desk.preflight(FORK, session="two")
    assert [record.step for record in desk.manager.records("three")] == [1]
    # Handed a list that a record shortened, a session gets what stands behind it too.
    assert desk.preflight(third, session="four") == third
    assert desk.manager.recall("four", desk.manager.records("four")[0].handle)
    assert desk.manager.restore("four", 1) == FORK
    # And whoever goes on with that list in its own session is on its own record.
    assert desk.preflight(third, session="three") == third
    assert len(desk.manager.records("three")) == 1
    assert desk.summarizer.calls == 1


def test_a_shortened_list_goes_on_elsewhere_and_can_be_undone(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    adopted = list(desk.preflight(LONG, session="one"))
    later = [
        message
        for number in range(70, 100)
        for message in (assistant(f"a {number}" * 9), user(f"q {number}"))
    ]
    for message in later:
        adopted = list(desk.preflight([*adopted, message], session="two"))
    assert len(desk.manager.records("two")) >= 2
    assert desk.manager.restore("two", 1) == [*LONG, *later]


def taken_over_from_an_abandoned_branch(store: Any) -> tuple[Desk, list[Raw]]:
    """Session "two" goes on with what "one" was given; "one" went elsewhere. All that was said in "two"."""
    desk = Desk("chat", WINDOW, store=store)
    adopted, full = list(desk.preflight(LONG, session="one")), list(LONG)
    desk.preflight([*LONG[:3], user("The first session goes elsewhere.")], session="one")
    for number in range(70, 100):
        said = [assistant(f"a {number}" * 9), user(f"q {number}")]
        adopted, full = list(desk.preflight([*adopted, *said], session="two")), [*full, *said]
    return desk, full


def test_a_compaction_of_an_abandoned_branch_is_undone_in_whole(opened: Opener) -> None:
    desk, full = taken_over_from_an_abandoned_branch(opened())
    assert desk.manager.restore("two", desk.manager.records("two")[-1].step) == full
    assert desk.manager.restore("two", 1) == full


class CurrentLineOnly(MemoryStore):
    originals_up_to = None  # type: ignore[assignment]


def test_what_cannot_be_undone_in_whole_is_not_undone() -> None:
    desk, _ = taken_over_from_an_abandoned_branch(CurrentLineOnly())
    made = desk.manager.records("two")
    with pytest.raises(CompactError, match="Nothing was changed"):
        desk.manager.restore("two", made[-1].step)
    assert len(desk.manager.records("two")) == len(made)


def test_whoever_only_looks_takes_nothing_over(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    sent = desk.prepare(LONG, session="one")
    assert desk.manager.usage("two", LONG).tokens == sent.tokens.final
    desk.manager.plan("two", LONG)
    assert not desk.manager.records("two")


def test_a_restored_fork_takes_over_none_of_the_earlier_ones_either(opened: Opener) -> None:
    desk = Desk("chat", 60_000, store=opened())
    history: list[Raw] = []
    for part in range(2):
        history += [*pairs(40, first=100 * part), user("go on")]
        desk.manager.manual_compact("one", history)
        history.append(assistant("well"))
    history.append(user("and now?"))
    assert summaries(desk.preflight(history, session="two"))
    assert desk.manager.restore("two", 1) == history
    assert desk.preflight(history, session="two") == history
    # Nor does anybody take over what its own session undid.
    for record in desk.manager.records("one")[::-1]:
        desk.manager.restore("one", record.step)
    assert desk.preflight(history, session="three") == history
