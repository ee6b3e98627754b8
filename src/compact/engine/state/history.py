"""A history: one list as a caller sends it, remembered so that each message is processed once.

The caller may send the full history every time, continue with the returned list, or mix both. A history finds
out which, by chain hash: `output` keys mean "a record put this prefix here", `source` keys mean "a record
replaces this prefix".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from compact.core.layers import ASKING
from compact.core.view import START, Item, apply_entries, links, undo_key
from compact.engine.state.caller_list import REPLACED_AT_A_COMPACTION, CallerList, Originals, Remembered
from compact.engine.state.prompt_view import PromptView
from compact.engine.state.record_matcher import Found, RecordMatcher, may_apply, originals_behind
from compact.engine.state.working_memory import NOTE_TAG, NOTED, WorkingMemory
from compact.model.message import Message, MessageKind, Role
from compact.model.record import Cleared, Injected, Kept, Record
from compact.ports import Format, Store

_USER = Role.USER


class HistoryState(StrEnum):
    """How the caller's list relates to the originals."""

    FULL = "full"
    """It holds every original."""
    ADOPTED = "adopted"
    """It begins with what a record put in place of the originals."""
    UNDONE = "undone"
    """The same, but that record was undone: the originals are read from the store and sent again."""


class History:
    """Decoded messages of one list, without its leading system messages, and the view they make."""

    def __init__(
        self,
        store: Store,
        size_of: Callable[[Message], int],
        notes: WorkingMemory,
        matcher: RecordMatcher,
        format: Format,
        possible: frozenset[str],
        view: PromptView,
    ) -> None:
        self._store = store
        self._size_of = size_of
        self._notes = notes
        self.matcher = matcher
        self.format = format
        self.possible = possible
        """Names of the formats that the messages so far may be in; plain ones fit several."""
        self.state = HistoryState.FULL
        self.caller = CallerList()
        self.originals = Originals()
        self.base: Record | None = None
        """The record that the view begins with."""
        self.view = view
        self.stored = 0
        """How many originals the store has."""
        self.has_originals = False
        """Whether the store has the originals of the other session's record that this continues from."""
        self.restored = 0
        """Undone: how many originals, from the first on, come from the store instead of the caller's list."""
        self.base_was_undone = False
        """Whether the base record was undone elsewhere, so that this history has to be read again."""
        self.has_unknown_note = False
        """Whether the list holds something like working memory that is not known."""
        self._raw = START
        """The chain hash of the list itself, whatever it is made of."""
        self._records_known = 0
        self._note_at(START)

    # -- what it knows -------------------------------------------------------------------------------------

    @property
    def covered(self) -> int:
        """How many originals the base record replaces."""
        return self.base.source_length if self.base is not None else 0

    @property
    def is_undone(self) -> bool:
        """Whether the record that the view begins with no longer counts."""
        return self.base is not None and self.matcher.is_undone(self.base)

    @property
    def has_all(self) -> bool:
        """Whether it holds every original, and does not continue from what a record put in their place."""
        return self.state is not HistoryState.ADOPTED

    @property
    def alternates(self) -> bool:
        """Whether its provider wants user and assistant to take turns."""
        return getattr(self.format, "alternates", False)

    def continues(self, messages: list[Any], head: int, thorough: bool = True) -> bool:
        """Whether this list, minus its `head`, begins with the one we know, edits in place included.

        A thorough check compares all of it. Otherwise only some of what a record has replaced is compared.
        """
        if thorough:
            return self.caller.begins(messages, head)
        return self.caller.begins_watched(messages, head, self._replaced)

    def is_exact(self, messages: list[Any], head: int) -> bool:
        """The check that every compaction begins with: a thousand of the replaced messages, in turn.

        It costs the same however long the session is. Everything that may be sent is compared.
        """
        return self.caller.begins_watched(messages, head, self._replaced, REPLACED_AT_A_COMPACTION)

    # -- what it takes in ----------------------------------------------------------------------------------

    def extend(self, items: Sequence[Any], first_index: int, known: Remembered | None = None) -> None:
        """Add new objects of the caller."""
        self._take(self.caller.read(items, self.format, first_index, known))

    def fork_from(self, other: History, count: int) -> None:
        """Begin with the first `count` objects of another history, which need no decoding."""
        self._take(self.caller.repeat(other.caller, count))
        mine, theirs = self.originals, other.originals
        shared = min(mine.length, other.stored)
        if shared >= max(mine.first, theirs.first) and mine.source_at(shared) == theirs.source_at(shared):
            self.stored = max(self.stored, shared)

    def _take(self, fresh: Sequence[Message]) -> None:
        if not fresh:
            return
        self.has_unknown_note = any([m.role is _USER and self._looks_like_a_note(m) for m in fresh])
        before = self.originals.end
        raws = links(self._raw, fresh)
        # One chain serves both as long as the list holds only originals.
        keys = raws if self._raw == before and not self._notes.by_digest else self._keys(fresh)
        wanted = [before, *raws] if keys is raws else [before, *raws, *keys]
        if self.base is not None:
            wanted.append(undo_key(self.base.source))
        found = self._find(wanted)
        self._raw = raws[-1]
        if not found:
            self.caller.messages.extend(fresh)
            self._advance(fresh, keys)
            return
        if self.base is not None and not self.matcher.is_undone(self.base):
            undone = found.get(wanted[-1], ())
            self.base_was_undone = any(record.revokes == self.base.id for record in undone)
        start = before if self.state is HistoryState.FULL else b""  # the others already have their record
        adopted, record = self.matcher.adopted(found, fresh, [start, *raws], len(self.caller.messages))
        self.caller.messages.extend(fresh)
        if record is not None:
            count = len(self.caller.messages) - len(fresh) + adopted
            if not (self.matcher.is_undone(record) and self._undo(record, count)):
                self._adopt(record, count)
            fresh = fresh[adopted:]
            before, keys = self.originals.end, self._keys(fresh)
            found = self._find([before, *keys])
        self._advance(fresh, keys)
        # The key before the new messages too: a record that ended there can apply only now.
        self._apply_deepest([before, *keys], found)

    def _find(self, keys: Sequence[bytes]) -> Found:
        """Records by these keys, except the key of the start: all records that put nothing have that one.

        Each clear does, and a tenant may have thousands; none of them replaces nothing.
        """
        return self._store.find(keys[1:] if keys[:1] == [START] else keys)

    def _looks_like_a_note(self, message: Message) -> bool:
        """Whether it is not known here, but another process may have added it."""
        return message.text.startswith(NOTE_TAG) and message.digest not in self._notes.by_digest

    def _keys(self, fresh: Sequence[Message]) -> list[bytes]:
        """The chain of the originals among these, continuing from the ones before."""
        if self._notes.by_digest:
            fresh = [message for message, note in self._compared_with_notes(fresh) if note is None]
        return links(self.originals.end, fresh)

    def _compared_with_notes(self, fresh: Sequence[Message]) -> Iterator[tuple[Message, Message | None]]:
        """Each message, and which of ours it is: working memory, or the line next to it."""
        notes = self._notes.by_digest
        before = self.view.items[-1].message.digest if self.view.items else b""
        for index, message in enumerate(fresh):
            ours = notes.get(message.digest)
            if ours is None and self.alternates and message.digest == NOTED.digest:
                is_next_to_note = before in notes or any(
                    m.digest in notes for m in fresh[index + 1 : index + 2]
                )
                ours = NOTED if is_next_to_note else None
            before = message.digest
            yield message, ours

    def _advance(self, fresh: Sequence[Message], keys: Sequence[bytes]) -> None:
        """Append to the view; `keys` are the chain of the originals among these."""
        if not self._notes.by_digest:
            for message, key in zip(fresh, keys, strict=True):
                self._append(message, key)
            return
        taken = iter(keys)
        for message, ours in self._compared_with_notes(fresh):
            if ours is not None:
                if ours is not NOTED:
                    self._take_note(ours)
                self.view.encoded = None  # It is in the caller's list now.
                continue
            key = next(taken)
            self._separate(message)
            self._append(message, key)
            self._note_at(key)

    def _append(self, message: Message, key: bytes) -> None:
        position = self.originals.append(message, key)
        if message.protected:
            self.matcher.protected.append(position)
        self.view.push(Item(message, self._size_of(message), position))

    def _take_note(self, note: Message) -> None:
        """A note in the caller's list; if another was entered at this place since, that one counts."""
        newest = self._notes.by_key.get(self.originals.end, note)
        if not self.view.items or self.view.items[-1].message.digest != newest.digest:
            self._push_note(newest)

    def _note_at(self, key: bytes) -> None:
        note = self._notes.by_key.get(key)
        if note is not None:
            self._push_note(note)

    def _push_note(self, note: Message) -> None:
        self._separate(note)
        self.view.push(Item(note, self._size_of(note)))

    def _separate(self, message: Message) -> None:
        """A line between working memory and a neighbor of the user's role, if they have to alternate."""
        before = self.view.items[-1].message if self.alternates and self.view.items else None
        if before is None or MessageKind.CONTEXT not in (before.kind, message.kind):
            return
        if before.role in ASKING and message.role in ASKING:
            self.view.push(Item(NOTED, self._size_of(NOTED)))
            self.view.encoded = None

    # -- records -------------------------------------------------------------------------------------------

    def catch_up(self, records: int) -> None:
        """Look for records again if the session knows of more or fewer than last time."""
        if records != self._records_known:
            self.refresh()
            self._records_known = records

    def refresh(self) -> bool:
        """Look again for records, which another process may have committed in the meantime."""
        keys = self.originals.keys_from(self.covered)
        return self._apply_deepest(keys, self._find(keys))

    def compacted(self, record: Record, items: Sequence[Item]) -> None:
        """A compaction of this history was committed: from now on this is what it sends."""
        # What was replaced before stays replaced; checking it again at each compaction would be expensive.
        went_out = {id(item.message) for item in self.view.items if item.is_whole}
        self.base = record
        self.view.replace(list(items))
        if self.state is not HistoryState.UNDONE:
            self.caller.note_replaced(went_out.difference([id(item.message) for item in items]))

    def own(self, record: Record) -> None:
        """The base record is this session's own copy now."""
        self.base = record

    def _adopt(self, record: Record, count: int) -> None:
        """The first `count` messages are a record's output: continue from that record's source."""
        self.state = HistoryState.ADOPTED
        items = []
        before: Message | None = None
        self._start_at(record.source_length, record.source)
        for message, entry in zip(self.caller.messages[:count], record.entries, strict=True):
            if isinstance(entry, Injected):
                message = entry.message  # The same text, but with its kind.
                items.append(Item(message, self._size_of(message)))
            else:
                self.originals.keep(entry.position, message, before)
                if message.protected:
                    self.matcher.protected.append(entry.position)
                cleared = entry if isinstance(entry, Cleared) else None
                items.append(Item(message, self._size_of(message), entry.position, cleared))
            before = message
        self.base = record
        self.stored = record.source_length
        self.view.replace(items)

    def _undo(self, record: Record, count: int) -> bool:
        """The first `count` messages are the output of an undone record: use its originals instead.

        False if the store no longer has them.
        """
        found = originals_behind(record, self._store, self.matcher.session_id)
        if found is None:
            return False
        originals, keys = found
        for message, entry in zip(self.caller.messages[:count], record.entries, strict=True):
            if isinstance(entry, Kept):
                originals[entry.position] = message
        self.state = HistoryState.UNDONE
        self._start_at(0, START)
        self.base = None
        self.view.replace([])
        self._note_at(START)
        self._advance(originals, keys)
        self.stored = self.restored = record.source_length
        # Earlier compactions may still be in force.
        self.refresh()
        return True

    def _start_at(self, first: int, source: bytes) -> None:
        self.originals = Originals(first, source)
        self.matcher.protected = []
        self.caller.watch_anew()

    def _apply_deepest(self, keys: Sequence[bytes], found: Found) -> bool:
        """Apply the record that replaces most, of those whose source is among these newest keys."""
        if not found:
            return False
        for index in [index for index, key in enumerate(keys) if key in found][::-1]:
            length = self.originals.length - (len(keys) - 1 - index)
            if length < self.covered:
                break
            record = self.matcher.by_source(found, keys[index], self._may_apply)
            if record is not None and self._is_base(record):
                break
            if record is not None and self._apply(record):
                return True
        return False

    def _is_base(self, record: Record) -> bool:
        return self.base is not None and record.id == self.base.id

    def _may_apply(self, record: Record) -> bool:
        return self._is_base(record) or may_apply(record, self.originals)

    def _apply(self, record: Record) -> bool:
        items = apply_entries(record, self.originals.at, self._size_of)
        if items is None:
            return False
        # Notes after the record's span stay where they were.
        behind = (n for n, item in enumerate(self.view.items) if _is_behind(item, record.source_length))
        tail_from = next(behind, len(self.view.items))
        self.base = record
        self.view.replace(items + self.view.items[tail_from:])
        self.caller.watch_anew()
        return True

    def _replaced(self) -> set[int]:
        """Identities of what the base record replaced."""
        if self.state is HistoryState.UNDONE:
            # The caller's list does not hold those; everything it holds is compared.
            return set()
        replaced = {id(message) for message in self.originals.before(self.covered)}
        replaced.difference_update([id(item.message) for item in self.view.items])
        return replaced


def _is_behind(item: Item, length: int) -> bool:
    return item.position is not None and item.position >= length
