"""The demo assistant: no model, answers from the conversation, calls tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compact.chat import Chats, Finish, Finished, Tool, Toolbox, ToolCalled
from compact.config import CompactConfig
from compact.model.chat import CallMade, FinishReason, ReplyEnd, TextPiece
from compact.models.choose import chat_model
from compact.models.demo import DemoChatModel
from compact.models.limits import limits_for
from compact.stores.memory import MemoryStore
from compact.summarizers.api import summarize

FACTS = [
    {"role": "user", "content": "The meeting with Dorothea is in Ulm on Friday. I take the early train."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "My budget for the trip is 480 euros."},
    {"role": "assistant", "content": "Noted."},
]
DICE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "roll_dice",
        "description": "Rolls.",
        "parameters": {
            "type": "object",
            "properties": {"sides": {"type": "integer"}, "label": {"type": "string"}},
            "required": ["sides"],
        },
    },
}


def asked(text: str, *more: Any, tools: Any = None, max_tokens: int | None = None) -> ReplyEnd:
    messages = [*FACTS, {"role": "user", "content": text}, *more]
    *pieces, end = DemoChatModel(pace=0).stream(messages, tools=tools, max_tokens=max_tokens)
    assert isinstance(end, ReplyEnd)
    said = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    assert said == (end.message["content"] or "")
    return end


def test_it_says_what_it_is() -> None:
    demo = chat_model("demo", {})
    assert "demo" in demo.label and "no model" in demo.label
    assert "demo assistant, not a model" in asked("I like tea.").message["content"]
    assert limits_for(demo.model).warning is None


@pytest.mark.parametrize(
    ("question", "found"),
    [("What did I say about Dorothea?", "Ulm on Friday"), ("How large is my budget?", "480")],
)
def test_a_question_is_answered_from_the_conversation(question: str, found: str) -> None:
    text = asked(question).message["content"]
    assert found in text and text.count("“") == 1


def test_a_summary_quotes_its_remark_as_a_whole() -> None:
    said: list[dict[str, Any]] = []
    for text in ("Hello.", "The service listens on port 8080."):
        said.append({"role": "user", "content": text})
        *_, end = DemoChatModel(pace=0).stream(said)
        assert isinstance(end, ReplyEnd)
        said.append({"role": "assistant", "content": end.message["content"]})
    assert summarize(said, 400, "brief").text.splitlines()[0] == (
        "Last said: [m3] Noted: “The service listens on port 8080.” "
        "(from the demo assistant, not a model; messages in the prompt: 3, yours: 2)."
    )


def test_a_label_says_what_a_sentence_is_about() -> None:
    said = [
        {"role": "user", "content": "Tom asks whether guests can still pay by card."},
        {"role": "assistant", "content": "**Open**: the new feed address. The rest is done."},
        {"role": "user", "content": "What is still open?"},
    ]
    *_, end = DemoChatModel(pace=0).stream(said)
    assert isinstance(end, ReplyEnd)
    assert "“**Open**: the new feed address.”" in end.message["content"]


def test_what_nobody_said_is_not_made_up() -> None:
    assert "know this conversation only" in asked("Quelle est la capitale?").message["content"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Please roll dice with 6 sides", {"sides": 6}),
        ("roll_dice sides=20 label=luck", {"sides": 20, "label": "luck"}),
        ('roll_dice {"sides": 4}', {"sides": 4}),
    ],
)
def test_a_tool_that_is_named_is_called(text: str, arguments: dict[str, Any]) -> None:
    end = asked(text, tools=[DICE])
    assert end.reason is FinishReason.TOOL_CALLS
    function = end.message["tool_calls"][0]["function"]
    assert function["name"] == "roll_dice" and json.loads(function["arguments"]) == arguments
    result = {"role": "tool", "tool_call_id": end.message["tool_calls"][0]["id"], "content": "a 3"}
    assert "roll_dice returned: a 3" in asked(text, end.message, result, tools=[DICE]).message["content"]


def test_a_reply_keeps_to_its_limit() -> None:
    end = asked("I like tea.", max_tokens=10)
    assert end.reason is FinishReason.LENGTH and len(end.message["content"].split(" ")) == 5


async def test_in_a_chat_it_recalls_what_was_compacted_away() -> None:
    """A question is looked up with the recall tool, also what left the prompt long ago."""
    config = CompactConfig(
        preset="window", max_context_tokens=2_000, counter="chars4", archive={"adapter": "none"}
    )
    tools = Toolbox([Tool("clock", "The time.", lambda: "12:00")])
    chats = Chats(config, MemoryStore(), lambda name: DemoChatModel(pace=0), tools=tools, offers_recall=True)
    talk = chats.open("talk")
    said = [
        "Hello.",
        "Hello again.",
        "The key hangs behind the blue shutter.",
        *["Padding words here. " * 20] * 14,
    ]
    for text in said:
        assert [event async for event in talk.send(text)][-1] == Finished(Finish.STOP)
    sent = json.dumps(talk.manager.view("talk", talk.history).messages)
    assert "shutter" not in sent
    events = [event async for event in talk.send("Where does the key hang?")]
    assert [event.call.name for event in events if isinstance(event, ToolCalled)] == ["recall_history"]
    assert "behind the blue shutter" in talk.turns[-1]["content"]
    async for _ in talk.send("Use the clock"):
        pass
    assert "12:00" in talk.turns[-1]["content"]
    chats.close()


async def test_both_streams_say_the_same() -> None:
    demo, messages = DemoChatModel(pace=0), [*FACTS, {"role": "user", "content": "What about Ulm?"}]
    pieces = [piece async for piece in demo.astream(messages)]
    assert pieces == list(demo.stream(messages)) and not any(isinstance(p, CallMade) for p in pieces)


def test_a_quote_goes_on_behind_a_number_with_a_dot() -> None:
    said = "The plan has parts. 10. The Ulm office moves to Kepler Street 10. It costs 3.50 a square."
    messages = [
        {"role": "user", "content": said},
        {"role": "user", "content": "Where does the Ulm office move?"},
    ]
    *_, end = DemoChatModel(pace=0).stream(messages)
    assert isinstance(end, ReplyEnd)
    assert "The Ulm office moves to Kepler Street 10." in end.message["content"]


def test_the_sample_fits_the_window_it_was_written_for() -> None:
    assert limits_for("compact-demo").window == 20_000
