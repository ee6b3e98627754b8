"""A line: one history as a caller sends it, remembered, so that each message is looked at once.

The caller may send the full history every time, or go on with the list that came back, or mix both. A line
finds out which, by chain hash: `output` keys say "this prefix is what a record put there", `source` keys say
"this prefix is what a record replaces".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compact.core.boundaries import is_finished
from compact.core.view import START, Item, apply_entries, links, undo_key
from compact.engine.fitting import Fitting
from compact.engine.given import Given, Remembered
from compact.formats.recognition import ANY
from compact.model.message import Message, MessageKind, Role
from compact.model.record import Injected, Kept, Record
from compact.ports import Format, Store

_USER = Role.USER


class Line:
    """Decoded messages of one list, without its leading system messages, and the view they make."""

    def __init__(
        self,
        store: Store,
        size_of: Callable[[Message], int],
        notes: Mapping[bytes, Message],
        notes_by_digest: Mapping[bytes, Message],
        fitting: Fitting,
    ) -> None:
        self._store = store
        self._size_of = size_of
        self._notes = notes
        self._notes_by_digest = notes_by_digest
        self.fitting = fitting
        self.possible = ANY
        """Formats that the messages so far may be in; plain ones fit several."""
        self.format_name = ""
        """The one that they were read in."""
        self.given = Given()
        self._raw = START
        self._offset = 0
        self._logical = [START]
        self._kept_by_record: dict[int, Message] = {}
        self._since: list[Message] = []
        self.base: Record | None = None
        self.undone = False
        """Whether the base record was undone elsewhere, so that this line has to be told anew."""
        self.view: list[Item] = []
        self.total = 0
        self.user_turns = 0
        """Turns that may still fold: protected ones never do."""
        self.protected_tokens = 0
        self._newest_user: int | None = None
        self.has_summary = False
        self.has_ours = False
        self.note: Message | None = None
        """The newest working memory in the view."""
        self.stable: tuple[int, ...] = ()
        """Where in the view summaries stand: a cache breakpoint pays there."""
        self.records_known = 0
        """How many the session knew when this line last looked for them."""
        self.encoded: tuple[list[Any], int] | None = None
        """Prefix of the output that the base record decides, and the caller's index where the rest begins."""
        self._note_at(START)

    @property
    def length(self) -> int:
        """How many originals the conversation has, replaced ones included."""
        return self._offset + len(self._since)

    @property
    def first_position(self) -> int:
        """From where on every original is at hand."""
        return self._offset

    @property
    def has_all(self) -> bool:
        """Whether it holds every original, and does not go on from what a record put in their place."""
        return self._offset == 0

    def continues(self, messages: list[Any], head: int, thorough: bool = True) -> bool:
        """Whether this list, less its `head`, begins with the one we know, edits in place included.

        A thorough look, which every compaction begins with, compares all of it. Any other takes only some of
        what a record has replaced.
        """
        if thorough:
            return self.given.begins(messages, head)
        return self.given.begins_watched(messages, head, self._replaced)

    def _replaced(self, first: int) -> set[int]:
        """Identities of what the base record replaced, from the `first` original behind the offset on."""
        covered = self.base.source_length - self._offset if self.base is not None else 0
        replaced = {id(message) for message in self._since[first : max(0, covered)]}
        replaced.difference_update([id(item.message) for item in self.view])
        return replaced

    def extend(
        self, items: Sequence[Any], format: Format, first_index: int, known: Remembered | None = None
    ) -> list[Message]:
        """Take in new objects of the caller; returns the originals among them."""
        return self.take(self.given.read(items, format, first_index, known))

    def repeat(self, other: Line, count: int) -> None:
        """Begin with the first `count` objects of another line, which need no decoding."""
        self.format_name = other.format_name
        self.take(self.given.repeat(other.given, count))

    def take(self, fresh: Sequence[Message]) -> list[Message]:
        """Take in decoded messages; returns the originals among them."""
        if not fresh:
            return []
        before = self._logical[-1]
        raws = links(self._raw, fresh)
        # One chain serves both as long as the list holds nothing but originals.
        keys = raws if self._raw == before and not self._notes_by_digest else self._keys(fresh)
        wanted = [before, *raws] if keys is raws else [before, *raws, *keys]
        if self.base is not None:
            wanted.append(undo_key(self.base.source))
        found = self._store.find(wanted)
        self._raw = raws[-1]
        if not found:
            self.given.messages.extend(fresh)
            return self._advance(fresh, keys)
        if self.base is not None:
            undone = found.get(wanted[-1], ())
            self.undone = any(record.revokes == self.base.id for record in undone)
        adopted = -1
        for index, key in enumerate(raws):
            record = self.fitting.best(found, key, by_output=True) if key in found else None
            if record is not None and len(record.entries) == len(self.given.messages) + index + 1:
                adopted = index
                adopted_record = record
        self.given.messages.extend(fresh)
        if adopted >= 0:
            self._adopt(adopted_record, len(self.given.messages) - len(fresh) + adopted + 1)
            fresh = fresh[adopted + 1 :]
            before, keys = self._logical[-1], self._keys(fresh)
            found = self._store.find([before, *keys])
        taken = self._advance(fresh, keys)
        # The key before the new messages too: a record that ended there can apply only now.
        self._apply_deepest([before, *keys], found)
        return taken

    def _keys(self, fresh: Sequence[Message]) -> list[bytes]:
        """The chain of the originals among these, going on from the ones before."""
        originals = [message for message in fresh if message.digest not in self._notes_by_digest]
        return links(self._logical[-1], originals)

    def refresh(self) -> bool:
        """Look again for records, which another process may have committed meanwhile."""
        covered = self.base.source_length if self.base is not None else 0
        keys = self._logical[max(0, covered - self._offset) :]
        return self._apply_deepest(keys, self._store.find(keys))

    def since_base(self) -> Sequence[Message]:
        """Originals that no adopted record covers, in order; the first has position `length - len(...)`."""
        return self._since

    def originals_since_base(self) -> Sequence[Message]:
        """Originals that came after what the base record covers."""
        covered = self.base.source_length if self.base is not None else 0
        return self._since[max(0, covered - self._offset) :]

    def keys_from(self, length: int) -> Sequence[bytes]:
        """`source_at` for each original after the first `length`."""
        return self._logical[length - self._offset + 1 :]

    def source_at(self, length: int) -> bytes:
        return self._logical[length - self._offset]

    def original_at(self, position: int) -> Message | None:
        if position >= self._offset:
            index = position - self._offset
            return self._since[index] if index < len(self._since) else None
        return self._kept_by_record.get(position)

    def adopt_view(self, record: Record, items: Sequence[Item]) -> None:
        """A compaction of this line was committed: from now on this is what it sends."""
        covered = self.base.source_length - self._offset if self.base is not None else 0
        self.base = record
        self._set_view(list(items))
        # What was replaced before is so still; looking at it again with each compaction would be dear.
        self.given.leave_out(self._replaced, max(0, covered))

    def _adopt(self, record: Record, count: int) -> None:
        """The first `count` messages are a record's output: go on from that record's source."""
        items = []
        self._kept_by_record = {}
        self._newest_user = None
        self.fitting.protected = []
        for message, entry in zip(self.given.messages[:count], record.entries, strict=True):
            if isinstance(entry, Injected):
                message = entry.message  # the same text, but with its kind
            else:
                self._kept_by_record[entry.position] = message
                if message.role is _USER:
                    self._newest_user = entry.position
                if message.protected:
                    self.fitting.protected.append(entry.position)
            items.append(Item(message, self._size_of(message), entry))
        self._offset = record.source_length
        self._logical = [record.source]
        self._since = []
        self.base = record
        self._set_view(items)
        self.given.watch_anew()

    def _advance(self, fresh: Sequence[Message], keys: Sequence[bytes]) -> list[Message]:
        """Append to the view; `keys` are the chain of the originals among these, which are returned."""
        size_of, notes, count = self._size_of, self._notes, len(self._since)
        taken = iter(keys)
        for message in fresh:
            if self._notes_by_digest and (note := self._notes_by_digest.get(message.digest)) is not None:
                if not self.view or self.view[-1].message is not note:
                    self._push(Item(note, size_of(note), Injected(note)))
                self.encoded = None  # it stands in the caller's list now
                continue
            key = next(taken)
            position = self._offset + len(self._since)
            self._logical.append(key)
            self._since.append(message)
            tokens = size_of(message)
            if message.protected:
                self.fitting.protected.append(position)
                self.protected_tokens += tokens
            if message.role is _USER:
                self._newest_user = position
                self.user_turns += not message.protected
            self.view.append(Item(message, tokens, Kept(position)))
            self.total += tokens
            if notes:
                self._note_at(key)
        return self._since[count:]

    def _apply_deepest(self, keys: Sequence[bytes], found: Mapping[bytes, Sequence[Record]]) -> bool:
        """Apply the record that replaces most, of those whose source is among these newest keys."""
        if not found:
            return False
        covered = self.base.source_length if self.base is not None else 0
        for index in [index for index, key in enumerate(keys) if key in found][::-1]:
            length = self.length - (len(keys) - 1 - index)
            if length < covered:
                break
            record = self.fitting.best(found, keys[index], by_output=False)
            if record is not None and self.base is not None and record.id == self.base.id:
                break
            if record is not None and self._may_apply(record) and self._apply(record):
                return True
        return False

    def _may_apply(self, record: Record) -> bool:
        """Whether this list has what the record leaves alone: something newer, and its newest task."""
        if record.source_length >= self.length:
            return not record.entries and record.source_length == self.length
        kept = {entry.position for entry in record.entries if isinstance(entry, Kept)}
        task = self._newest_user
        if task is None or task >= record.source_length or task in kept or not record.entries:
            return True
        # The task was let go when a newer one stood behind it; that does no harm once it is answered.
        return is_finished(self._since)

    def _apply(self, record: Record) -> bool:
        items = apply_entries(record, self.original_at, self._size_of)
        if items is None:
            return False
        # Notes behind the record's span stay where they were.
        behind = (n for n, item in enumerate(self.view) if _is_behind(item, record.source_length))
        tail_from = next(behind, len(self.view))
        self.base = record
        self._set_view(items + self.view[tail_from:])
        self.given.watch_anew()
        return True

    def _push(self, item: Item) -> None:
        self.view.append(item)
        self.total += item.tokens
        self._count(item)

    def _set_view(self, items: list[Item]) -> None:
        self.view = items
        self.total = sum(item.tokens for item in items)
        self.user_turns = 0
        self.protected_tokens = 0
        self.has_summary = False
        self.has_ours = False
        self.note = None
        self.encoded = None
        for item in items:
            self._count(item)
        self.stable = tuple(n for n, i in enumerate(items) if i.message.kind is MessageKind.SUMMARY)

    def _count(self, item: Item) -> None:
        message = item.message
        if message.kind is MessageKind.ORIGINAL:
            self.user_turns += message.role is Role.USER and not message.protected
            self.protected_tokens += item.tokens if message.protected else 0
            return
        self.has_ours = True
        if message.kind is MessageKind.SUMMARY:
            self.has_summary = True
        elif message.kind is MessageKind.CONTEXT:
            self.note = message

    def _note_at(self, key: bytes) -> None:
        note = self._notes.get(key)
        if note is not None and note is not self.note:
            self._push(Item(note, self._size_of(note), Injected(note)))


def _is_behind(item: Item, length: int) -> bool:
    return item.position is not None and item.position >= length
