"""A process that is started again in the middle of a session sends what the one before would have sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact.errors import StoreError
from compact.stores import open_store
from support.raw import Desk, Raw, assistant, pairs, step, steps, summaries, system, tool, user

Opener = Callable[[], Any]
WINDOW = 2_000


def session(rounds: int = 16) -> list[tuple[list[Raw], str]]:
    """Each turn's history and working memory, which changes now and then."""
    history, told = [system()], []
    for number in range(rounds):
        history = [*history, user(f"question {number}", 60)]
        told.append((list(history), f"Page {number // 3} is open."))
        history += [*step(number, output=60), assistant(f"answer {number}", 40)]
    return told


@pytest.mark.parametrize("preset", ["budget", "rolling"])
@pytest.mark.parametrize("adopting", [False, True])
def test_restarted_at_every_turn_it_sends_the_same_bytes(opened: Opener, preset: str, adopting: bool) -> None:
    steady = Desk(preset, WINDOW)
    stored = Desk(preset, WINDOW, store=opened())
    mine: list[Raw] = []
    theirs: list[Raw] = []
    seen = 0
    for number, (history, context) in enumerate(session()):
        fresh = history[seen:]
        seen = len(history)
        mine, theirs = ([*mine, *fresh], [*theirs, *fresh]) if adopting else (history, history)
        one, other = steady.prepare(mine, context=context), stored.prepare(theirs, context=context)
        assert one.messages == other.messages and one.tokens == other.tokens
        if adopting:
            mine, theirs = list(one.messages), list(other.messages)
        if number % 2:
            for desk, prompt in ((steady, one.messages), (stored, other.messages)):
                desk.manager.observe("s", prompt, desk.tokens(prompt) + 70 + number)
                desk.manager.append("s", prompt)  # observing alone writes nothing
        stored = Desk(preset, WINDOW, store=opened())
    assert "<WORKING-MEMORY>" in str(one.messages) and summaries(one.messages)


def test_what_the_provider_reported_is_still_known(opened: Opener) -> None:
    desk = Desk("budget", 4_000, store=opened())
    history = pairs(5)
    reported = 2 * desk.tokens(history)
    assert desk.manager.observe("s", history, reported) == pytest.approx(2.0)
    desk.manager.append("s", history)
    again = Desk("budget", 4_000, store=opened())
    assert again.manager.usage("s", history).tokens == pytest.approx(reported, abs=2)


def test_tools_that_were_retired_stay_so(opened: Opener) -> None:
    found = tool("found_tool", meta={"discovered": True})
    history = [user("the task"), *steps(60), user("go on")]
    desk = Desk("budget", 4_000, store=opened())
    assert desk.prepare(history, tools=[tool("read_file"), found]).tools == [tool("read_file")]
    again = Desk("budget", 4_000, store=opened())
    assert again.prepare(history, tools=[tool("read_file"), found]).tools == [tool("read_file")]
    history += [assistant("found_tool would help"), user("use it")]
    assert again.prepare(history, tools=[tool("read_file"), found]).tools == [tool("read_file"), found]
    last = Desk("budget", 4_000, store=opened())
    assert last.prepare(history, tools=[tool("read_file"), found]).tools == [tool("read_file"), found]


def test_a_restored_list_begins_with_the_system_messages(opened: Opener) -> None:
    history = [
        system(label="Be brief"),
        {"role": "developer", "content": "in verse"},
        *pairs(20),
        user("now"),
    ]
    Desk("budget", 2_000, store=opened()).preflight(history)
    again = Desk("budget", 2_000, store=opened())
    restored = again.manager.restore("s", 1)
    assert restored == history
    restored[0]["content"] = "mine to change"
    assert again.manager.restore("s", 1) == history


def test_a_spoiled_memory_is_named(new_database: Callable[[str], str]) -> None:
    from sqlalchemy import text

    with open_store(new_database("sqlite")) as store:
        store.put_session("s")
        store.remember("s", retired_tools=["a"], note=(b"key", "note\0"))
        assert store.memory("s").notes == ((b"key", "note\0"),)
        with store.database.writing() as connection:
            connection.execute(text("UPDATE sessions SET retired_tools = '{'"))
        with pytest.raises(StoreError, match="sessions row"):
            store.memory("s")
