"""A record that let a task go applies only to lists in which that task is answered."""

from __future__ import annotations

from support.raw import Desk, assistant, pairs, steps, summaries, user


def test_a_rewound_list_keeps_the_task_that_it_still_works_on() -> None:
    # The steps of a task stay longer than its words, once another task stands behind them.
    numbers = {"keep_recent_turns": 1, "keep_tool_io_pairs": 2}
    desk = Desk("budget", window=4_000, **numbers)
    work = [*pairs(20), user("the task to do"), *steps(12, 100)]
    compacted = desk.preflight([*work, user("another task")])
    assert len(summaries(compacted)) == 1 and "the task to do" not in str(compacted)
    (record,) = desk.manager.records("s")
    assert record.source_length < len(work), "the newest steps stayed"
    # Back at work on the first task: its words must go out.
    for desk_now in (desk, Desk("budget", window=4_000, store=desk.manager._engine.store, **numbers)):
        sent = desk_now.manager.view("s", work).messages
        assert any(str(message["content"]).startswith("the task to do") for message in sent)
        assert sent == work
    # Once it is answered, the record serves whoever comes with that list.
    later = Desk("budget", window=4_000, store=desk.manager._engine.store, **numbers)
    assert len(summaries(later.manager.view("s", [*work, assistant("done")]).messages)) == 1
