"""A compaction can be prepared in the background and is used only if its source still matches (S5.13)."""

from __future__ import annotations

from typing import Any

import pytest

from compact.model.event import EventName
from compact.stores.memory import MemoryStore
from support.raw import (
    SMALL_WINDOW,
    Desk,
    assistant,
    pairs,
    protected,
    step,
    steps,
    summaries,
    system,
    texts,
    user,
)

NEAR = [system(), *pairs(32)]
"""Below the trigger of 3,400 tokens; two turns more reach it."""
DUE = [*NEAR, *pairs(2, first=40), user("new")]


@pytest.mark.spec("S5.13")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_summary_is_made_ahead_and_used_at_the_trigger(mode: str) -> None:
    store = MemoryStore()
    desk = Desk(store=store)
    desk.preflight(NEAR)
    with store.lease("s", 60) as granted:
        assert granted  # somebody else's: staging needs none
        ready = desk.manager.prepare_ahead("s", NEAR) if mode == "sync" else None
        assert ready or await desk.manager.aprepare_ahead("s", NEAR)
    assert desk.summarizer.calls == 1 and desk.manager.records("s") == ()
    assert desk.preflight(NEAR) == NEAR, "nothing happens before it is due"
    assert desk.manager.prepare_ahead("s", NEAR) and desk.summarizer.calls == 1, "it is ready already"
    prepared = desk.prepare(DUE)
    assert prepared.was_compacted and desk.summarizer.calls == 1
    out = list(prepared.messages)
    assert len(summaries(out)) == 1 and texts(out)[-5:] == texts(DUE)[-5:]
    assert desk.tokens(out) == prepared.tokens.final < 3_400
    # All that came since is kept, and the record says what was replaced, as any other.
    (record,) = desk.manager.records("s")
    assert record.messages_replaced + len(out) - 2 >= len(DUE) - 2
    desk.exporter.assert_balanced()
    desk.exporter.assert_valid()
    assert len(desk.events(EventName.SUMMARY_CREATED)) == 1
    again = Desk(store=store)
    longer = [*DUE, assistant("a"), user("b")]
    assert again.preflight(longer)[: len(out)] == out
    assert desk.manager.restore("s", 1) == longer


@pytest.mark.spec("S5.13")
@pytest.mark.parametrize("change", ["edited", "protected", "compacted", "shorter"])
def test_a_staged_summary_whose_source_changed_is_not_used(change: str) -> None:
    desk = Desk()
    desk.preflight(NEAR)
    assert desk.manager.prepare_ahead("s", NEAR)
    changed: list[Any] = list(DUE)
    if change == "edited":
        changed[3] = user("question 2, said otherwise")
    elif change == "protected":
        changed[3] = protected(changed[3])
    elif change == "compacted":
        desk.manager.manual_compact("s", NEAR)
        changed = [*NEAR, *pairs(30, first=40), user("new")]
    else:
        changed = [system(), *pairs(20), *pairs(14, first=60), user("new")]
    calls = desk.summarizer.calls
    prepared = desk.prepare(changed)
    assert prepared.was_compacted and desk.summarizer.calls == calls + 1


@pytest.mark.spec("S4.6")
@pytest.mark.parametrize("at", [0, 1], ids=["call", "output"])
def test_a_staged_plan_does_not_shorten_what_was_protected_since(at: int) -> None:
    desk = Desk(window=SMALL_WINDOW)
    near = [system(), *pairs(24, 200), user("read"), *step(1, 6_000), *step(2, 20), assistant("read")]
    first = texts(near).index("read") + 1
    desk.preflight(near)
    assert desk.manager.prepare_ahead("s", near)
    group = near[first : first + 2]
    group[at] = protected(group[at])
    due = [*near[:first], *group, *near[first + 2 :], *pairs(3, 200, first=40), user("new")]
    prepared = desk.prepare(due)
    assert prepared.was_compacted and desk.summarizer.calls == 2
    assert all(any(message is given for message in prepared.messages) for given in group)


@pytest.mark.spec("S5.13")
def test_a_staged_summary_that_leaves_too_much_is_not_used() -> None:
    desk = Desk()
    desk.preflight(NEAR)
    assert desk.manager.prepare_ahead("s", NEAR)
    grown = [*NEAR, *pairs(26, first=40), user("new")]
    prepared = desk.prepare(grown)
    assert prepared.was_compacted and desk.summarizer.calls == 2 and prepared.tokens.final < 3_400


@pytest.mark.spec("S5.13")
def test_where_no_summary_is_to_be_made_nothing_is_staged() -> None:
    window = Desk("window")
    assert not window.manager.prepare_ahead("s", NEAR) and window.summarizer.calls == 0
    agent = Desk("agent", window=20_000)
    history = [user("task"), *steps(30, 600)]
    assert not agent.manager.prepare_ahead("s", history), "clearing outputs needs no summary"

    def down(request: Any) -> str:
        raise ConnectionError("nobody there")

    failing = Desk(summarizer=down)
    assert not failing.manager.prepare_ahead("s", NEAR)
    assert failing.events(EventName.ERROR) and failing.events(EventName.FAILED) == []
