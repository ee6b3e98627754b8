"""Where history may be cut."""

from __future__ import annotations

from compact.core.boundaries import GroupKind, groups, is_finished, turns
from compact.model.message import Message, Part, Reasoning, Role, StepStart, Text, ToolCall, ToolResult
from compact.model.policy import TurnUnit
from support.conversations import assistant, call, message, result, user
from support.views import step, summary


def shape(messages: list[Message]) -> list[tuple[str, int]]:
    found = groups(messages)
    # Groups always cover the list without a gap.
    assert [g.start for g in found] == [0, *[g.stop for g in found[:-1]]] and found[-1].stop == len(messages)
    return [(group.kind.value, group.stop - group.start) for group in found]


def test_a_call_and_its_result_are_one_group() -> None:
    assert shape([user("a"), *step(1), assistant("b")]) == [("user", 1), ("step", 2), ("text", 1)]


def test_all_results_of_parallel_calls_belong_together() -> None:
    calls: tuple[Part, ...] = (ToolCall("a", "x", "{}"), ToolCall("b", "x", "{}"))
    asked = message(Role.ASSISTANT, *calls)
    assert shape([asked, result("b", "2"), result("a", "1"), user("c")]) == [("step", 3), ("user", 1)]
    both = message(Role.TOOL, ToolResult("a", "1"), ToolResult("b", "2"))
    assert shape([asked, both, user("c")]) == [("step", 2), ("user", 1)]


def test_parallel_calls_in_messages_of_their_own_are_one_group() -> None:
    # As Responses items come: two calls, then two outputs.
    items = [call("a", "x", "{}"), call("b", "x", "{}"), result("a", "1"), result("b", "2")]
    assert shape([*items, call("c", "x", "{}"), result("c", "3")]) == [("step", 4), ("step", 2)]


def test_reasoning_stays_with_the_message_after_it() -> None:
    thought = message(Role.ASSISTANT, Reasoning("hm", "sig"))
    assert shape([user("a"), thought, *step(1)]) == [("user", 1), ("step", 3)]
    assert shape([user("a"), thought, assistant("b")]) == [("user", 1), ("text", 2)]
    started = message(Role.ASSISTANT, StepStart(), Reasoning("hm"))
    assert shape([started, thought, assistant("b")]) == [("text", 3)]
    assert shape([user("a"), thought]) == [("user", 1), ("text", 1)]


def test_a_call_without_its_result_ends_at_the_next_speaker() -> None:
    assert shape([call("a", "x", "{}"), user("never mind"), assistant("ok")]) == [
        ("step", 1),
        ("user", 1),
        ("text", 1),
    ]


def test_ours_and_orphans_stand_alone() -> None:
    assert shape([summary(), result("lost", "x"), assistant("b")]) == [
        ("ours", 1),
        ("orphan", 1),
        ("text", 1),
    ]


def test_turns_by_user_message() -> None:
    found = groups([assistant("hello"), user("a"), *step(1), assistant("b"), user("c")])
    assert turns(found) == [range(1, 4), range(4, 5)]


def test_without_a_user_message_there_is_no_turn() -> None:
    assert turns(groups([assistant("hello"), *step(1)])) == []
    assert turns([]) == []


def test_turns_by_message() -> None:
    found = groups([summary(), user("a"), *step(1), assistant("b")])
    assert turns(found, TurnUnit.MESSAGE) == [range(1, 2), range(2, 3), range(3, 4)]
    assert found[0].kind is GroupKind.OURS


def test_a_turn_is_finished_by_prose() -> None:
    assert is_finished([user("a"), assistant("b")])
    assert not is_finished([user("a"), *step(1)])
    assert not is_finished([user("a")])
    assert not is_finished([user("a"), message(Role.ASSISTANT, Text("look"), ToolCall("c", "x", "{}"))])
    assert not is_finished([])
