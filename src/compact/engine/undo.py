"""Undo a compaction, and start a session over: records that say that others no longer count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from compact.core.recording import transcript_since
from compact.core.view import START, chain, clear_key, undo_key
from compact.engine.drivers import LEASE_SECONDS
from compact.engine.engine import Engine
from compact.engine.reader import Call
from compact.engine.state.caller_list import objects_of
from compact.engine.validation import check_session, check_step
from compact.errors import CompactError, NotFound, SessionBusy, shown
from compact.model.event import EventName, Reason
from compact.model.record import Record, RecordKind
from compact.ports import Archive


def restore(engine: Engine, session_id: str, step: int) -> list[Any]:
    """Undo the compaction with that number and those built on it; returns the list to continue with.

    That is the leading system messages as last seen, then all originals.
    """
    check_session(session_id)
    check_step(step)
    with _leased(engine, session_id):
        # Read under the lease: a compaction that ends in the meantime would build on what is undone here.
        restored = _restore(engine, session_id, step)
    engine.events.emit(session_id, EventName.RESTORED, {"step": step}, step)
    return restored


def _restore(engine: Engine, session_id: str, step: int) -> list[Any]:
    records = engine.store.records(session_id)
    chosen, known = _chosen(session_id, step, records)
    originals = list(engine.store.originals(session_id))
    if chain(originals[: chosen.source_length]) != chosen.source:
        raise CompactError(_why_not(session_id, chosen, known))
    session = engine.reader.session(session_id)
    revoked = {record.revokes for record in records}
    revision = 1 + max(record.revision for record in records)
    # Newest first: a crash on the way leaves an earlier state, never a gap.
    for record in reversed([chosen, *_built_on(chosen, known)]):
        if record.id not in revoked:
            session.learn(engine.store.commit(_undoing(record, revision, engine.clock())))
    with session.lock:
        session.forget_histories()
        head = session.head_objects()
    return [*head, *objects_of(originals)]


def _chosen(session_id: str, step: int, records: Sequence[Record]) -> tuple[Record, list[Record]]:
    """The newest compaction with that number, and all compactions."""
    known = [record for record in records if record.kind is not RecordKind.RESTORE]
    chosen = next((record for record in reversed(known) if record.step == step), None)
    if chosen is None:
        steps = ", ".join(str(record.step) for record in known) or "none"
        raise NotFound(
            f"session {session_id!r} has no compaction {shown(step)} (it has: {steps}). Nothing was changed."
        )
    return chosen, known


def clear(engine: Engine, call: Call, archive: Archive) -> Record:
    """Archive what was said, then commit that it is no longer sent. The originals stay in the store."""
    with _leased(engine, call.session_id):
        now = engine.reader.caught_up(engine.reader.read(call))
        session, history, originals = now.session, now.history, now.history.originals
        if not originals.length:
            raise NotFound(f"Session {session.id!r} has no messages to clear. Nothing was changed.")
        with session.lock:
            base = history.base
            record = Record(
                id=engine.new_id(),
                session_id=session.id,
                kind=RecordKind.CLEAR,
                source=originals.end,
                source_length=originals.length,
                output=START,
                entries=(),
                policy_hash=clear_key(session.id),
                parent=base.id if base is not None else None,
                version=0,
                revision=session.records.revision,
                step=session.records.steps + 1,
                reason=Reason.MANUAL.value,
                tokens_before=now.limits.real(now.total),
                tokens_after=now.limits.real(now.limits.fixed),
                messages_replaced=sum(1 for item in history.view.items if not item.message.is_ours),
                created_at=engine.clock(),
                reached=originals.length,
                reached_key=originals.end,
            )
            transcript = transcript_since(
                engine.job(now), "", record.reason, record.tokens_before, record.tokens_after
            )
        archive.write(transcript)
        committed = engine.store.commit(record)
        with session.lock:
            session.learn(committed)
            history.refresh()
    return committed


def _why_not(session_id: str, chosen: Record, records: Sequence[Record]) -> str:
    """Why the current history does not begin with the originals that the record replaced."""
    steps = {record.id: record for record in records}
    first = chosen
    while first.parent in steps:
        first = steps[first.parent]
    if first.parent is not None:
        why = (
            "the session began with a list that another session's compaction had shortened, and what stood "
            "behind it is not in the store"
        )
    elif chosen.kind is RecordKind.CLEAR:
        why = (
            "a list without the cleared messages came since, and began another history. Send the full list "
            "once, with the cleared messages and what followed them, and restore again"
        )
    else:
        why = (
            "the history was rewound or edited since, so the messages that it replaced are not part of the "
            "current one, and it is not in force. Go back to that history first"
        )
    return f"Compaction {chosen.step} of session {session_id!r} cannot be undone: {why}. Nothing was changed."


@contextmanager
def _leased(engine: Engine, session_id: str) -> Iterator[None]:
    with engine.store.lease(session_id, LEASE_SECONDS) as granted:
        if not granted:
            raise SessionBusy(session_id)
        yield


def _undoing(record: Record, revision: int, now: float) -> Record:
    return replace(
        record,
        id=f"restore-{record.id}",
        kind=RecordKind.RESTORE,
        source=undo_key(record.source),
        output=START,
        entries=(),
        revokes=record.id,
        revision=revision,
        created_at=now,
    )


def _built_on(record: Record, records: Sequence[Record]) -> list[Record]:
    built: list[Record] = []
    ids = {record.id}
    for other in records:
        if other.parent in ids:
            ids.add(other.id)
            built.append(other)
    return built
