"""Which of the records that a store found for a history fits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b

from compact.core.view import clear_key, original_id, own_key, undo_key
from compact.model.record import Kept, Record, RecordKind
from compact.ports import Store


class Fitting:
    """What a record must agree with: the session and what it undid, the policy, what is protected."""

    def __init__(self, store: Store, policy_key: str, revoked: AbstractSet[str], session_id: str) -> None:
        self._store = store
        self._policy_key = policy_key
        self._revoked = revoked
        self._session_id = session_id
        self._clear_key = clear_key(session_id)
        self.protected: list[int] = []
        """Positions of originals that may not be replaced."""

    def key_for(self, length: int) -> str:
        """The policy and what is protected among the first `length` originals: they decide what is kept."""
        protected = [position for position in self.protected if position < length]
        if not protected:
            return self._policy_key
        return f"{self._policy_key}-{blake2b(repr(protected).encode(), digest_size=8).hexdigest()}"

    def best(self, found: Mapping[bytes, Sequence[Record]], key: bytes, by_output: bool) -> Record | None:
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
