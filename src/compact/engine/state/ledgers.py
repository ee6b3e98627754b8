"""The ledger of a record: a fold over its chain, cached for the newest records."""

from __future__ import annotations

from compact.core.view import original_id
from compact.evidence.ledger import fold
from compact.model.record import Record, RecordKind
from compact.model.summary import Evidence
from compact.ports import Store

_MOST = 64


class Ledgers:
    """A record holds only the units that it adds; its parents hold the earlier ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[tuple[Evidence, ...], str]] = {}
        """By record: its ledger, and its parent."""

    def of(self, record: Record | None) -> tuple[Evidence, ...]:
        """All units up to this record. After `/clear` there are none from before."""
        if record is None:
            return ()
        known = self._known.get(record.id)
        if known is not None:
            return known[0]
        chain = self._chain(record)
        ledger, grandparent = self._known.get(chain[-1].parent or "", ((), ""))
        for one in reversed(chain):
            ledger = () if one.kind is RecordKind.CLEAR else fold(ledger, one.evidence, one.summary)
        # An undo goes back by one. Anything earlier is seldom needed, and large.
        self._known.pop(grandparent, None)
        while len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[record.id] = (ledger, record.parent or "")
        return ledger

    def learn(self, record: Record) -> None:
        """Fold a new record now, if that reads nothing: the fold that its summary rests on is in memory."""
        if record.parent is None or record.parent in self._known:
            self.of(record)

    def _chain(self, record: Record) -> list[Record]:
        """The record and its parents, newest first, up to one whose ledger is known."""
        chain = [record]
        listed: dict[str, Record] | None = None
        while chain[-1].parent and chain[-1].parent not in self._known:
            if listed is None:
                listed = {}
                for one in self._store.records(record.session_id):
                    listed[one.id] = one
                    listed.setdefault(original_id(one.id), one)
            parent = listed.get(chain[-1].parent) or listed.get(original_id(chain[-1].parent))
            if parent is None or parent in chain:
                break
            chain.append(parent)
        return chain
