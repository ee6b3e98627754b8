"""Which groups stay, and how the counts go down."""

from __future__ import annotations

from itertools import islice

from compact.core.select import Counts, initial_counts, reductions, select
from compact.model.message import Message, MessageKind, Role, make
from support.conversations import assistant, message, user
from support.conversations import result as tool_result
from support.views import layout, step, summary, turn, turns


def kept(
    messages: list[Message], name: str = "budget", counts: Counts | None = None, **changes: object
) -> list[str]:
    found = layout(messages, name, **changes)
    chosen = select(found, counts or initial_counts(found))
    return [
        found.items[index].message.text or "step"
        for n in sorted(chosen)
        for index in range(found.groups[n].start, found.groups[n].stop)
        if found.items[index].message.role is not Role.TOOL
    ]


def test_turns_and_steps_are_counted_apart() -> None:
    messages = [m for n in range(1, 9) for m in turn(n, *step(n))]
    assert kept(messages, counts=Counts(2, None, 1)) == [
        "question 7",
        "answer 7",
        "question 8",
        "step",
        "answer 8",
    ]


def test_steps_of_older_turns_stay_unless_told_otherwise() -> None:
    messages = [*turn(1, *step(1), *step(2)), *turns(2)]
    assert kept(messages, counts=Counts(1, None, 2)).count("step") == 2
    assert kept(messages, counts=Counts(1, None, 2, old_steps=False)).count("step") == 0


def test_the_newest_task_always_stays() -> None:
    messages = [user("the task"), *step(1), *step(2)]
    assert kept(messages, counts=Counts(None, 1, None)) == ["the task", "step"]


def test_protected_and_never_pruned_roles_stay_with_their_group() -> None:
    pinned = step(1)
    pinned[1] = tool_result("c1", "x", name=None)
    marked = [pinned[0], message(Role.TOOL, *pinned[1].parts, protected=True)]
    developer = make(MessageKind.ORIGINAL, Role.DEVELOPER, "rule")
    messages = [*turn(1, *marked), developer, *turns(3)]
    assert kept(messages, counts=Counts(1, None, 1, old_steps=False)) == [
        "step",
        "rule",
        "question 3",
        "answer 3",
    ]


def test_messages_snap_outward_to_whole_groups() -> None:
    messages = [*turns(3), user("task"), *step(1), assistant("done"), user("new")]
    assert kept(messages, "chat", Counts(None, 3, None)) == ["task", "step", "done", "new"]


def test_ours_are_not_kept_but_for_the_newest_context() -> None:
    notes = [make(MessageKind.CONTEXT, Role.USER, text) for text in ("old note", "new note")]
    messages = [summary(), notes[0], *turns(2), notes[1], user("new")]
    assert kept(messages, counts=Counts(1, None, 1)) == ["new note", "new"]


def test_first_turns_stay() -> None:
    found = kept(turns(10), "window")
    assert found[:2] == ["question 1", "answer 1"] and len(found) == 12


def test_counts_with_a_summary_and_without_the_new_message() -> None:
    assert initial_counts(layout(turns(8), "rolling")).turns == 6
    assert initial_counts(layout([*turns(8), user("new")], "rolling")).turns == 7
    assert initial_counts(layout([summary(), *turns(8), user("new")], "rolling")).turns == 5
    assert initial_counts(layout([*turns(8), user("new")])).turns == 6


def test_the_ladder_of_budget() -> None:
    messages = [m for n in range(1, 9) for m in turn(n, *step(n))]
    ladder = [(c.turns, c.steps) for c in reductions(layout(messages))]
    assert ladder[:9] == [(6, 4), (5, 4), (5, 3), (4, 3), (4, 2), (3, 2), (3, 1), (2, 1), (1, 1)]


def test_the_ladder_never_keeps_more_than_before() -> None:
    messages = [m for n in range(1, 9) for m in turn(n, *step(n), *step(n + 100))]
    for name in ("budget", "chat", "window", "agent", "rolling"):
        found = layout(messages, name)
        sizes = [len(select(found, counts)) for counts in reductions(found)]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] <= 4, name


def test_counts_larger_than_the_conversation_are_not_walked_down_in_vain() -> None:
    assert [c.turns for c in reductions(layout(turns(2)))][:3] == [6, 1, 1]


def test_counts_far_above_what_there_is_are_not_stepped_through() -> None:
    for field in ("keep_recent_turns", "keep_recent_messages", "keep_tool_io_pairs"):
        found = layout(turns(4), "budget", **{field: 10**30})
        assert len(list(islice(reductions(found), 100))) < 40


def test_a_run_without_any_user_message_keeps_its_end() -> None:
    messages = [m for n in range(5) for m in step(n)]
    assert kept(messages, counts=Counts(1, None, 2)) == ["step", "step"]
    assert kept(messages, "agent", Counts(1, None, 2, old_steps=False)) == ["step", "step"]


def test_where_no_count_limits_the_steps_they_go_by_halves() -> None:
    messages = [user("the task"), *[m for n in range(100) for m in step(n)]]
    found = layout(messages, "rolling")
    assert [c.steps for c in reductions(found)][-8:-2] == [50, 25, 12, 6, 3, 1]
