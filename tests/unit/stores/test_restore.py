"""Undoing compactions: after a restart, after later turns, again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact.errors import CompactError, SessionBusy
from compact.model.message import MessageKind
from compact.model.record import RecordKind
from support.raw import Desk, Raw, assistant, pairs, summaries, user

WINDOW = 2_000
LONG = [*pairs(16), user("the newest")]

Opener = Callable[[], Any]


def grown(desk: Desk, history: list[Raw], compactions: int) -> list[Raw]:
    """Turns added until the session has so many compactions."""
    while len(desk.manager.records("s")) < compactions:
        history = [*history, assistant(f"answer to {len(history)}"), user(f"question {len(history)}")]
        desk.preflight(history)
    return history


def summaries_in_view(desk: Desk, history: list[Raw]) -> list[str]:
    """What the next prompt would start from; only looking, because it would be compacted at once."""
    view = desk.manager.plan("s", history).messages
    return [message.text for message in view if message.kind is MessageKind.SUMMARY]


def test_a_compaction_is_undone_after_a_restart_and_later_turns(opened: Opener) -> None:
    history = grown(Desk("chat", WINDOW, store=opened()), LONG, 1)
    history = [*history, assistant("fine"), user("go on")]
    Desk("chat", WINDOW, store=opened()).preflight(history)
    after = Desk("chat", WINDOW, store=opened())
    assert len(summaries_in_view(after, history)) == 1
    assert after.manager.restore("s", 1) == history
    assert summaries_in_view(after, history) == []
    kinds = [record.kind for record in after.manager.records("s")]
    assert kinds == [RecordKind.COMPACTION, RecordKind.RESTORE]


def test_undoing_a_step_undoes_what_was_built_on_it(opened: Opener) -> None:
    history = grown(Desk("chat", WINDOW, store=opened()), LONG, 3)
    desk = Desk("chat", WINDOW, store=opened())
    assert desk.manager.restore("s", 2) == history
    left = summaries_in_view(desk, history)
    assert len(left) == 1 and "v1" in left[0]
    assert desk.manager.restore("s", 1) == history
    assert summaries_in_view(desk, history) == []


def test_a_restored_session_compacts_again_and_differently(opened: Opener) -> None:
    first = Desk("chat", WINDOW, store=opened())
    history = grown(first, LONG, 1)
    old = first.preflight(history)
    desk = Desk("chat", WINDOW, store=opened())
    desk.manager.restore("s", 1)
    new = desk.manager.manual_compact("s", history, note="keep the port numbers")
    assert summaries(new) and summaries(new) != summaries(old)
    # And that is what counts from now on, also after a restart.
    later = Desk("chat", WINDOW, store=opened())
    assert later.preflight(history) == new
    assert [record.step for record in later.manager.records("s")] == [1, 1, 2]
    assert later.summarizer.calls == 0


def test_to_undo_twice_changes_nothing_more(opened: Opener) -> None:
    history = grown(Desk("chat", WINDOW, store=opened()), LONG, 1)
    desk = Desk("chat", WINDOW * 10, store=opened())
    assert desk.manager.restore("s", 1) == desk.manager.restore("s", 1) == history
    assert len(desk.manager.records("s")) == 2


def test_a_process_that_runs_on_hears_of_the_restore(opened: Opener) -> None:
    running = Desk("chat", WINDOW, store=opened())
    history = grown(running, LONG, 1)
    assert summaries(running.preflight(history))
    Desk("chat", WINDOW, store=opened()).manager.restore("s", 1)
    running.manager._engine.enabled = False
    history = [*history, assistant("fine"), user("go on")]
    assert running.preflight(history) == history


def test_an_unknown_step_is_named_and_nothing_happens(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    grown(desk, LONG, 1)
    with pytest.raises(CompactError, match=r"no compaction 9 \(it has: 1\)"):
        desk.manager.restore("s", 9)
    assert len(desk.manager.records("s")) == 1
    store = opened()
    with pytest.raises(CompactError, match=r"no compaction 1 \(it has: none\)"):
        Desk("chat", WINDOW, store=store).manager.restore("nobody", 1)
    assert store.session("nobody") is None


def test_a_session_that_compacts_is_not_restored(opened: Opener) -> None:
    store = opened()
    desk = Desk("chat", WINDOW, store=store)
    grown(desk, LONG, 1)
    with store.lease("s", 60), pytest.raises(SessionBusy):
        desk.manager.restore("s", 1)
    assert len(desk.manager.records("s")) == 1


def test_steps_are_numbered_across_processes(opened: Opener) -> None:
    one, other = Desk("chat", WINDOW, store=opened()), Desk("chat", WINDOW, store=opened())
    history = LONG
    for number in range(1, 4):
        history = grown((one, other)[number % 2], history, number)
    assert [record.step for record in one.manager.records("s")] == [1, 2, 3]
    assert [record.version for record in one.manager.records("s")] == [1, 2, 3]


def test_a_compaction_that_ends_as_the_undo_begins_is_undone_with_it(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = grown(Desk("chat", WINDOW, store=opened()), LONG, 1)
    store = opened()
    undoing, other = Desk("chat", WINDOW, store=store), Desk("chat", WINDOW, store=opened())
    take, ends = store.lease, iter([lambda: grown(other, history, 2)])

    def lease(*asked: Any) -> Any:
        next(ends, list)()
        return take(*asked)

    monkeypatch.setattr(store, "lease", lease)
    longer = undoing.manager.restore("s", 1)
    undone = [record.step for record in undoing.manager.records("s") if record.kind is RecordKind.RESTORE]
    assert undone == [2, 1] and len(longer) > len(history)
    assert summaries_in_view(Desk("chat", WINDOW, store=opened()), longer) == []


def test_a_list_of_another_branch_continues_without_the_undone_summary(opened: Opener) -> None:
    desk = Desk("chat", WINDOW, store=opened())
    full, held = list(LONG), desk.preflight(LONG)
    while len(desk.manager.records("s")) < 2:
        said = [assistant(f"answer to {len(full)}"), user(f"question {len(full)}")]
        full, held = [*full, *said], desk.preflight([*held, *said])
    desk.preflight([*LONG, assistant("elsewhere"), user("another way")])
    desk.manager.restore("s", 1)
    said = [assistant("back again"), user("on the first way")]
    other = Desk("chat", WINDOW * 10, store=opened())
    assert other.preflight([*held, *said]) == [*full, *said]
    assert other.manager.restore("s", 1) == [*full, *said]
