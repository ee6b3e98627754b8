"""Conversations and exchanges, for every front door.

    from compact.chat import Chats, Finished, TextDelta, Tool, Toolbox

    chats = Chats(CompactConfig(preset="chat"), store, models=lambda name: chat_model(name, os.environ))
    conversation = await chats.aopen("session-1")        # or chats.open(...): settings, turns, system prompt

    exchange = conversation.send("Which city did I name?")
    async for event in exchange:                         # or: for event in exchange
        match event:
            case TextDelta(text=text):
                print(text, end="")
            case Finished(reason=reason):                # always the last one
                print(reason)

`exchange.stop()`, from any thread or task, ends it and keeps what was said as interrupted; so does
cancelling the task. `conversation.retry()` and `conversation.edit(position, text)` return an `Exchange`
too. Its events are in `chat/events.py`: Accepted, StepStarted, TextDelta, ReasoningDelta, ToolCalled,
ToolReturned, Compacting (an event of the engine, S2.18), ContextReduced, UsageReported, Stored, Notice,
Failed, Finished.

An exchange stores the message, then for each model call: preflight, stream, tools, store; then the end of
the turn, also after a failure. Tools come from the door:

    Chats(..., tools=Toolbox([Tool("clock", "The time.", lambda: "12:00")]), offers_recall=True)
"""

from compact.chat.chats import Chats
from compact.chat.conversation import Conversation, Status
from compact.chat.events import (
    Accepted,
    ChatEvent,
    Compacting,
    ContextReduced,
    Failed,
    Finish,
    Finished,
    Notice,
    ReasoningDelta,
    Severity,
    StepStarted,
    Stored,
    TextDelta,
    ToolCalled,
    ToolReturned,
    Topic,
    UsageReported,
)
from compact.chat.exchange import Exchange
from compact.chat.tools import Tool, Toolbox, ToolOutput, ToolRunner

__all__ = [
    "Accepted",
    "ChatEvent",
    "Chats",
    "Compacting",
    "ContextReduced",
    "Conversation",
    "Exchange",
    "Failed",
    "Finish",
    "Finished",
    "Notice",
    "ReasoningDelta",
    "Severity",
    "Status",
    "StepStarted",
    "Stored",
    "TextDelta",
    "Tool",
    "ToolCalled",
    "ToolOutput",
    "ToolReturned",
    "ToolRunner",
    "Toolbox",
    "Topic",
    "UsageReported",
]
