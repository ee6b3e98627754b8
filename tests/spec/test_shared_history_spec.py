"""Histories that two sessions share, and compactions that were undone (S5.4, S2.18)."""

from __future__ import annotations

import pytest

from compact import InsufficientBudget
from compact.errors import CompactError, NotFound
from compact.model.event import EventName
from compact.model.record import RecordKind
from compact.stores.memory import MemoryStore
from support.raw import Desk, assistant, pairs, protected, summaries, system, texts, user

HISTORY = [system(), *pairs(36), user("new")]


@pytest.mark.spec("S5.4")
@pytest.mark.parametrize("door", ["prepare", "view", "append", "manual_compact", "end_turn"])
def test_a_record_of_an_equal_history_is_this_sessions_own(door: str) -> None:
    store = MemoryStore()
    one = Desk(store=store)
    one.preflight(HISTORY, "one")
    two = Desk(store=store)
    getattr(two.manager, door)("two", HISTORY)
    assert two.summarizer.calls == 0
    (record,) = two.manager.records("two")
    assert record.session_id == "two" and record.step == 1
    # Its own transcript, decision and events.
    transcript = two.archive.transcripts["two", 1]
    assert [message.text for message in transcript.messages] == [m["content"] for m in HISTORY[1:]]
    assert (True, "overflow") in two.decisions
    (done,) = two.events(EventName.COMPLETE)
    assert done.session_id == "two" and done.step == 1
    two.exporter.assert_balanced()
    two.exporter.assert_valid()
    # Undone here, it still stands there.
    assert two.manager.restore("two", 1) == HISTORY
    assert one.manager.records("one")[0].kind is RecordKind.COMPACTION
    assert len(summaries(one.preflight([*HISTORY, assistant("a")], "one"))) == 1


@pytest.mark.spec("S5.4")
def test_looking_takes_nothing_over() -> None:
    store = MemoryStore()
    Desk(store=store).preflight(HISTORY, "one")
    two = Desk(store=store)
    assert two.manager.usage("two", HISTORY).breakdown["summary"] > 0
    assert two.manager.records("two") == () and two.archive.transcripts == {}


@pytest.mark.spec("S5.4")
def test_a_trim_that_two_sessions_share_is_counted_and_undone_in_each() -> None:
    store = MemoryStore()
    history = [system(), *pairs(36), user("new")]
    Desk("window", store=store).preflight(history, "one")
    two = Desk("window", store=store)
    two.manager.append("two", history)
    assert [record.kind for record in two.manager.records("two")] == [RecordKind.TRIM]
    assert two.manager.restore("two", 1) == history


def test_going_on_with_the_compacted_list_after_an_undo_brings_the_originals_back() -> None:
    desk = Desk(window=12_000)
    history = [system(), *pairs(36), user("new")]
    compacted = desk.manager.manual_compact("s", history)
    assert len(summaries(compacted)) == 1
    desk.manager.restore("s", 1)
    stored = len(list(desk.manager._engine.store.originals("s")))
    went_on = desk.preflight([*compacted, assistant("answer"), user("next")])
    assert went_on == [*history, assistant("answer"), user("next")]
    originals = [message.text for message in desk.manager._engine.store.originals("s")]
    assert len(originals) == stored + 2 and not any("COMPACT-SUMMARY" in text for text in originals)
    # The same in a process that has just begun, and once more in this one.
    for manager in (Desk(window=12_000, store=desk.manager._engine.store), desk):
        again = manager.preflight([*compacted, assistant("answer"), user("next"), assistant("b")])
        assert again == [*history, assistant("answer"), user("next"), assistant("b")]


def test_an_undone_list_that_grows_too_large_is_compacted_again() -> None:
    desk = Desk()
    compacted = desk.preflight(HISTORY)
    desk.manager.restore("s", 1)
    out = desk.preflight([*compacted, assistant("answer"), user("next")])
    assert len(summaries(out)) == 1 and texts(out)[-1] == "next"
    assert [record.step for record in desk.manager.records("s")][-1] == 2
    originals = [message.text for message in desk.manager._engine.store.originals("s")]
    assert not any("COMPACT-SUMMARY" in text for text in originals)
    grown = [*compacted, assistant("answer"), user("next"), assistant("fine"), user("last")]
    assert desk.preflight(grown)[: len(out)] == out


def test_a_compaction_of_a_history_that_was_rewound_says_so() -> None:
    desk = Desk()
    desk.preflight(HISTORY)
    desk.preflight([*HISTORY[:9], user("another way")])
    with pytest.raises(CompactError, match="rewound or edited") as refused:
        desk.manager.restore("s", 1)
    assert "another session" not in str(refused.value) and "Nothing was changed" in str(refused.value)
    with pytest.raises(NotFound):
        desk.manager.restore("s", 7)


@pytest.mark.spec("S2.18", part="events")
@pytest.mark.parametrize("case", ["protected", "system", "tail", "view"])
def test_a_prompt_that_nothing_can_make_fit_reports_all_of_it(case: str) -> None:
    messages = {
        "protected": [protected(message) for message in pairs(45)],
        "system": [system(5_000), user("new")],
        "tail": [user("task", 5_000)],
        "view": [*pairs(3), user("task", 5_000)],
    }[case]
    desk = Desk()
    with pytest.raises(InsufficientBudget):
        desk.manager.view("s", messages) if case == "view" else desk.preflight(messages)
    assert desk.decisions == [(True, "overflow")]
    (overflow,), (failed,) = desk.events(EventName.OVERFLOW), desk.events(EventName.FAILED)
    assert overflow.data["limit"] == 4_000 and overflow.data["percentUsed"] > 100
    # A new session would have neither the protected messages nor anything else but prompt and newest message.
    assert (failed.data["canRetry"], failed.data["suggestNewSession"]) == (False, case == "protected")
    desk.exporter.assert_balanced()
    desk.exporter.assert_valid()


@pytest.mark.spec("S2.18", part="events")
def test_a_new_session_is_suggested_where_the_turn_that_is_too_long_was_answered() -> None:
    """As after the choice of a smaller model: a new session does not send that turn again."""
    desk = Desk()
    with pytest.raises(InsufficientBudget):
        desk.manager.manual_compact("s", [user("task", 5_000), assistant("done")])
    (failed,) = desk.events(EventName.FAILED)
    assert (failed.data["canRetry"], failed.data["suggestNewSession"]) == (False, True)


@pytest.mark.spec("S2.18", part="events")
def test_a_view_that_does_not_fit_is_never_returned() -> None:
    desk = Desk()
    with pytest.raises(InsufficientBudget):
        desk.manager.view("s", [system(), *pairs(45), user("new")])
    (failed,) = desk.events(EventName.FAILED)
    assert failed.data["suggestNewSession"] is True
    fits = [system(), *pairs(38)]
    assert desk.tokens(fits) <= 3_900
    assert desk.manager.view("t", fits).messages == fits


@pytest.mark.spec("S5.4")
@pytest.mark.parametrize("preset", ["agent", "rolling"])
def test_a_session_that_goes_on_from_anothers_compacted_list_has_its_originals(preset: str) -> None:
    store = MemoryStore()
    desk = Desk(preset, store=store)
    history = [system(), *pairs(36), user("new")]
    compacted = desk.preflight(history, "one")
    assert len(compacted) < len(history) and desk.summarizer.calls == 1
    since = [assistant("reply"), user("more")]
    going_on = desk.preflight([*compacted, *since], "two")
    assert [message.text for message in store.originals("two")] == [
        message["content"] for message in [*history[1:], *since]
    ]
    assert len(summaries(going_on)) == 1
    assert {record.session_id for record in desk.manager.records("two")} == {"two"}


@pytest.mark.spec("S5.4")
@pytest.mark.parametrize("undone_in", ["the session that made it", "the session that goes on"])
def test_a_compacted_list_is_recognized_in_another_session_whatever_was_undone(undone_in: str) -> None:
    store = MemoryStore()
    desk = Desk(store=store)
    compacted = desk.preflight(HISTORY, "one")
    if undone_in == "the session that made it":
        desk.manager.restore("one", 1)
    else:
        desk.preflight([system(), *pairs(36, first=100), user("other")], "two")
        desk.manager.restore("two", 1)
    since = [assistant("reply"), user("more")]
    going_on = desk.preflight([*compacted, *since], "two")
    assert [message.text for message in store.originals("two")] == [
        message["content"] for message in [*HISTORY[1:], *since]
    ]
    assert len(summaries(going_on)) == 1
