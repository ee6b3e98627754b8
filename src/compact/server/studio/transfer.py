"""Export and import, in the formats of the terminal chat."""

from __future__ import annotations

import json
from typing import Any

from compact.chat import transfer
from compact.chat.conversation import Conversation
from compact.chat.imports import AlreadyThere
from compact.server.http.problems import Problem
from compact.server.http.sound_text import sound_text
from compact.server.studio import schemas
from compact.server.studio.showing import shown_usage
from compact.wiring.adapters import redactor_for


def exported(conversation: Conversation) -> str:
    """The turns since the last clear, redacted; our own fields are left out."""
    redact = redactor_for(conversation.manager.config).value
    turns = transfer.exported(conversation.current, redact)
    return sound_text(json.dumps(turns, ensure_ascii=False, indent=2) + "\n")


def imported(conversation: Conversation, messages: list[dict[str, Any]], again: bool) -> schemas.Imported:
    head, turns = transfer.imported(messages)
    if not turns:
        raise Problem(422, "no-messages", "There are no messages in it. Nothing was imported.")
    try:
        conversation.take_in(head, turns, again=again)
    except AlreadyThere as problem:
        raise Problem(409, "already-there", f"{problem} Send again: true to append them.") from None
    conversation.reset()
    return schemas.Imported(imported=len(turns), usage=shown_usage(conversation))
