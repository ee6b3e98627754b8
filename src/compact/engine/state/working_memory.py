"""Working memory: notes that enter the conversation where they were given, and stay there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compact.core.boundaries import GroupKind, groups
from compact.core.render import disarm
from compact.model.message import Message, MessageKind, Role, make

NOTE_TAG = "<WORKING-MEMORY>"
NOTED = make(MessageKind.BRIDGE, Role.ASSISTANT, "I have noted the working memory.")
"""Separates a note from the user's message, where user and assistant have to alternate."""


class WorkingMemory:
    """The notes of one session, by the chain hash of what comes before each."""

    def __init__(self) -> None:
        self.by_key: dict[bytes, Message] = {}
        self.by_digest: dict[bytes, Message] = {}
        self._by_text: dict[str, Message] = {}

    def enter(self, key: bytes, text: str) -> None:
        note = self._by_text.get(text)
        if note is None:
            said = f"{NOTE_TAG}\n{disarm(text)}\n</WORKING-MEMORY>"
            note = self._by_text[text] = make(MessageKind.CONTEXT, Role.USER, said)
        self.by_key[key] = self.by_digest[note.digest] = note

    def enter_all(self, notes: Iterable[tuple[bytes, str]]) -> bool:
        """Enter what is stored, in order; returns whether any of it was unknown."""
        before = self.by_key.copy(), len(self.by_digest)
        for key, text in notes:
            self.enter(key, text)
        return before != (self.by_key, len(self.by_digest))

    def with_text(self, text: str) -> Message | None:
        return self._by_text.get(text)


def originals_before_note(since: Sequence[Message], length: int) -> int:
    """How many originals come before a new note: up to an unanswered message or step, else all.

    A note never separates a call from its results. `since` are the newest of the `length` originals.
    """
    found = groups(since)
    if not found:
        return length
    last = found[-1]
    members = since[last.start : last.stop]
    asked = {call.call_id for message in members for call in message.calls}
    answered = {result.call_id for message in members for result in message.results}
    waiting = last.kind is GroupKind.USER or bool(asked - answered)
    return length - len(since) + (last.start if waiting else last.stop)
