"""The title of a conversation, for those who follow it elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from compact.chat import Chats
from compact.model.event import Event, EventName
from compact.tracing.schema import validate

MakeChats = Callable[..., Chats]


def test_a_title_is_reported_with_the_first_message_and_when_it_changes(make_chats: MakeChats) -> None:
    heard: list[Event] = []
    chats = make_chats(["yes", "no", "so"], exporters=[heard.append])

    def titles() -> list[str]:
        assert chats.open("none").manager.flush(5)
        return [event.data["title"] for event in heard if event.name is EventName.TITLE]

    list(chats.open("s").send("what is the password=hunter2secret42 for?"))
    assert titles() == ["what is the password=<REDACTED> for?"]
    again = chats.open("s")
    assert len(titles()) == 1, "who just looks reports nothing"
    list(again.send("more"))
    list(again.send("and more"))
    again.rename("Passwords")
    for event in heard:
        validate(event)
    assert titles()[1:] == [titles()[0], "Passwords"]
