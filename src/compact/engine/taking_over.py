"""A record found through another session's equal history becomes this session's own (S5.4).

It is listed, counted and undone here, with its own transcript and events, whatever the other session does.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from compact.core.event_data import taken_over_data, taken_over_decision
from compact.core.job import Emit, Job, NeedArchive, NeedCommit, Refusal
from compact.core.view import START
from compact.engine.reader import Situation
from compact.model.event import EventName
from compact.model.record import Transcript
from compact.ports import Store


def take_over(now: Situation, job: Job, store: Store) -> Generator[Any, Any, None]:
    """Archive what the record replaces here, then commit a copy of it."""
    session, history = now.session, now.history
    with session.lock:
        session.catch_up()
        borrowed = history.base
        # If the originals behind a shortened list are gone, the record stays the other session's.
        if borrowed is None or not history.has_originals:
            return
        record = session.records.own_copy(borrowed, history.originals, tuple(job.ledger))
    transcript = Transcript(
        session_id=session.id,
        step=record.step,
        messages=tuple(store.originals(session.id)),
        summary=record.summary,
        policy=job.policy.name,
        reason=record.reason,
        tokens_before=record.tokens_before,
        tokens_after=record.tokens_after,
        system=job.system,
        before=START,
    )
    archived = yield NeedArchive(transcript)
    committed = archived if isinstance(archived, Refusal) else (yield NeedCommit(record))
    if isinstance(committed, Refusal):
        said = "The compaction that this history shares with another session could not be taken over: "
        data = {"severity": "high", "message": f"{said}{committed.message}"}
        yield Emit(EventName.WARNING, data)
        return
    with session.lock:
        session.learn(committed)
        if history.base is borrowed:
            history.own(committed)
    yield Emit(EventName.TRIGGER_DECISION, taken_over_decision(committed, job.policy))
    for name, data in taken_over_data(committed, now.limits, len(job.system)):
        yield Emit(name, data, committed.step)
