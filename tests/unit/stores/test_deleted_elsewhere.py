"""A session that another manager deleted: the next call of this one stores all of it again, with no hole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.errors import HistoryGone
from compact.stores import open_store

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


def test_events_that_wait_do_not_bring_it_back(tmp_path: Path) -> None:
    """They are delivered behind the call that they report."""
    storage = {"url": f"sqlite:///{tmp_path}/sessions.db"}
    config = CompactConfig(max_context_tokens=4_000, archive={"adapter": "none"}, storage=storage)
    with CompactManager(config) as manager, open_store(storage["url"]) as store:
        for n in range(5):
            manager.prepare(f"s{n}", talk(40))
            assert manager.delete(f"s{n}")
        assert manager.flush(5)
        assert list(store.sessions()) == []


@pytest.mark.parametrize("fits", [True, False])
def test_one_that_is_deleted_during_its_compaction_stays_deleted(opened: Opener, fits: bool) -> None:
    def summarize(request: Any) -> str:
        other.delete("s")
        return "## Goal\nThe user wants the roof mended before the winter, by carpenter Ola."

    config = CompactConfig(max_context_tokens=4_000, archive={"adapter": "none"}, counter="estimate")
    one, other = CompactManager(config, summarize, store=opened()), a_manager(opened())
    said = talk(20 if fits else 40)
    if fits:
        assert one.manual_compact("s", said) == said
    else:
        with pytest.raises(HistoryGone):
            one.prepare("s", said)
    assert opened().session("s") is None and not one.records("s")
    # Going on with it is a new beginning, with all of the list.
    said = [*said, {"role": "user", "content": "go on"}]
    one.append("s", said)
    assert stored(opened()) == said


def test_working_memory_that_comes_first_is_remembered(opened: Opener) -> None:
    a_manager(opened()).prepare("s", talk(1), context="Ola is the carpenter.")
    assert [text for _, text in opened().memory("s").notes] == ["Ola is the carpenter."]
