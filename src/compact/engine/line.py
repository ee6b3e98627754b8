"""A line: one history as a caller sends it, remembered, so that each message is looked at once.

The caller may send the full history every time, or go on with the list that came back, or mix both. A line
finds out which, by chain hash: `output` keys say "this prefix is what a record put there", `source` keys say
"this prefix is what a record replaces".
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Any

from compact.core.boundaries import is_finished
from compact.core.view import START, Item, apply_entries, clear_key, links, original_id, own_key, undo_key
from compact.formats.recognition import ANY
from compact.model.message import Message, MessageKind, Role
from compact.model.record import Injected, Kept, Record, RecordKind
from compact.ports import Format, Store


def shell(value: Any) -> Any:
    """A copy of the containers that shares every leaf: equal to the original until that is edited."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is dict:
        copied = value.copy()
        for key, item in value.items():
            if type(item) is not str and item is not None:
                copied[key] = shell(item)
        return copied
    if kind is list:
        return [shell(item) for item in value]
    if isinstance(value, Mapping):
        return {key: shell(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(shell(item) for item in value)
    copy = getattr(value, "model_copy", None)
    return copy(deep=True) if copy is not None else value


_USER = Role.USER
_REPLACED_AT_A_TIME = 32
"""So few that a preflight does not feel it."""
Remembered = dict[int, tuple[Any, tuple[Message, ...]]]
_UNKNOWN: tuple[Any, tuple[Message, ...]] = (None, ())


class Line:
    """Decoded messages of one list, without its leading system messages, and the view they make."""

    def __init__(
        self,
        store: Store,
        size_of: Callable[[Message], int],
        notes: Mapping[bytes, Message],
        notes_by_digest: Mapping[bytes, Message],
        policy_key: str,
        revoked: AbstractSet[str],
        session_id: str = "",
    ) -> None:
        self._store = store
        self._size_of = size_of
        self._notes = notes
        self._notes_by_digest = notes_by_digest
        self._policy_key = policy_key
        self._revoked = revoked
        self._session_id = session_id
        self._clear_key = clear_key(session_id)
        self.possible = ANY
        """Formats that the messages so far may be in; plain ones fit several."""
        self.format_name = ""
        """The one that they were read in."""
        self.copy: list[Any] = []
        self.ends = array("L")
        """How many messages there are up to each object of the caller."""
        self.messages: list[Message] = []
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
        self._protected: list[int] = []
        """Positions of originals that may not be replaced."""
        self.has_summary = False
        self.has_ours = False
        self.stable: tuple[int, ...] = ()
        """Where in the view summaries stand: a cache breakpoint pays there."""
        self._watched: list[Any] | None = None
        """What a list that goes on from here begins with, head included; see `continues`."""
        self._watched_head = 0
        self._left_out = self._looked_at = 0
        """Up to where that has objects which a record replaced, and how many of those were looked at last."""
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
    def has_all(self) -> bool:
        """Whether it holds every original, and does not go on from what a record put in their place."""
        return self._offset == 0

    def continues(self, messages: list[Any], head: int, thorough: bool = True) -> bool:
        """Whether this list, less its `head`, begins with the one we know, edits in place included.

        A thorough look, which every compaction begins with, compares all of it. Any other takes only some of
        what a record has replaced, in turn: of the rest, the very object will do for now, whatever it says.
        """
        known = head + len(self.copy)
        if known > len(messages):
            return False
        return (not thorough and self._is_as_watched(messages, head, known)) or (
            messages[head:known] == self.copy
        )

    def _is_as_watched(self, messages: list[Any], head: int, known: int) -> bool:
        watched = self._watched
        if watched is None or self._watched_head != head:
            watched = self._watched = self._to_watch(messages, head)
            self._watched_head = head
        # With what is new as it is, one comparison of two lists tells: no message is touched in between.
        watched[:head] = messages[:head]
        watched[known:] = messages[known:]
        return watched == messages and self._is_as_replaced(messages, head)

    def _is_as_replaced(self, messages: list[Any], head: int) -> bool:
        """Whether the next few of what a record has replaced still say what was replaced."""
        if not self._left_out:
            return True
        first = self._looked_at if self._looked_at < self._left_out else 0
        stop = min(first + _REPLACED_AT_A_TIME, self._left_out)
        self._looked_at = stop
        return messages[head + first : head + stop] == self.copy[first:stop]

    def _to_watch(self, messages: list[Any], head: int) -> list[Any]:
        """The copy of each object that goes out, and the caller's own object where a record replaced it."""
        watched = messages[:head] + self.copy
        self._left_out = 0
        self._leave_out(watched, head, 0)
        return watched

    def _leave_out(self, watched: list[Any], head: int, first: int) -> None:
        """Watch no longer what the base record replaced, from the `first` original behind the offset on."""
        covered = self.base.source_length - self._offset if self.base is not None else 0
        replaced = {id(message) for message in self._since[first : max(0, covered)]}
        replaced.difference_update([id(item.message) for item in self.view])
        at = bisect_right(self.ends, first)
        start = self.ends[at - 1] if at else 0
        left = len(replaced)
        while left > 0 and at < len(self.ends):
            end = self.ends[at]
            if end > start and replaced.issuperset(map(id, self.messages[start:end])):
                left -= end - start
                origin = self.messages[start].origin
                if origin is not None:
                    watched[head + at] = origin.source
                    self._left_out = at + 1
            start, at = end, at + 1

    def extend(
        self, items: Sequence[Any], format: Format, first_index: int, known: Remembered | None = None
    ) -> list[Message]:
        """Take in new objects of the caller; returns the originals among them."""
        fresh: list[Message] = []
        for index, item in enumerate(items, first_index):
            copy, decoded = known.get(id(item), _UNKNOWN) if known else _UNKNOWN
            if not decoded or copy != item:
                copy, decoded = shell(item), format.decode(item, index)
            fresh.extend(decoded)
            self.copy.append(copy)
            self.ends.append(len(self.messages) + len(fresh))
        if self._watched is not None:
            self._watched[first_index:] = self.copy[first_index - self._watched_head :]
        return self.take(fresh)

    def remembered(self) -> Remembered:
        """What was decoded, by the identity of the caller's object: a list that came back is mostly known."""
        found: Remembered = {}
        start = 0
        for copy, end in zip(self.copy, self.ends, strict=True):
            decoded = tuple(self.messages[start:end])
            start = end
            if decoded and decoded[0].origin is not None:
                found[id(decoded[0].origin.source)] = (copy, decoded)
        return found

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
            self.messages.extend(fresh)
            return self._advance(fresh, keys)
        if self.base is not None:
            undone = found.get(wanted[-1], ())
            self.undone = any(record.revokes == self.base.id for record in undone)
        adopted = -1
        for index, key in enumerate(raws):
            record = self._match(found, key, by_output=True) if key in found else None
            if record is not None and len(record.entries) == len(self.messages) + index + 1:
                adopted = index
                adopted_record = record
        self.messages.extend(fresh)
        if adopted >= 0:
            self._adopt(adopted_record, len(self.messages) - len(fresh) + adopted + 1)
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

    def body_index(self, message: Message) -> int | None:
        """Where in the caller's list (less its system messages) this message begins an object."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index] is message:
                at = bisect_right(self.ends, index)
                return at if index == (self.ends[at - 1] if at else 0) else None
        return None

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
        watched = self._watched
        self.base = record
        self._set_view(list(items))
        if watched is not None:
            # What was replaced before is so still; looking at it again with each compaction would be dear.
            self._leave_out(watched, self._watched_head, max(0, covered))
            self._watched = watched

    def key_for(self, length: int) -> str:
        """The policy and what is protected among the first `length` originals: they decide what is kept."""
        protected = [position for position in self._protected if position < length]
        if not protected:
            return self._policy_key
        return f"{self._policy_key}-{blake2b(repr(protected).encode(), digest_size=8).hexdigest()}"

    def _match(self, found: Mapping[bytes, Sequence[Record]], key: bytes, by_output: bool) -> Record | None:
        """The newest record that fits: this session's own before those of sessions that began like it.

        Unless another session went on from the very record that ours is a copy of.
        """
        fitting = [record for record in found.get(key, ()) if self._fits(record, key, by_output)]
        best: Record | None = max(reversed(fitting), key=self._is_own, default=None)
        while best is not None:
            origin, revision = original_id(best.id), best.revision
            further = [
                r for r in fitting if r.parent and original_id(r.parent) == origin and r.revision > revision
            ]
            if not further:
                return best
            best = further[-1]
        return None

    def _is_own(self, record: Record) -> bool:
        return record.session_id == self._session_id

    def _was_undone(self, record: Record) -> bool:
        key = undo_key(record.source)
        return any(undo.revokes == record.id for undo in self._store.find([key]).get(key, ()))

    def _fits(self, record: Record, key: bytes, by_output: bool) -> bool:
        if record.id in self._revoked:
            return False
        if not self._is_own(record) and (self._revoked or self._was_undone(record)):
            # Whoever undid something goes their own way, and what its own session undid is no model.
            return False
        if by_output:
            # Kept messages alone may begin any list with equal words; what is ours shows that it came back.
            return record.output == key and any(not isinstance(entry, Kept) for entry in record.entries)
        if record.source != key:
            return False
        if record.kind is RecordKind.CLEAR:
            # Asked for by a person, so it counts for that session alone, under whatever policy.
            return record.policy_hash == self._clear_key
        policy = self.key_for(record.source_length)
        return record.policy_hash in (policy, own_key(policy, self._session_id))

    def _adopt(self, record: Record, count: int) -> None:
        """The first `count` messages are a record's output: go on from that record's source."""
        items = []
        self._kept_by_record = {}
        self._protected = []
        for message, entry in zip(self.messages[:count], record.entries, strict=True):
            if isinstance(entry, Injected):
                message = entry.message  # the same text, but with its kind
            else:
                self._kept_by_record[entry.position] = message
                if message.protected:
                    self._protected.append(entry.position)
            items.append(Item(message, self._size_of(message), entry))
        self._offset = record.source_length
        self._logical = [record.source]
        self._since = []
        self.base = record
        self._set_view(items)

    def _advance(self, fresh: Sequence[Message], keys: Sequence[bytes]) -> list[Message]:
        """Append to the view; `keys` are the chain of the originals among these, which are returned."""
        size_of, notes, count = self._size_of, self._notes, len(self._since)
        taken = iter(keys)
        for message in fresh:
            if self._notes_by_digest and (note := self._notes_by_digest.get(message.digest)) is not None:
                if not self.view or self.view[-1].message is not note:
                    self._push(Item(note, size_of(note), Injected(note)))
                continue
            key = next(taken)
            position = self._offset + len(self._since)
            self._logical.append(key)
            self._since.append(message)
            tokens = size_of(message)
            if message.protected:
                self._protected.append(position)
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
            record = self._match(found, keys[index], by_output=False)
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
        self.encoded = None
        self._watched = None
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

    def _note_at(self, key: bytes) -> None:
        note = self._notes.get(key)
        if note is not None:
            self._push(Item(note, self._size_of(note), Injected(note)))


def _is_behind(item: Item, length: int) -> bool:
    return item.position is not None and item.position >= length
