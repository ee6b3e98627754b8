"""Two chats that write to one session in the same moment: each turn is kept, behind those of the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compact.chat.imports import take_in
from compact.chat.turn_log import TurnLog
from compact.config import CompactConfig
from compact.errors import StoreError
from compact.manager import CompactManager
from compact.stores import open_store


@contextmanager
def chat_on(url: str) -> Iterator[TurnLog]:
    with open_store(url) as store:
        yield TurnLog(CompactManager(CompactConfig(counter="chars4"), store=store), store, "talk")


def turns(name: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": name}, {"role": "assistant", "content": f"answer to {name}"}]


def told(url: str) -> list[str]:
    with chat_on(url) as again:
        return [turn["content"] for turn in again.turns]


@pytest.mark.spec("S1.14")
def test_what_another_chat_writes_between_the_look_and_the_write_is_kept(store_url: str) -> None:
    with chat_on(store_url) as one, chat_on(store_url) as other:
        one.keep(turns("first"))
        other.catch_up()
        second = threading.Thread(target=lambda: other.keep(turns("from the other")))
        usage = one.manager.usage

        def meanwhile(*args: Any) -> Any:
            # The other chat strikes after this one has looked, and before it writes. It may have to wait.
            if not second.ident:
                second.start()
                second.join(timeout=0.5)
            return usage(*args)

        one.manager.usage = meanwhile  # type: ignore[method-assign]
        one.keep(turns("from the one"))
        second.join(timeout=60)
        asked = ["first", "from the one", "from the other"]
        assert told(store_url) == [text for name in asked for text in (name, f"answer to {name}")]
        # Whoever came second has taken in what the first one said: two turns at first, two now.
        assert other.came_in == 4 and len(other.turns) == 6
        assert one.catch_up() and len(one.turns) == 6


@pytest.mark.spec("S1.14")
def test_many_turns_of_many_chats_at_once(store_url: str) -> None:
    names = [f"chat {number}" for number in range(4)]
    failed: list[BaseException] = []

    def talk(name: str) -> None:
        try:
            with chat_on(store_url) as chat:
                for number in range(5):
                    question, answer = turns(f"{name}, {number}")
                    chat.asked(question)
                    chat.keep([question, answer])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=talk, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failed == []
    kept = told(store_url)
    assert sorted(kept[::2]) == sorted(f"{name}, {number}" for name in names for number in range(5))
    assert kept[1::2] == [f"answer to {text}" for text in kept[::2]]


def test_an_import_that_the_store_refuses_changes_nothing_and_can_be_repeated(store_url: str) -> None:
    with chat_on(store_url) as chat:
        chat.keep(turns("first"))
        add_event = chat.store.add_event

        def refused(*_: Any) -> int:
            raise StoreError("the disk is full")

        chat.store.add_event = refused  # type: ignore[method-assign]
        again = [{**turn, "timestamp": "t", "session_id": "x", "agent": "y"} for turn in turns("taken in")]
        with pytest.raises(StoreError):
            take_in(chat, [], again, "gpt-4o", "a title")
        assert len(chat.turns) == 2 and not chat.row.title and told(store_url) == ["first", "answer to first"]
        chat.store.add_event = add_event  # type: ignore[method-assign]
        take_in(chat, [], again, "gpt-4o", "a title")
        chat.keep(turns("last"))
    names = ["first", "taken in", "last"]
    assert told(store_url) == [text for name in names for text in (name, f"answer to {name}")]
