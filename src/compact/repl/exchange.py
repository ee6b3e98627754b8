"""An exchange as the terminal shows it: events become lines and pieces."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, cast

from compact.chat import (
    ChatEvent,
    Failed,
    Finish,
    Finished,
    Notice,
    ReasoningDelta,
    StepStarted,
    Stored,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from compact.chat.turns import text_of
from compact.console.terminal import one_line
from compact.repl.chat import Chat, failed, said
from compact.repl.saying import Happening, Kind, Piece, Preparing, Said, info

_FIELDS = ("role", "content", "finish_reason", "usage", "session_id", "agent", "timestamp")
_CUT_OFF = "The reply reached the length limit and was cut off. Send “continue” to get the rest."


def say(chat: Chat, text: str) -> Iterator[Happening]:
    """Send a message and show what arrives. An interrupt thrown in keeps what has arrived."""
    events = cast("Generator[ChatEvent, None, None]", iter(chat.conversation.send(text)))
    struck = False
    while True:
        try:
            event = events.throw(KeyboardInterrupt()) if struck else next(events)
        except StopIteration:
            return
        struck = False
        for happening in _happenings(event):
            try:
                yield happening
            except KeyboardInterrupt:
                struck = True


def _happenings(event: ChatEvent) -> Iterator[Happening]:
    match event:
        case StepStarted(model=model):
            yield Preparing(model)
        case TextDelta(text=text):
            yield Piece(text)
        case ReasoningDelta(text=text):
            yield Piece(text, thinking=True)
        case ToolCalled(call=call):
            arguments = one_line(str(call.arguments), 60)
            yield info(f"Calling {call.name} {arguments}", tool=call.name, arguments=call.arguments)
        case ToolReturned(name=name, text=text):
            yield info(f"{name} returned {one_line(text, 60)}", tool=name, output=text)
        case Stored(turns=turns, usage=usage):
            context = {"tokens": usage.tokens, "window": usage.window}
            for turn in turns:
                if turn["role"] == "assistant":
                    yield Said(Kind.REPLY, text_of(turn), {**_details(turn), "context": context})
        case Notice():
            yield said(event)
        case Failed(error=problem):
            yield failed(problem)
        case Finished(reason=Finish.LENGTH):
            # Not for each turn: after a step with calls the exchange goes on by itself.
            yield Said(Kind.WARNING, _CUT_OFF)
        case _:
            pass


def _details(turn: Mapping[str, Any]) -> dict[str, Any]:
    return {name: turn.get(name) for name in _FIELDS}
