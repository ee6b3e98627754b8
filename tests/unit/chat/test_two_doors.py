"""Settings and pins of a session that two doors hold open, or that goes on from an earlier message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from compact.chat import Chats, Conversation
from compact.chat.turns import is_pinned
from compact.config import CompactConfig
from compact.errors import ChatError, NotFound, StoreError
from compact.manager import CompactManager
from compact.model.chat import FinishReason, ReplyEnd, ReplyPiece
from compact.model.event import EventName
from compact.stores.memory import MemoryStore
from support.scripted_model import ScriptedModel

MakeChats = Callable[..., Chats]


def begun(chats: Chats, questions: int = 1) -> Conversation:
    conversation = chats.open("s")
    for number in range(questions):
        list(conversation.send(f"question {number}"))
    return conversation


def pins(conversation: Conversation) -> list[int]:
    return [position for position, turn in enumerate(conversation.turns) if is_pinned(turn)]


def replies(count: int) -> Sequence[str]:
    return [f"reply {number}" for number in range(count)]


@pytest.fixture(params=["sqlite", "memory"])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {} if request.param == "sqlite" else {"store": MemoryStore()}


def test_a_pin_and_a_preset_set_at_two_doors_both_stay(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    one, other = begun(make_chats(replies(1), **options)), make_chats(**options).open("s")
    one.pin(0)
    other.use(preset="chat")
    other.pin(1)
    again = make_chats(**options).open("s")
    assert pins(again) == pins(other) == [0, 1] and again.settings["preset"] == "chat"


def test_a_pin_and_a_preset_of_another_door_hold_for_the_next_message(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    one = begun(make_chats(replies(1), **options))
    other = make_chats(replies(2), **options).open("s")
    one.pin(0)
    one.use(preset="rolling")
    list(other.send("more"))
    assert pins(other) == [0] and other.manager.config.preset == "rolling"
    one.pin(0, False)
    other.catch_up()
    assert pins(other) == []


@pytest.mark.parametrize("how", ["edit", "retry"])
def test_what_takes_the_place_of_a_pinned_message_is_not_pinned(
    how: str, make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats(replies(6), **options), questions=3)
    conversation.pin(0)
    conversation.pin(3)
    list(conversation.edit(2, "another question") if how == "edit" else conversation.retry(3))
    list(conversation.send("and then"))
    assert pins(conversation) == [0]
    assert pins(make_chats(**options).open("s")) == [0]


def test_a_pinned_question_that_is_asked_again_stays_pinned(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats(replies(4), **options), questions=2)
    conversation.pin(2)
    list(conversation.retry())
    assert pins(conversation) == pins(make_chats(**options).open("s")) == [2]


def test_an_import_undone_at_another_door_is_gone_here_too(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    one = begun(make_chats(replies(1), **options))
    one.take_in([], [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    other = make_chats(**options).open("s")
    assert one.undo_import() == 2
    other.catch_up()
    assert other.turns == one.turns and len(other.turns) == 2


def test_what_imported_replies_cost_elsewhere_is_not_paid_here(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    one = begun(make_chats(replies(1), **options))
    reply = {"role": "assistant", "content": "b", "cost": 0.5, "finish_reason": "stop", "session_id": "other"}
    one.take_in([], [{"role": "user", "content": "a"}, reply])
    other = make_chats(**options).open("s")
    assert other.turns == one.turns and len(other.turns) == 4
    assert other.cost == one.cost < 0.5


def test_an_undone_import_does_not_come_back_when_a_retry_fails(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats([*replies(1), ChatError("away")], **options))
    conversation.take_in([], [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    conversation.undo_import()
    list(conversation.retry())
    assert make_chats(**options).open("s").turns == conversation.turns and len(conversation.turns) == 2


IMPORTED = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def said(conversation: Conversation) -> list[str]:
    return [turn["content"] for turn in conversation.turns]


def test_an_undone_import_does_not_come_back_when_a_retry_says_the_same(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats(["yes", "yes", "no"], **options))
    conversation.take_in([], IMPORTED)
    conversation.undo_import()
    list(conversation.retry())
    again = make_chats(["no"], **options).open("s")
    assert said(again) == said(conversation) == ["question 0", "yes"]
    list(again.send("more"))
    assert said(make_chats(**options).open("s")) == ["question 0", "yes", "more", "no"]


def test_an_undone_import_does_not_come_back_when_a_retry_is_killed(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats(replies(1), **options))
    conversation.take_in([], IMPORTED)
    conversation.undo_import()
    conversation.log.asked(conversation.turns[0], at=0)
    assert said(make_chats(**options).open("s")) == ["question 0", "reply 0"]


def test_an_undone_import_does_not_come_back_when_its_question_is_asked_by_hand(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats(["yes", ChatError("away"), "c", "b"], **options))
    conversation.take_in([], IMPORTED)
    conversation.undo_import()
    list(conversation.send("a"))
    again = make_chats(**options).open("s")
    assert (said(again), again.draft) == (["question 0", "yes"], "a")
    list(conversation.send("a"))
    assert said(make_chats(**options).open("s")) == ["question 0", "yes", "a", "c"]
    list(conversation.retry())
    assert said(make_chats(**options).open("s")) == ["question 0", "yes", "a", "b"]


def test_the_beginning_of_an_undone_import_can_be_imported_alone(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats(["yes"], **options))
    conversation.take_in([], [*IMPORTED, *IMPORTED])
    conversation.undo_import()
    conversation.take_in([], IMPORTED)
    again = make_chats(**options).open("s")
    assert said(again) == said(conversation) == ["question 0", "yes", "a", "b"]
    assert again.undo_import() == 2
    assert said(make_chats(**options).open("s")) == ["question 0", "yes"]


def test_what_an_equal_reply_left_behind_stays_behind(make_chats: MakeChats, options: dict[str, Any]) -> None:
    conversation = begun(make_chats(["yes", "yes", "yes"], **options), questions=2)
    other = make_chats(**options).open("s")
    list(conversation.retry(1))
    assert said(make_chats(**options).open("s")) == said(conversation) == ["question 0", "yes"]
    other.catch_up()
    assert said(other) == ["question 0", "yes"]


def test_settings_that_cannot_be_stored_are_not_in_force(
    make_chats: MakeChats, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = begun(make_chats(replies(1), **options))

    def full(*_: Any) -> int:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(conversation.log.store, "add_event", full)
    with pytest.raises(StoreError, match="full"):
        conversation.use(preset="chat")
    assert conversation.settings["preset"] == conversation.manager.config.preset == "budget"
    with pytest.raises(StoreError, match="full"):
        conversation.pin(0)
    assert pins(conversation) == []


def test_settings_are_found_without_reading_the_events_behind_them(
    make_chats: MakeChats, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of weeks has tens of thousands of events, and a list shows the settings of many."""
    conversation = begun(make_chats(replies(1), **options))
    conversation.use(preset="chat")
    store = conversation.log.store
    store.add_event("s", EventName.DOOR, {"type": "message"})

    def all_of_them(*_: Any) -> None:
        raise AssertionError("searched among all events")

    monkeypatch.setattr(store, "last_event", all_of_them)
    again = make_chats(**options)
    assert again.settings_of("s")["preset"] == again.open("s").settings["preset"] == "chat"


def test_settings_outlast_the_events_that_a_store_in_memory_drops(make_chats: MakeChats) -> None:
    store = MemoryStore()
    conversation = begun(make_chats(replies(1), store=store))
    conversation.use(preset="chat")
    for _ in range(10_001):
        store.add_event("s", EventName.DOOR, {})
    again = make_chats(store=store)
    assert again.settings_of("s")["preset"] == again.open("s").settings["preset"] == "chat"


def test_an_imported_message_with_odd_meta_can_be_pinned(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = make_chats(**options).open("s")
    conversation.take_in(
        [], [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "meta": 5}]
    )
    conversation.pin(1)
    assert pins(conversation) == pins(make_chats(**options).open("s")) == [1]
    conversation.pin(1, False)
    assert pins(make_chats(**options).open("s")) == []


def test_what_takes_the_place_of_an_import_is_no_import(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats([*replies(3), ChatError("away")], **options))
    conversation.take_in([], [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    list(conversation.edit(0, "from the start"))
    list(conversation.send("and on"))
    assert len(conversation.turns) == 4 and conversation.last_import is None
    with pytest.raises(NotFound):
        conversation.undo_import()
    list(conversation.edit(2, "again"))
    assert make_chats(**options).open("s").turns == conversation.turns


def test_a_question_in_the_place_of_an_import_waits_for_its_reply(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    conversation = begun(make_chats([*replies(2), ChatError("away")], **options))
    conversation.take_in([], [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    list(conversation.edit(0, "from the start"))
    list(conversation.send("unanswered"))
    again = make_chats(**options).open("s")
    assert (len(again.turns), again.draft) == (2, "unanswered")


def test_what_another_door_says_again_after_leaving_it_behind_is_not_replaced(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    """Its words are those that the store's line still ends with, so the line does not show them."""
    one = begun(make_chats([*replies(2), *replies(2)], **options), questions=2)
    other = make_chats(["the last"], **options).open("s")
    list(one.edit(0, "question 0"))
    other.catch_up()
    assert len(one.turns) == len(other.turns) == 2
    list(one.send("question 1"))
    list(other.send("and now"))
    said = ["question 0", "reply 0", "question 1", "reply 1", "and now", "the last"]
    assert [turn["content"] for turn in other.turns] == said
    assert [turn["content"] for turn in make_chats(**options).open("s").turns] == said


def test_undoing_an_import_leaves_what_another_door_said_after_it(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    one, other = make_chats(**options).open("s"), make_chats(replies(1), **options).open("s")
    one.take_in([], IMPORTED)
    list(other.send("more"))
    with pytest.raises(NotFound):
        one.undo_import()
    assert said(make_chats(**options).open("s")) == said(one) == ["a", "b", "more", "reply 0"]


@pytest.mark.parametrize("how", ["edit", "retry"])
@pytest.mark.parametrize("is_answered", [True, False])
def test_what_another_door_says_while_a_message_is_asked_again_stays(
    how: str, is_answered: bool, make_chats: MakeChats, options: dict[str, Any]
) -> None:
    other = make_chats(["the other's"], **options)

    def goes_on(messages: Any) -> Iterator[ReplyPiece]:
        list(other.open("s").send("meanwhile"))
        if not is_answered:
            raise ChatError("away")
        yield ReplyEnd(FinishReason.STOP, {"role": "assistant", "content": "again"}, None)

    conversation = begun(make_chats([*replies(2), goes_on], **options), questions=2)
    list(conversation.retry() if how == "retry" else conversation.edit(2, "question 1, in other words"))
    now = said(make_chats(**options).open("s"))
    assert said(conversation) == now and now[:2] == ["question 0", "reply 0"]
    at = now.index("meanwhile")
    assert now[at : at + 2] == ["meanwhile", "the other's"]
    if is_answered:
        assert now[-1] == "again" and len(now) >= 6
    else:
        assert now[2:4] == ["question 1", "reply 1"] and len(now) == 6


def test_a_compaction_and_its_undo_at_another_door_hold_for_the_next_message(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    """Below the trigger too, where nothing else would make this door read it."""
    here = ScriptedModel(replies(3))
    one = make_chats(replies(10), **options).open("s")
    for number in range(10):
        list(one.send(f"question {number} " + "about the roof of the cottage by the lake " * 10))
    other = make_chats(model=here, **options).open("s")
    list(other.send("before"))
    assert one.catch_up() and one.compact()[0] is not None
    list(other.send("compacted"))
    assert len(here.prompts[1]) < len(here.prompts[0])
    assert (other.compactions, one.undo() is not None) == (1, True)
    list(other.send("undone"))
    assert len(here.prompts[2]) == len(here.prompts[0]) + 4
    assert other.compactions == 0


def test_a_doors_own_compactions_are_not_read_again(
    make_chats: MakeChats, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, max_context_tokens=2_000, preset="chat"
    )
    chats = make_chats([f"reply {number} " + "and so on " * 20 for number in range(40)], small)
    conversation, read = chats.open("s"), []
    monkeypatch.setattr(CompactManager, "reload", lambda _, session_id: read.append(session_id))
    for number in range(40):
        list(conversation.send(f"question {number} " + "about this " * 20))
    assert conversation.compactions > 2 and read == []


def test_a_message_and_a_compaction_of_another_door_both_hold(
    make_chats: MakeChats, options: dict[str, Any]
) -> None:
    here = ScriptedModel(replies(12))
    one = make_chats(model=here, **options).open("s")
    for number in range(10):
        list(one.send(f"question {number} " + "about the roof of the cottage by the lake " * 10))
    other = make_chats(replies(1), **options).open("s")
    list(other.send("more"))
    assert other.compact()[0] is not None
    list(one.send("next"))
    assert len(here.prompts[-1]) < len(here.prompts[-2])
    assert one.compactions == 1


@pytest.mark.parametrize(("own", "theirs"), [("compact", "undo"), ("undo", "compact"), ("use", "compact")])
def test_what_another_door_does_right_after_ones_own_is_read(
    own: str, theirs: str, make_chats: MakeChats, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make_chats(replies(12), **options).open("s")
    for number in range(10):
        list(one.send(f"question {number} " + "about the roof of the cottage by the lake " * 10))
    if own == "undo":
        assert one.compact()[0] is not None
    recount = one.recount

    def raced() -> None:
        """Before this door has read how many compactions there are."""
        monkeypatch.setattr(one, "recount", recount)
        other = make_chats(**options).open("s")
        assert (other.undo() if theirs == "undo" else other.compact("the roof")[0]) is not None
        recount()

    for name in ("compacted", "undid"):
        note = getattr(one.log, name)
        monkeypatch.setattr(one.log, name, lambda note=note: (one.recount(), note()))
    monkeypatch.setattr(one, "recount", raced)
    {"compact": one.compact, "undo": one.undo, "use": lambda: one.use(preset="chat")}[own]()
    reloaded: list[str] = []
    reload = CompactManager.reload
    monkeypatch.setattr(
        CompactManager, "reload", lambda manager, name: (reloaded.append(name), reload(manager, name))[1]
    )
    list(one.send("next"))
    assert reloaded, "what the other door did was taken for one's own"
    assert one.compactions == (0 if theirs == "undo" else 1)
