"""Turn a finished compaction into a record, and into the transcript that is archived before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.core.boundaries import groups, turns
from compact.core.job import Job
from compact.core.view import Item, chain, span_handle
from compact.model.message import Message, Origin, Role, Text, digest_of
from compact.model.plan import Mode, Plan
from compact.model.policy import TurnUnit
from compact.model.record import Record, RecordKind, Transcript
from compact.model.sections import UNKNOWN
from compact.model.summary import Summary


def next_version(job: Job) -> int:
    """One more than the previous summary and any that was undone, so that no two of a session are called
    v1."""
    before = job.base.version if job.base is not None and job.base.summary else 0
    return max(before, job.undone_version) + 1


def dropped_turns(job: Job, plan: Plan) -> int:
    """Turns dropped so far, counted as `window` counts them: a step with its results is one turn."""
    replaced = set(plan.replaced)
    found = groups([item.message for item in job.items])
    gone = sum(found[turn.start].start in replaced for turn in turns(found, TurnUnit.MESSAGE))
    return gone + (job.base.dropped if job.base is not None else 0)


def handle_for(job: Job, plan: Plan, summary: Summary | None) -> str:
    """The handle of what this compaction injects, a summary or a marker; none if it only removes."""
    if summary is None and not plan.marked:
        return ""
    return span_handle(job.items[index].message for index in plan.replaced)


def make_record(job: Job, plan: Plan, summary: Summary | None, items: list[Item], after: int) -> Record:
    length, prefix = _changed_prefix(job, items)
    kind = {
        Mode.SUMMARIZE: RecordKind.COMPACTION,
        Mode.DISCARD: RecordKind.TRIM,
        Mode.PRUNE: RecordKind.PRUNE,
        Mode.NONE: RecordKind.COMPACTION,
    }[plan.mode]
    base = job.base
    carried = base.summary if base is not None else ""
    return Record(
        id=job.record_id,
        session_id=job.session_id,
        kind=kind,
        source=job.source_at(length),
        source_length=length,
        output=chain(item.message for item in prefix),
        entries=tuple(item.entry for item in prefix),
        policy_hash=job.key_for(length) or job.policy.hash,
        parent=base.id if base is not None else None,
        version=next_version(job) if summary is not None else (base.version if base else 0),
        revision=_revision(job, length),
        step=job.step,
        reason=plan.reason.value,
        note=job.note,
        strategy=(summary.strategy or plan.strategy) if summary is not None else "",
        summary=summary.text if summary is not None else carried,
        evidence=summary.added if summary is not None else (),
        kept=summary.kept if summary is not None else UNKNOWN,
        tokens_before=plan.limits.real(plan.before),
        tokens_after=plan.limits.real(after),
        messages_replaced=sum(1 for index in plan.replaced if not job.items[index].message.is_ours),
        outputs_cleared=sum(len(cleared.call_ids) for cleared in plan.cleared.values()),
        dropped=dropped_turns(job, plan) if plan.mode is Mode.DISCARD else (base.dropped if base else 0),
        created_at=job.now,
        handle=handle_for(job, plan, summary),
        reached=job.length,
        reached_key=job.source_at(job.length),
    )


def _revision(job: Job, length: int) -> int:
    """A compaction that takes more of its parent's span has its parent's source, so it needs another key."""
    base = job.base
    if base is None or base.source_length != length:
        return job.revision
    return max(job.revision, base.revision + 1)


def _changed_prefix(job: Job, items: list[Item]) -> tuple[int, list[Item]]:
    """How many originals the record covers, and what replaces them; the unchanged tail is left out."""
    common = 0
    while common < min(len(items), len(job.items)) and items[-1 - common] is job.items[-1 - common]:
        common += 1
    covered = job.base.source_length if job.base is not None else 0
    for index in range(len(items) - common, len(items)):
        position = items[index].position
        if position is not None and position >= covered:
            return position, items[:index]
    return job.length, items


def system_messages(leading: Sequence[Message], system: Any) -> tuple[Message, ...]:
    """What comes before the history: leading system messages, and a separate system prompt."""
    if not system:
        return tuple(leading)
    parts = (Text(system if isinstance(system, str) else repr(system)),)
    source = {"role": "system", "content": system}
    given = Message(Role.SYSTEM, parts, digest_of(Role.SYSTEM, parts), Origin(0, source))
    return (given, *leading)


def transcript(job: Job, plan: Plan, summary: Summary | None, after: int) -> Transcript:
    text = summary.text if summary is not None else ""
    real = plan.limits.real
    return transcript_since(job, text, plan.reason.value, real(plan.before), real(after))


def transcript_since(job: Job, summary: str, reason: str, before: int, after: int) -> Transcript:
    """The originals since the previous step: all transcripts of a session together hold each one once."""
    first, follows = _archived(job)
    return Transcript(
        session_id=job.session_id,
        step=job.step,
        messages=[_original(job, position) for position in range(first, job.length)],
        summary=summary,
        policy=job.policy.name,
        reason=reason,
        tokens_before=before,
        tokens_after=after,
        system=job.system,
        first=first,
        before=job.source_at(first),
        follows=follows,
    )


def _archived(job: Job) -> tuple[int, int | None]:
    """How many originals earlier steps archived, and the newest of these steps."""
    found: list[tuple[int, int]] = []
    if job.archived is not None:
        found.append((job.archived.reached, job.archived.step))
    base = job.base
    if base is not None and base.reached and base.session_id == job.session_id:
        there = job.first_position <= base.reached <= job.length and (
            job.source_at(base.reached) == base.reached_key
        )
        # If not, the history forked after what that step replaced.
        found.append((base.reached if there else base.source_length, base.step))
    return max(found, default=(job.first_position, None))


def _original(job: Job, position: int) -> Message:
    message = job.original_at(position)
    assert message is not None, f"original {position} is not at hand"
    return message
