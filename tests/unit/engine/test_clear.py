"""Starting afresh: a record with nothing in its place, for one session, under every policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactError, CompactManager
from compact.errors import NotFound
from compact.model.record import RecordKind
from compact.stores import open_store

SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hi"},
]
NEXT = {"role": "user", "content": "next"}


def manager(store: Any, **settings: Any) -> CompactManager:
    return CompactManager(CompactConfig(archive={"adapter": "none"}, **settings), store=store)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(f"sqlite:///{tmp_path / 'sessions.db'}") as opened:
        yield opened


@pytest.mark.spec("S1.3")
def test_after_a_clear_only_the_system_prompt_and_what_follows_go_out(store: Any) -> None:
    cleared = manager(store, preset="window")
    record = cleared.clear("talk", SAID)
    assert record.kind is RecordKind.CLEAR and record.entries == () and record.messages_replaced == 2
    assert cleared.prepare("talk", SAID).messages == SAID[:1]
    assert cleared.prepare("talk", [*SAID, NEXT]).messages == [SAID[0], NEXT]
    # The originals are still there.
    assert [message.text for message in store.originals("talk")] == ["hello", "hi", "next"]
    thread = store.session("talk")
    assert thread is not None and thread.summary is None


def test_it_holds_after_a_restart_and_under_another_policy_and_window(store: Any) -> None:
    manager(store, preset="window").clear("talk", SAID)
    other = manager(store, preset="budget", max_context_tokens=9_000)
    assert other.preflight("talk", [*SAID, NEXT]) == [SAID[0], NEXT]


def test_a_session_with_the_same_history_is_not_cleared_along(store: Any) -> None:
    both = manager(store)
    both.clear("talk", SAID)
    assert both.preflight("another", [*SAID, NEXT]) == [*SAID, NEXT]
    both.clear("another", [*SAID, NEXT])
    assert both.preflight("talk", [*SAID, NEXT]) == [SAID[0], NEXT]


def test_it_can_be_undone_and_done_again(store: Any) -> None:
    cleared = manager(store)
    step = cleared.clear("talk", SAID).step
    cleared.restore("talk", step)
    assert cleared.preflight("talk", [*SAID, NEXT]) == [*SAID, NEXT]
    cleared.clear("talk", SAID)
    assert cleared.preflight("talk", [*SAID, NEXT]) == [SAID[0], NEXT]


def test_a_view_never_compacts(store: Any) -> None:
    said = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " + "word " * 90} for n in range(19)]
    small = manager(
        store, preset="window", max_context_tokens=2_400, counter="chars4", policy={"hard_cap_buffer": 50}
    )
    assert small.overflow("talk", said).is_overflow
    assert small.view("talk", said).messages == said
    assert small.records("talk") == ()
    assert len(small.prepare("talk", said).messages) == 13
    assert len(small.view("talk", said).messages) == 13


def test_a_list_without_what_was_cleared_begins_another_history(store: Any) -> None:
    cleared = manager(store)
    step = cleared.clear("talk", SAID).step
    returned = cleared.preflight("talk", [*SAID, NEXT])
    answer = {"role": "assistant", "content": "yes"}
    assert cleared.preflight("talk", [*returned, answer]) == [SAID[0], NEXT, answer]
    with pytest.raises(CompactError, match="Send the full list once"):
        cleared.restore("talk", step)
    assert cleared.preflight("talk", [*SAID, NEXT, answer]) == [SAID[0], NEXT, answer]
    assert cleared.restore("talk", step) == [*SAID, NEXT, answer]


def test_a_new_session_reads_no_clears_of_others(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a clear puts is nothing, which is also what stands before a first message."""
    chats = manager(store, preset="window")
    for number in range(3):
        chats.clear(f"talk {number}", [*SAID, {"role": "user", "content": f"number {number}"}])
    chats.restore("talk 0", 1)
    found: list[Any] = []
    find = store.find
    monkeypatch.setattr(store, "find", lambda keys: found.append(find(keys)) or found[-1])
    assert chats.prepare("new", [NEXT]).messages == [NEXT]
    assert found and not any(found)


def test_without_messages_there_is_nothing_to_clear(store: Any) -> None:
    chats = manager(store)
    for messages in ([], SAID[:1]):
        with pytest.raises(NotFound, match=r"has no messages to clear\. Nothing was changed"):
            chats.clear("s", messages)
    assert not chats.records("s")
