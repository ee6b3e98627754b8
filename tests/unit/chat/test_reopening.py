"""A conversation that is opened again at 90 % (S1.10): the due trim waits once, not once more."""

from __future__ import annotations

from typing import Any

import pytest

from compact.chat import Chats, Conversation
from compact.config import CompactConfig
from support.scripted_model import ScriptedModel

from .conftest import MakeChats

WINDOW = 2_000
CONFIG = CompactConfig(
    model="gpt-4o",
    preset="window",
    max_context_tokens=WINDOW,
    policy={"hard_cap_buffer": 50},
    counter="chars4",
    archive={"adapter": "none"},
)


def reply(tokens: int) -> str:
    return "wxyz" * tokens


@pytest.fixture
def opened(make_chats: MakeChats) -> Any:
    """A function that opens the conversation as another process does, with this as its next replies."""

    def open_with(*replies: str) -> Conversation:
        chats: Chats = make_chats(model=ScriptedModel(replies), config=CONFIG, delays_trim=True)
        conversation = chats.open("talk")
        list(conversation.warnings())  # as the terminal does
        return conversation

    return open_with


def say(conversation: Conversation, text: str = "go on") -> int:
    """Send this; returns how many trims there are then."""
    list(conversation.send(text))
    return conversation.compactions


def at_90_percent(conversation: Conversation) -> None:
    for _ in range(8):
        assert say(conversation) == 0
    assert WINDOW * 0.9 <= conversation.usage.tokens < WINDOW * 0.93


REPLIES = [reply(217)] * 8


def test_a_turn_that_was_owed_is_still_owed(opened: Any) -> None:
    at_90_percent(opened(*REPLIES))
    again = opened("fine", "trimmed")
    assert say(again) == 0
    assert say(again) == 1


def test_a_turn_that_was_given_is_not_given_again(opened: Any) -> None:
    first = opened(*REPLIES, "fine")
    at_90_percent(first)
    assert say(first) == 0
    assert say(opened("trimmed")) == 1


def test_after_a_trim_it_is_owed_anew(opened: Any) -> None:
    first = opened(*REPLIES, "fine", reply(700))
    at_90_percent(first)
    assert say(first) == 0
    assert say(first) == 1
    assert first.usage.tokens >= WINDOW * 0.9
    again = opened("fine", "trimmed")
    assert say(again) == 1
    assert say(again) == 2


def test_what_was_imported_used_up_no_turn(opened: Any) -> None:
    first = opened()
    turns = [
        {"role": ("user", "assistant")[n % 2], "content": reply(1_800 if n == 1 else 5)} for n in range(4)
    ]
    first.take_in([], turns)
    assert first.usage.tokens >= WINDOW * 0.9
    again = opened("fine", "trimmed")
    assert say(again) == 0
    assert say(again) == 1
