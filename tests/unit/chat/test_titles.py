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


def test_no_title_is_cut_in_the_middle_of_a_secret(make_chats: MakeChats) -> None:
    heard: list[Event] = []
    chats = make_chats(["yes", "no"], exporters=[heard.append])
    long = "Connect to the database of the shop: postgres://admin:S3cretPassw0rd!xyz@db.example/shop, please."
    list(chats.open("s").send(long))
    again = chats.open("s")
    list(again.send("more"))
    again.rename(f"{long} Again.")
    imported = chats.open("i")
    imported.take_in([], [{"role": "user", "content": "hi"}], title=long)
    imported.report_title()
    assert again.manager.flush(5)
    titles = [event.data["title"] for event in heard if event.name is EventName.TITLE]
    assert len(titles) >= 3 and not [title for title in titles if "S3cret" in title]
    assert all(title.startswith("Connect to the database of the shop: ") for title in titles)
    assert all(title.endswith("…") and len(title) <= 60 for title in titles)
