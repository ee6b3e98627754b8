"""What a session keeps in the store besides messages and records, so that another process goes on with it.

That is the correction of our counts, retired tools, the leading system messages and working memory. Only
`save` writes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compact.engine.state.caller_list import same
from compact.engine.state.working_memory import WorkingMemory
from compact.ports import Remembers, SessionMemory, Store


class StoredMemory:
    def __init__(self, session_id: str, store: Store) -> None:
        self._session_id = session_id
        self._store = store
        self._saved = store.memory(session_id) if isinstance(store, Remembers) else SessionMemory()
        self.is_unsaved = False
        """Whether something changed that the store does not have yet."""
        self.scale = self._saved.scale
        """The provider's count divided by ours, as last observed."""
        self.retired_tools = self._saved.retired_tools
        """Discovered tools that no kept message referred to at the last compaction (S2.17)."""
        self.head: list[Any] = list(self._saved.head)
        """The leading system messages that the store has."""
        self.notes = WorkingMemory()
        self.notes.enter_all(self._saved.notes)
        self._new_notes: list[tuple[bytes, str]] = []
        """Those that the store does not have yet."""

    def correct(self, scale: float) -> None:
        self.scale, self.is_unsaved = scale, True

    def retire(self, tools: frozenset[str]) -> None:
        """These discovered tools are off the list until a message refers to them again."""
        self.retired_tools, self.is_unsaved = tools, True

    def add_note(self, key: bytes, text: str) -> None:
        self.is_unsaved = True
        self._new_notes.append((key, text))
        self.notes.enter(key, text)

    def reload(self) -> bool:
        """Read what other processes made the session remember; returns whether working memory is among it.

        Not at every call: with their compactions, and if a list shows that there must be something.
        """
        if not isinstance(self._store, Remembers):
            return False
        saved = self._store.memory(self._session_id)
        if self.scale == self._saved.scale:
            # What was observed here and is not stored yet is newer.
            self.scale = saved.scale
        self.retired_tools = saved.retired_tools
        self._saved, self.head = saved, list(saved.head)
        return self.notes.enter_all(saved.notes)

    def save(self, head: list[Any]) -> None:
        """Store what changed; `head` are the leading system messages now."""
        saved = self._saved
        if self.scale != saved.scale:
            self._remember(scale=self.scale)
        if self.retired_tools != saved.retired_tools:
            self._remember(retired_tools=self.retired_tools)
        # Leading system messages are not part of the history, but a restored list begins with them.
        if not same(head, self.head):
            self._remember(head=head)
        self.head = head
        while self._new_notes:
            self._remember(note=self._new_notes[0])
            del self._new_notes[0]
        self.is_unsaved = False

    def _remember(self, **changes: Any) -> None:
        """Keep this for the next process that opens the session; see `Remembers`."""
        if isinstance(self._store, Remembers):
            self._store.remember(self._session_id, **changes)
        if changes.keys() & {"scale", "retired_tools"}:
            self._saved = replace(self._saved, **changes)
