"""Export and import, in the formats of the terminal chat."""

from __future__ import annotations

import json
from typing import Any

from compact.chat.conversation import Conversation
from compact.chat.turn_log import FORMAT
from compact.chat.turns import Turn, from_message
from compact.errors import FormatError
from compact.formats import decode_all, recognize
from compact.server.http.problems import Problem
from compact.server.studio import schemas
from compact.server.studio.showing import shown_usage
from compact.wiring import redactor_for

_SYSTEM = ("system", "developer")


def exported(conversation: Conversation) -> str:
    """The turns since the last clear, redacted; what is ours alone stays out."""
    redact = redactor_for(conversation.manager.config).value
    turns = [{name: value for name, value in turn.items() if name != "meta"} for turn in conversation.current]
    return json.dumps([redact(turn) for turn in turns], ensure_ascii=False, indent=2) + "\n"


def imported(conversation: Conversation, messages: list[dict[str, Any]], again: bool) -> schemas.Imported:
    turns = _turns(messages)
    head: list[Turn] = []
    while turns and turns[0].get("role") in _SYSTEM:
        head.append(turns.pop(0))
    if not turns:
        raise Problem(422, "no-messages", "There are no messages in it. Nothing was imported.")
    if not again and _holds(conversation.turns, turns):
        raise Problem(
            409,
            "already-there",
            "The session holds these messages already. Nothing was imported; send again: true to append "
            "them.",
        )
    conversation.log.take_in(head, turns, conversation.agent)
    conversation.reset()
    return schemas.Imported(imported=len(turns), usage=shown_usage(conversation))


def _turns(messages: list[dict[str, Any]]) -> list[Turn]:
    try:
        format = recognize(messages)
        decoded = decode_all(messages, format)
    except RecursionError:
        raise FormatError("It is nested too deep. Nothing was imported.") from None
    if format.name == FORMAT:
        return list(messages)
    return [turn for message in decoded for turn in from_message(message)]


def _holds(turns: list[Turn], new: list[Turn]) -> bool:
    """Whether the session ends with these very messages, or begins with them."""
    said, wanted = [_said(turn) for turn in turns], [_said(turn) for turn in new]
    return said[: len(wanted)] == wanted or said[-len(wanted) :] == wanted


def _said(turn: Turn) -> tuple[Any, ...]:
    return (turn.get("role"), json.dumps(turn.get("content"), sort_keys=True, default=str))
