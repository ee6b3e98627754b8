"""What a session knows of its records: numbers and ids; the records that apply are found by content."""

from __future__ import annotations

from bisect import insort_left
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from compact.core.view import START, links, own_id, own_key
from compact.engine.state.caller_list import Originals
from compact.model.message import Message
from compact.model.record import ArchivedStep, Record, RecordKind, archived_step
from compact.model.summary import Evidence
from compact.ports import RecordIndex, Store


class SessionRecords:
    def __init__(self, session_id: str, store: Store) -> None:
        self.steps = 0
        self.revision = 0
        self.undone_version = 0
        """The highest version among the summaries that were undone."""
        self.revoked: set[str] = set()
        self._session_id = session_id
        self._store = store
        self.learned: set[str] = set()
        """Records that came since this session was opened."""
        self._newest: str | None = None
        """The newest known record: the next look begins after it."""
        self._archived: list[ArchivedStep] = []
        """By how far they reach; of two that reach equally far, the older one comes last."""
        if isinstance(store, RecordIndex):
            known = store.record_state(session_id)
            self._newest, self.steps, self.revision = known.newest, known.steps, known.revision
            self.undone_version = known.undone_version
            self.revoked.update(known.revoked)
            self._archived += [known.archived] if known.archived is not None else []

    def unread(self) -> list[Record]:
        """What was committed since the last look and is not known here."""
        found = self._store.records(self._session_id, after=self._newest)
        if found:
            self._newest = found[-1].id
        return [record for record in found if record.id not in self.learned]

    def learn(self, record: Record) -> None:
        self.learned.add(record.id)
        if (archived := archived_step(record)) is not None:
            insort_left(self._archived, archived, key=attrgetter("reached"))
        self.steps = max(self.steps, record.step)
        if record.kind is RecordKind.RESTORE and record.revokes is not None:
            self.revoked.add(record.revokes)
            self.revision = max(self.revision, record.revision)
            self.undone_version = max(self.undone_version, record.version)

    def is_news(self, record: Record) -> bool:
        """Whether another process made it after this session was opened here."""
        known = record.id == self._newest or record.id in self.learned
        return record.session_id == self._session_id and not known

    def archived(self, originals: Originals) -> ArchivedStep | None:
        """The step whose transcript covers most of these, even if it was undone since."""
        for step in reversed(self._archived):
            there = originals.first <= step.reached <= originals.length
            if there and originals.source_at(step.reached) == step.key:
                return step
        return None

    def own_copy(self, record: Record, originals: Originals, ledger: tuple[Evidence, ...]) -> Record:
        """The record as this session's own, if another session with the same history made it.

        With a copy, a fork has its own summary, can undo it alone, and keeps it when the other is deleted. If
        the copy is the first record here, it holds the whole `ledger`.
        """
        session_id = self._session_id
        if record.session_id == session_id:
            return record
        parent = own_id(record.parent, session_id) if record.parent else None
        mine = {one.id for one in self._store.records(session_id)} if parent else set()
        return replace(
            record,
            evidence=record.evidence if parent in mine else ledger,
            id=own_id(record.id, session_id),
            session_id=session_id,
            policy_hash=own_key(record.policy_hash, session_id),
            parent=parent if parent in mine else None,
            step=self.steps + 1,
            reached=originals.length,
            reached_key=originals.end,
        )

    def that_put(self, messages: Sequence[Message]) -> list[Record]:
        """Records of any session whose output this list begins with."""
        found = self._store.find(links(START, messages))
        return [record for key, records in found.items() for record in records if record.output == key]
