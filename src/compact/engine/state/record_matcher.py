"""Find which of the records that a store returned for a history applies to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b

from compact.core.boundaries import is_finished
from compact.core.view import START, chain, clear_key, links, original_id, own_key, undo_key
from compact.engine.state.caller_list import Originals
from compact.model.message import Message
from compact.model.record import Injected, Kept, Record, RecordKind
from compact.ports import Branches, Store

Found = Mapping[bytes, Sequence[Record]]


class RecordMatcher:
    """What a record must match: the session and what it undid, the policy, what is protected."""

    def __init__(self, store: Store, policy_key: str, revoked: AbstractSet[str], session_id: str) -> None:
        self._store = store
        self._policy_key = policy_key
        self._revoked = revoked
        self.session_id = session_id
        self._clear_key = clear_key(session_id)
        self.protected: list[int] = []
        """Positions of originals that may not be replaced."""

    def key_for(self, length: int) -> str:
        """The policy and what is protected among the first `length` originals: they determine what is
        kept."""
        protected = [position for position in self.protected if position < length]
        if not protected:
            return self._policy_key
        return f"{self._policy_key}-{blake2b(repr(protected).encode(), digest_size=8).hexdigest()}"

    def by_source(self, found: Found, key: bytes, fits: Callable[[Record], bool]) -> Record | None:
        """The newest record that replaces exactly these originals, of those that fit."""
        there = [r for r in found.get(key, ()) if self._counts(r) and self._replaces(r, key)]
        return self._newest([record for record in there if fits(record)])

    def adopted(
        self, found: Found, fresh: Sequence[Message], keys: Sequence[bytes], known: int
    ) -> tuple[int, Record | None]:
        """The longest prefix of a list that is a record's output, as (how many of the new messages, record).

        `keys` are the chain hashes before the new messages and after each of them, `known` is the number of
        messages before them. Those alone may be the output: what follows shows it only now.
        """
        for count in range(len(fresh), -1, -1):
            key = keys[count]
            record = self._by_output(found, key, fresh[count:]) if key in found else None
            if record is not None and len(record.entries) == known + count:
                return count, record
        return 0, None

    def _by_output(self, found: Found, key: bytes, rest: Sequence[Message]) -> Record | None:
        """The newest record whose output these messages are; `rest` follows them.

        An undone one is still recognized if no other matches: its summary is not an original.
        """
        there = [record for record in found.get(key, ()) if _put(record, key, rest)]
        best = self._newest([record for record in there if self._counts(record)])
        undone_here = [record for record in there if self.is_undone(record)]
        return best or self._newest(undone_here) or self._newest(there)

    def is_undone(self, record: Record) -> bool:
        """Whether this session undid it."""
        return record.id in self._revoked

    def _newest(self, fitting: Sequence[Record]) -> Record | None:
        """This session's own before those of sessions that began like it.

        Unless another session continued from the very record that ours is a copy of.
        """
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
        return record.session_id == self.session_id

    def _counts(self, record: Record) -> bool:
        if record.id in self._revoked:
            return False
        # A session that undid something goes its own way, and what its own session undid is no model.
        return self._is_own(record) or not (self._revoked or self.was_undone(record))

    def was_undone(self, record: Record) -> bool:
        """Whether the store knows that its session undid it."""
        key = undo_key(record.source)
        return any(undo.revokes == record.id for undo in self._store.find([key]).get(key, ()))

    def _replaces(self, record: Record, key: bytes) -> bool:
        if record.source != key:
            return False
        if record.kind is RecordKind.CLEAR:
            # Requested by a person, so it counts for that session alone, under any policy.
            return record.policy_hash == self._clear_key
        policy = self.key_for(record.source_length)
        return record.policy_hash in (policy, own_key(policy, self.session_id))


def may_apply(record: Record, originals: Originals) -> bool:
    """Whether a list has what the record leaves alone: its newest message, and its newest task."""
    length, task = originals.length, originals.newest_task
    if record.source_length == length and record.entries:
        # Nothing newer follows: a record that only shortened the newest message applies, others do not.
        left = {entry.position for entry in record.entries if not isinstance(entry, Injected)}
        if length - 1 not in left:
            return False
    kept = {entry.position for entry in record.entries if isinstance(entry, Kept)}
    if task is None or task >= record.source_length or task in kept or not record.entries:
        return True
    # The task was dropped when a newer one followed it; that does no harm once it is answered.
    return is_finished(originals.messages)


def originals_behind(
    record: Record, store: Store, session_id: str
) -> tuple[list[Message], list[bytes]] | None:
    """What the record replaced and the chain hash after each, if this session of the store has it.

    The session may have gone on elsewhere since: a store that can is asked for that line.
    """
    if isinstance(store, Branches):
        found = list(store.originals_up_to(session_id, record.source))
    else:
        found = list(store.originals(session_id, 0, record.source_length))
    keys = links(START, found)
    return (found, keys) if keys[-1:] == [record.source] else None


def _put(record: Record, key: bytes, rest: Sequence[Message]) -> bool:
    """Whether a list was returned for this record: the key is that of its first messages."""
    if record.output != key:
        return False
    if any(not isinstance(entry, Kept) for entry in record.entries):
        return True
    # Kept messages alone may begin any list with equal words; what came after the replaced ones shows it.
    tail = record.reached - record.source_length
    return 0 < tail <= len(rest) and chain(rest[:tail], record.source) == record.reached_key
