"""A caller who edits messages in place: whatever goes out is seen at the very next call."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from compact.engine.state.caller_list import CallerList
from compact.formats import by_name
from support.raw import Desk, pairs, step, steps, system, user

LONG = [system(), *pairs(90), user("question 91")]
GROWN = "It grew. " * 40


@pytest.mark.parametrize("at", [0, 1, 2, 60, 120, -30, -1])
def test_an_edit_is_seen_at_the_very_next_call(at: int) -> None:
    desk, history = Desk(window=100_000), copy.deepcopy(LONG)
    desk.prepare(history)
    before = desk.prepare(history).tokens.final
    history[at]["content"] += GROWN
    assert desk.prepare(history).tokens.final > before
    history[at]["content"] = LONG[at]["content"]
    assert desk.prepare(history).tokens.final == before


def test_an_edit_deep_inside_a_message_is_seen_at_the_very_next_call() -> None:
    desk, history = Desk(window=100_000), [system(), user("go"), *steps(60), user("And now?")]
    before = desk.prepare(history).tokens.final
    history[2]["tool_calls"][0]["function"]["arguments"] = '{"path": "' + "longer/" * 40 + '"}'
    grown = desk.prepare(history).tokens.final
    assert grown > before
    history[2]["tool_calls"].append(step(61)[0]["tool_calls"][0])
    history.insert(4, step(61)[1])
    assert desk.prepare(history).tokens.final > grown


def compacted(adopt: bool) -> tuple[Desk, list[dict[str, Any]]]:
    """A conversation after a compaction, as a caller goes on with it who adopts its result, or does not."""
    desk, history = Desk(window=14_000), [*copy.deepcopy(LONG), *pairs(60, first=92), user("And now?")]
    prepared = desk.prepare(history)
    assert prepared.was_compacted
    return desk, prepared.messages if adopt else history


@pytest.mark.parametrize("adopt", [True, False])
def test_an_edit_of_what_goes_out_after_a_compaction_is_seen_at_the_very_next_call(adopt: bool) -> None:
    for back in (1, 2, 3):
        desk, history = compacted(adopt)
        desk.prepare(history)
        before = desk.prepare(history).tokens.final
        history[-back]["content"] += GROWN
        assert desk.prepare(history).tokens.final > before


@pytest.mark.parametrize("at", [1, 3, 150, 200])
def test_an_edit_of_what_was_replaced_is_seen_within_a_few_calls(at: int) -> None:
    desk, history = compacted(adopt=False)
    sent = desk.prepare(history).messages
    history[at]["content"] += GROWN
    few = len(history) // 32 + 1
    assert any(desk.prepare(history).messages != sent for _ in range(few))
    assert desk.prepare(history).messages == Desk(window=14_000).prepare(history).messages


def test_another_object_that_says_something_else_is_another_history_at_once() -> None:
    desk, history = compacted(adopt=False)
    sent = desk.prepare(history).messages
    history[3] = {**history[3], "content": "Something else."}
    assert desk.prepare(history).messages != sent


def test_a_message_that_is_protected_in_place_after_it_was_replaced_comes_back() -> None:
    desk, history = Desk("chat", window=3_000), [system(), *pairs(50), user("question 51")]
    assert desk.prepare(history).was_compacted
    desk.prepare(history)
    history[20]["meta"] = {"protected": True}
    few = len(history) // 32 + 1
    assert any(history[20] in desk.prepare(history).messages for _ in range(few))
    prepared = desk.prepare(history)
    assert history[20] in prepared.messages
    assert desk.manager.usage("s", history).tokens == prepared.tokens.final


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


def test_what_was_replaced_is_compared_whole_up_to_a_bound_and_in_turn_beyond_it() -> None:
    caller, items = CallerList(), [user(f"question {n}") for n in range(200)]
    caller.messages += caller.read(items, by_name("openai-chat"), 0)

    def begins(at_a_time: int) -> bool:
        def replaced() -> set[int]:
            return set(map(id, caller.messages[:180]))

        return caller.begins_watched(items, 0, replaced, at_a_time)

    assert begins(50) and begins(180)
    items[130]["content"] = "Edited in place."
    assert not begins(180) and not begins(180)
    assert [begins(50) for _ in range(8)].count(False) == 2
    items[130]["content"] = "question 130"
    items[190]["content"] = "Edited in place."
    assert not begins(50)


@pytest.mark.parametrize("preset", ["budget", "chat", "window", "agent", "rolling"])
def test_one_object_in_several_places_is_several_messages(preset: str) -> None:
    nudge = user("continue")
    history = [user("The task.")]
    for number in range(60):
        history += [{"role": "assistant", "content": f"step {number} " + "word " * 60}, nudge]
    desk = Desk(preset=preset, window=4_000)
    out = desk.prepare(history).messages
    assert len(out) < len(history)
    assert desk.prepare(out).messages == out
    assert desk.prepare([user("The other task."), *history[1:]]).messages[-3:] == out[-3:]


def test_what_is_compared_closely_is_what_goes_out_after_any_number_of_compactions() -> None:
    desk, history = Desk(window=4_000), [system(), user("question 0")]
    for number in range(150):
        history += [*step(number), *pairs(1, first=number)]
        sent = desk.prepare(history).messages
    assert len(desk.manager.records("s")) > 10
    [known] = desk.manager._engine.reader.session("s")._histories
    watched = known.caller._watched
    assert watched is not None
    assert sum(one is not own for one, own in zip(watched, history, strict=True)) <= len(sent)
