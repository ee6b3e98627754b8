"""One exchange through both drivers: the same events, the same turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from compact.chat import (
    Accepted,
    ChatEvent,
    Conversation,
    Exchange,
    Finish,
    Finished,
    StepStarted,
    Stored,
    TextDelta,
    Tool,
    Toolbox,
    ToolCalled,
    ToolReturned,
)
from support.scripted_model import Calls

Drive = Callable[[Exchange], "Any"]


async def driven(exchange: Exchange, how: str) -> list[ChatEvent]:
    if how == "sync":
        return await asyncio.to_thread(list, exchange)
    return [event async for event in exchange]


both = pytest.mark.parametrize("how", ["sync", "async"])


def texts(conversation: Conversation) -> list[tuple[str, Any]]:
    return [(turn["role"], turn["content"]) for turn in conversation.turns]


@both
async def test_a_message_and_its_reply(make_chats: Any, how: str) -> None:
    chats = make_chats(["The sky is blue."])
    events = await driven(chats.open("talk").send("Why?"), how)
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [Accepted, StepStarted, Stored, Finished]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "The sky is blue."
    assert events[-1] == Finished(Finish.STOP)
    again = chats.open("talk")
    assert texts(again) == [("user", "Why?"), ("assistant", "The sky is blue.")]
    assert again.title == "Why?"


@both
async def test_tools_run_until_the_reply_calls_none(make_chats: Any, how: str) -> None:
    async def slowly(city: str) -> str:
        return f"rain in {city}"

    tools = Toolbox([Tool("weather", "The weather.", slowly), Tool("clock", "The time.", lambda: "12:00")])
    script = [Calls(("weather", {"city": "Ulm"}), ("clock", {}), text="Let me see."), "It rains, at 12."]
    chats = make_chats(script, tools=tools)
    events = await driven(chats.open("talk").send("How is it?"), how)
    assert [e.call.name for e in events if isinstance(e, ToolCalled)] == ["weather", "clock"]
    returned = [e for e in events if isinstance(e, ToolReturned)]
    assert [(e.name, e.text, e.is_error) for e in returned] == [
        ("weather", "rain in Ulm", False),
        ("clock", "12:00", False),
    ]
    again = chats.open("talk")
    assert [turn["role"] for turn in again.turns] == ["user", "assistant", "tool", "tool", "assistant"]
    model = again.model
    assert [m["role"] for m in model.prompts[1]] == ["user", "assistant", "tool", "tool"]  # type: ignore[attr-defined]


@both
async def test_a_call_nobody_can_run_gets_an_error_as_its_result(make_chats: Any, how: str) -> None:
    chats = make_chats([Calls(("teleport", {})), "I cannot."])
    events = await driven(chats.open("talk").send("Go!"), how)
    (returned,) = [e for e in events if isinstance(e, ToolReturned)]
    assert returned.is_error and "teleport" in returned.text
    assert [turn["role"] for turn in chats.open("talk").turns] == ["user", "assistant", "tool", "assistant"]
