"""The entry of a session in the store: which session it is, its title, its space."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from compact.chat.turns import Turn, text_of
from compact.ports import Store, Thread, Threads

_TITLE = 60


class ChatStore(Store, Threads, Protocol):
    """A store that a chat can use: the engine's port and the doors' port."""


class SessionRow:
    """It exists in the store from the first message on."""

    def __init__(self, store: ChatStore, session_id: str, redacted: Callable[[str], str]) -> None:
        self.store = store
        self._redacted = redacted
        self.id = session_id
        self.title = ""
        self.space: str | None = None
        self.instructions: list[Turn] = []
        """The custom instructions of the session's space, as a system turn."""
        self.incarnation: str | None = None
        """Which session with this id it is, once the store has it: no other one gets its turns."""

    def read(self) -> Thread | None:
        """Take over what the store has; None if it has no such session."""
        thread = self.store.session(self.id)
        if thread is not None:
            self.incarnation, self.title, self.space = thread.incarnation, thread.title, thread.space
            self.instructions = self._space_instructions(thread.space)
        return thread

    def _space_instructions(self, name: str | None) -> list[Turn]:
        space = self.store.space(name) if name else None
        text = space.custom_instructions if space is not None else ""
        return [{"role": "system", "content": text}] if text else []

    @property
    def is_deleted(self) -> bool:
        """Whether another door has deleted the session, and maybe created another with its id."""
        return self.incarnation is not None and self.stored_incarnation() != self.incarnation

    def stored_incarnation(self) -> str | None:
        thread = self.store.session(self.id)
        return thread.incarnation if thread is not None else None

    def exclusively(self) -> AbstractContextManager[None]:
        """Nobody else writes to this session inside; HistoryGone if it was deleted."""
        return self.store.exclusively(self.id, incarnation=self.incarnation)

    def put(self, **changes: Any) -> None:
        """Change what the list of sessions shows; creates a new session, but not a deleted one."""
        with self.exclusively():
            self.store.put_session(self.id, **changes)
            incarnation = self.incarnation or self.stored_incarnation()
        self.incarnation = incarnation

    def name(self, text: str) -> None:
        title = self.as_title(text)
        self.put(title=title)
        self.title = title

    def name_after(self, question: Turn) -> None:
        """Give it a title if it has none, not even one that another door has given it."""
        if not self.title:
            with self.exclusively():
                thread = self.store.session(self.id)
                self.title = thread.title if thread is not None else ""
                if not self.title:
                    self.name(text_of(question))

    def as_title(self, text: str) -> str:
        """The text on one line, shortened if it is long.

        Redacted before it is cut: titles are exported, and half of a secret is not recognized as one.
        """
        line = " ".join(text.split())
        if len(line) > _TITLE:
            line = " ".join(self._redacted(text).split())
        return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"
