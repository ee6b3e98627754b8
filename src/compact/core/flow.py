"""One compaction as a generator: it yields what it needs, is sent the answers, and returns an outcome.

The order is archive, commit, adopt: a kill anywhere leaves the session entirely old or entirely new.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from compact.core.event_data import (
    end_event,
    error_data,
    insufficient_budget,
    layers_data,
    overflow_data,
    start_data,
    without_summary,
)
from compact.core.job import Emit, Job, Need, NeedArchive, NeedCommit, Refusal
from compact.core.layers import (
    SummaryText,
    arrange,
    build,
    earlier_summary,
    gap_message,
    marker_message,
    summary_messages,
)
from compact.core.lint import lint_messages
from compact.core.plan import plan_without_summary
from compact.core.recording import dropped_turns, handle_for, make_record, next_version, transcript
from compact.core.summarizing import summarize
from compact.core.summary_checks.untrusted import mark_doubtful, split_summary
from compact.core.view import Item, apply_entries, own_key
from compact.errors import CompactError
from compact.model.event import EventName, Fallback, Reason
from compact.model.message import Message, Role, make
from compact.model.outcome import Compacted, Failed, Outcome, Stage, Unchanged
from compact.model.plan import Mode, Plan
from compact.model.policy import Placement, Rest
from compact.model.record import Injected, Record
from compact.model.summary import RefusalReason, Summary

Flow = Generator[Need, Any, Outcome]

_NO_ROOM = Refusal(RefusalReason.NO_ROOM, "there is no room for one next to what has to stay")


def compaction(job: Job, plan: Plan, adopt: Callable[[Compacted], None] = lambda done: None) -> Flow:
    """`adopt` is called before the end is told: whoever hears of it and looks finds the record in force."""
    if plan.mode is Mode.NONE and plan.insufficient is None:
        return Unchanged(plan.reason)
    yield Emit(EventName.START, start_data(plan.before, plan.limits, plan.reason), job.step)
    outcome = yield from _run(job, plan) if plan.insufficient is None else _insufficient(job, plan)
    try:
        if isinstance(outcome, Compacted):
            adopt(outcome)
    finally:
        yield end_event(outcome, plan, job.items)
    return outcome


def _run(job: Job, plan: Plan) -> Flow:
    summary: Summary | None = None
    warnings = plan.warnings
    if plan.mode is Mode.SUMMARIZE:
        yield Emit(EventName.SUMMARIZE, {"messagesCount": len(plan.replaced)})
        answer, steps_down = yield from summarize(job, plan)
        if isinstance(answer, Refusal):
            if job.policy.on_summary_failure == "keep" and plan.before <= plan.limits.budget:
                return Unchanged(Reason.ABORTED)
            plan = plan_without_summary(
                job.items, job.limits, job.policy, job.sizes, plan.reason, job.alternates
            )
            if plan.insufficient is not None:
                return (yield from _insufficient(job, plan))
            if plan.mode is Mode.NONE:
                return Unchanged(plan.reason)
            warnings = (*plan.warnings, without_summary(job, plan, answer))
        else:
            # Whatever the policy: a list that it returns may go on under one with a system message.
            summary = mark_doubtful(answer, job.items)
            warnings = (*plan.warnings, *steps_down)
    elif plan.mode is Mode.DISCARD and job.policy.rest is Rest.SUMMARIZE:
        yield Emit(EventName.ERROR, error_data(_NO_ROOM.reason, _NO_ROOM.message, Fallback.PRUNING_ONLY))
        warnings = (*plan.warnings, without_summary(job, plan, _NO_ROOM))
    items = _new_view(job, plan, summary)
    after = job.limits.fixed + sum(item.tokens for item in items)
    if after >= plan.before and plan.reason is not Reason.TURNS and plan.before <= plan.limits.budget:
        if summary is not None:
            now, then = plan.limits.real(after), plan.limits.real(plan.before)
            message = f"with the summary the prompt would have {now:,} tokens instead of {then:,}"
            yield Emit(EventName.ERROR, error_data(RefusalReason.NOT_SMALLER, message, Fallback.NONE))
        return Unchanged(Reason.NOT_SMALLER)
    if summary is not None:
        yield Emit(EventName.CHECK, {"tokensAfter": plan.limits.real(after)})
    broken = _broken(job, items)
    if broken is not None:
        return Failed(Stage.CHECK, CompactError(broken))
    archived = yield NeedArchive(transcript(job, plan, summary, after))
    if isinstance(archived, Refusal):
        return Failed(Stage.ARCHIVE, archived.cause or CompactError(archived.message))
    done = yield from _commit(job, plan, summary, items, after)
    if isinstance(done, Compacted):
        done = replace(done, warnings=warnings)
        for warning in warnings:
            severity = "low" if warning in plan.warnings else "high"
            yield Emit(EventName.WARNING, {"severity": severity, "message": warning})
    return done


def _commit(job: Job, plan: Plan, summary: Summary | None, items: list[Item], after: int) -> Flow:
    record = make_record(job, plan, summary, items, after)
    winner = yield NeedCommit(record)
    if not isinstance(winner, Refusal) and winner.session_id != job.session_id:
        # Another session with the same history was first, and may have undone it: ours is kept next to it.
        record = replace(record, policy_hash=own_key(record.policy_hash, job.session_id))
        winner = yield NeedCommit(record)
    if isinstance(winner, Refusal):
        return Failed(Stage.COMMIT, winner.cause or CompactError(winner.message))
    if winner.id != record.id:
        # Another compaction of the same history was first: its record stands, ours is discarded.
        theirs = apply_entries(winner, job.original_at, job.size_of)
        if theirs is None:
            return Failed(
                Stage.COMMIT, CompactError("another compaction won, and its originals are not here")
            )
        items = theirs + _since(winner, job.items)
        after = job.limits.fixed + sum(item.tokens for item in items)
    if plan.cleared:
        yield Emit(
            EventName.PRUNE,
            {
                "outputsPruned": sum(len(cleared.call_ids) for cleared in plan.cleared.values()),
                "tokensSaved": plan.saved_by_clearing,
                "prunedTools": list(plan.cleared_tools),
            },
        )
    yield Emit(EventName.PRUNED_MESSAGES, layers_data(job, plan, items, after, summary))
    return Compacted(winner, plan, items, after, summary)


def _since(record: Record, items: Sequence[Item]) -> list[Item]:
    """What follows the originals that a record replaced, working memory included."""
    covered = [
        at
        for at, item in enumerate(items)
        if item.position is not None and item.position < record.source_length
    ]
    known = {entry.message.digest for entry in record.entries if isinstance(entry, Injected)}
    behind = items[covered[-1] + 1 :] if covered else [item for item in items if item.position is not None]
    return [item for item in behind if item.position is not None or item.message.digest not in known]


def _new_view(job: Job, plan: Plan, summary: Summary | None) -> list[Item]:
    ours: list[Message] = []
    if summary is not None:
        text, version = _summary_text(job, summary), next_version(job)
        made = summary_messages(text, version, job.policy, handle_for(job, plan, summary))
        ours = [_as_format_takes_it(message, job.has_system) for message in made]
    elif plan.mode is Mode.DISCARD:
        ours = earlier_summary(job.items) if plan.carries_summary else []
        if plan.marked:
            handle = handle_for(job, plan, summary)
            trims = job.policy.rest is Rest.DISCARD
            ours.append(marker_message(dropped_turns(job, plan), handle) if trims else gap_message(handle))
    if plan.mode is Mode.PRUNE:
        order: list[int | Message] = list(range(len(job.items)))
    else:
        order = arrange(plan.leading, plan.recent, job.items, ours, job.policy, job.alternates)
    return build(order, plan, job.items, job.size_of, job.now)


def _as_format_takes_it(message: Message, has_system: bool) -> Message:
    if has_system or message.role is not Role.SYSTEM:
        return message
    return make(message.kind, Role.USER, message.text)


def _summary_text(job: Job, summary: Summary) -> SummaryText:
    if job.policy.placement is not Placement.SYSTEM:
        return SummaryText(summary.text)
    # All of them, not only what it replaces: a summary made on the cached prompt saw the rest as well.
    return split_summary(summary, [replace(item, message=job.in_full(item)) for item in job.items])


def _broken(job: Job, items: Sequence[Item]) -> str | None:
    """What the provider would reject in the new view although it would have accepted the old one."""
    found = lint_messages([item.message for item in items], job.provider)
    if not found or lint_messages([item.message for item in job.items], job.provider):
        return None
    return f"the compacted prompt would be refused: {found[0].message}. The session is unchanged."


def _insufficient(job: Job, plan: Plan) -> Flow:
    assert plan.insufficient is not None
    error = insufficient_budget(plan.insufficient, plan.limits)
    yield Emit(EventName.ERROR, error_data("InsufficientBudget", str(error), Fallback.NONE))
    yield Emit(EventName.OVERFLOW, overflow_data(plan.before, plan.limits))
    return Failed(Stage.PLAN, error)
