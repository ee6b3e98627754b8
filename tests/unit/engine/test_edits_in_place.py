"""A caller who edits messages in place: the newest at once, all before anything is compacted."""

from __future__ import annotations

import copy

import pytest

from support.raw import Desk, pairs, system, user

LONG = [system(), *pairs(90), user("question 91")]
GROWN = "It grew. " * 40


@pytest.mark.parametrize("at", [-1, -20, -30])
def test_an_edit_of_a_new_message_is_seen_at_the_next_call(at: int) -> None:
    desk, history = Desk(window=100_000), copy.deepcopy(LONG)
    before = desk.prepare(history).tokens.final
    history[at]["content"] += GROWN
    assert desk.prepare(history).tokens.final > before
    assert desk.manager.usage("s", history).tokens > before


@pytest.mark.parametrize("at", [1, 2, 60, 120])
def test_an_edit_of_an_old_message_is_seen_within_some_calls(at: int) -> None:
    desk, history = Desk(window=100_000), copy.deepcopy(LONG)
    desk.prepare(history)
    before = desk.prepare(history).tokens.final
    history[at]["content"] += GROWN
    seen = [desk.prepare(history).tokens.final > before for _ in range(11)]
    assert seen[-1]
    assert seen == sorted(seen)


@pytest.mark.parametrize("at", [1, 2, 60, 120])
def test_whoever_asks_about_the_list_is_told_of_it_as_it_is_now(at: int) -> None:
    desk, history = Desk(window=100_000), copy.deepcopy(LONG)
    desk.prepare(history)
    before = desk.manager.usage("s", history).tokens
    history[at]["content"] += GROWN
    assert desk.manager.usage("s", history).tokens > before


@pytest.mark.parametrize("at", [1, 2, 60, 120])
def test_what_is_summarized_is_what_the_list_says_now(at: int) -> None:
    desk, history = Desk(window=14_000), copy.deepcopy(LONG[:-1])
    desk.prepare(history)
    desk.prepare(history)
    assert not desk.manager.records("s")
    history[at]["content"] = "Edited in place."
    history += [*pairs(30, first=91), user("And now?")]
    assert desk.prepare(history).was_compacted
    [request] = desk.summarizer.requests
    assert "Edited in place." in [message.text for message in request.messages]
    assert LONG[at]["content"] not in [message.text for message in request.messages]


def test_other_objects_that_say_the_same_are_the_same_history() -> None:
    desk, history = Desk(window=100_000), copy.deepcopy(LONG)
    desk.prepare(history)
    desk.prepare(history)
    for index in (0, 1, 100, len(history) - 1):
        history[index] = dict(history[index])
    said = len(list(desk.manager._engine.store.originals("s")))
    assert desk.prepare(history).messages == history
    assert len(list(desk.manager._engine.store.originals("s"))) == said
