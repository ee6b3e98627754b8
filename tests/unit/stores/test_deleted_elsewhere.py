"""A session that another manager deleted: the next call of this one stores all of it again, with no hole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact import CompactConfig, CompactManager

Opener = Callable[[], Any]


def a_manager(store: Any, **more: Any) -> CompactManager:
    return CompactManager(CompactConfig(model="gpt-4o", archive={"adapter": "none"}, **more), store=store)


def talk(turns: int) -> list[dict[str, str]]:
    return [
        {"role": "assistant" if n % 2 else "user", "content": f"message {n}: " + "some words " * 20}
        for n in range(2 * turns)
    ]


def stored(store: Any, session: str = "s") -> list[Any]:
    return [message.origin.source for message in store.originals(session)]


def test_the_next_append_stores_the_whole_history_again(opened: Opener) -> None:
    one, other = a_manager(opened()), a_manager(opened())
    said = talk(2)
    one.append("s", said)
    assert other.delete("s")
    said = talk(3)
    one.append("s", said)
    assert stored(opened()) == said


@pytest.mark.parametrize("goes_on_with", ["everything", "what came back"])
def test_a_deleted_summary_is_not_sent_again_unless_the_caller_sends_it(
    opened: Opener, goes_on_with: str
) -> None:
    one, other = a_manager(opened()), a_manager(opened())
    said: list[Any] = talk(12)
    came_back = one.manual_compact("s", said)
    assert came_back != said
    said = [*(said if goes_on_with == "everything" else came_back), {"role": "user", "content": "go on"}]
    assert other.delete("s")
    assert one.preflight("s", said) == said
    assert stored(opened()) == said and not one.records("s")


def test_a_compaction_after_it_can_be_undone(opened: Opener) -> None:
    """Though the list did not grow, so that nothing was to be appended."""
    one, other = a_manager(opened()), a_manager(opened())
    said = talk(12)
    one.append("s", said)
    assert other.delete("s")
    assert one.manual_compact("s", said) != said
    assert other.restore("s", 1) == said


def test_what_a_session_remembers_is_stored_again(opened: Opener) -> None:
    one, other = a_manager(opened()), a_manager(opened())
    leading = [{"role": "system", "content": "Be brief."}]
    one.append("s", leading + talk(12))
    assert other.delete("s")
    one.manual_compact("s", leading + talk(13))
    assert other.restore("s", 1) == leading + talk(13)
