"""The session's current line in the store, as hashes: which compactions belong to it."""

from __future__ import annotations

from compact.chat.session_row import ChatStore
from compact.core.view import START, links
from compact.model.record import Record


class StoredLine:
    """After an edit, a session has several lines; a compaction of another one can't be undone."""

    def __init__(self, store: ChatStore, session_id: str) -> None:
        self._store = store
        self._id = session_id
        self._links = [START]
        """The chain hash after each number of messages."""

    def holds(self, record: Record) -> bool:
        """Whether the messages that it replaced are there."""
        found = self._read()
        return record.source_length < len(found) and found[record.source_length] == record.source

    def _read(self) -> list[bytes]:
        """Reads only what is new. The list is replaced, not changed: several threads look."""
        end, found = self._store.end(self._id)[1], self._links
        if found[-1] != end:
            found = [*found, *links(found[-1], self._store.originals(self._id, len(found) - 1))]
        if found[-1] != end:
            found = [START, *links(START, self._store.originals(self._id))]
        self._links = found
        return found
