"""One compaction as a generator: it yields what it needs, is sent the answers, and returns an outcome.

The failure ladder lives here, once: too long → halved, twice at most; refused → `brief`; else pruning-only.
Archive, then commit, then adopt: a kill anywhere leaves the session wholly old or wholly new.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compact.core.layers import SummaryText, arrange, build, marker_message, summary_messages
from compact.core.lint import lint_messages
from compact.core.plan import Sizes, pruning_only
from compact.core.untrusted import split_summary
from compact.core.view import Item, apply_entries, chain
from compact.errors import CompactError, InsufficientBudget
from compact.model.event import EventName, Fallback, Reason
from compact.model.message import Message, MessageKind, Role
from compact.model.outcome import Compacted, Failed, Outcome, Stage, Unchanged
from compact.model.plan import Limits, Mode, Plan
from compact.model.policy import Placement, Policy
from compact.model.record import Record, RecordKind, Transcript
from compact.model.summary import RefusalReason, Summary, SummaryRequest

SUMMARY_NOT_UPDATED = "The summary could not be updated. Nothing is lost; it will be tried again."


@dataclass(frozen=True, slots=True)
class NeedSummary:
    request: SummaryRequest


@dataclass(frozen=True, slots=True)
class NeedArchive:
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class NeedCommit:
    record: Record


@dataclass(frozen=True, slots=True)
class Emit:
    name: EventName
    data: Mapping[str, Any]


Need = NeedSummary | NeedArchive | NeedCommit | Emit


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a need that was not met: why, in the words of `RefusalReason` or an error's name."""

    reason: str
    message: str
    cause: Exception | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a compaction may look at; clock and ids come in as values."""

    session_id: str
    items: Sequence[Item]
    length: int
    """How many originals the conversation has."""
    source_at: Callable[[int], bytes]
    """Chain hash of the first n originals."""
    original_at: Callable[[int], Message | None]
    base: Record | None
    policy: Policy
    limits: Limits
    sizes: Sizes
    size_of: Callable[[Message], int]
    provider: str
    record_id: str
    now: float
    step: int
    revision: int = 0
    note: str = ""
    prompt_for: Callable[[SummaryRequest], str] = lambda request: ""


Flow = Generator[Need, Any, Outcome]


def compaction(job: Job, plan: Plan) -> Flow:
    if plan.insufficient is not None:
        return (yield from _insufficient(job, plan))
    if plan.mode is Mode.NONE:
        return Unchanged(plan.reason)
    reason = "manual" if plan.reason is Reason.MANUAL else "overflow"
    yield Emit(
        EventName.START,
        {"tokensBefore": plan.before, "modelLimit": plan.limits.window, "reason": reason, "note": job.note},
    )
    outcome = yield from _run(job, plan)
    yield _end_event(outcome, plan)
    return outcome


def _run(job: Job, plan: Plan) -> Flow:
    summary: Summary | None = None
    if plan.mode is Mode.SUMMARIZE:
        yield Emit(EventName.SUMMARIZE, {"messagesCount": len(plan.replaced)})
        summary = yield from _summarize(job, plan)
        if summary is None:
            if job.policy.on_summary_failure == "keep" and plan.before <= plan.limits.budget:
                return Unchanged(Reason.ABORTED)
            plan = pruning_only(job.items, job.limits, job.policy, job.sizes, plan.reason)
            if plan.insufficient is not None:
                return (yield from _insufficient(job, plan))
            if plan.mode is Mode.NONE:
                return Unchanged(plan.reason)
    items = _new_view(job, plan, summary)
    after = job.limits.fixed + sum(item.tokens for item in items)
    if after >= plan.before and plan.reason is not Reason.TURNS:
        return Unchanged(Reason.NOT_SMALLER)
    broken = _broken(job, items)
    if broken is not None:
        return Failed(Stage.CHECK, CompactError(broken))
    archived = yield NeedArchive(_transcript(job, plan, summary, after))
    if isinstance(archived, Refusal):
        return Failed(Stage.ARCHIVE, archived.cause or CompactError(archived.message))
    return (yield from _commit(job, plan, summary, items, after))


def _commit(job: Job, plan: Plan, summary: Summary | None, items: list[Item], after: int) -> Flow:
    record = _record(job, plan, summary, items, after)
    winner = yield NeedCommit(record)
    if isinstance(winner, Refusal):
        return Failed(Stage.COMMIT, winner.cause or CompactError(winner.message))
    if winner.id != record.id:
        # Another compaction of the same history was first: its record stands, ours is forgotten.
        theirs = apply_entries(winner, job.original_at, job.size_of)
        if theirs is None:
            return Failed(
                Stage.COMMIT, CompactError("another compaction won, and its originals are not here")
            )
        tail = [item for item in job.items if (item.position or 0) >= winner.source_length]
        items = theirs + tail
        after = job.limits.fixed + sum(item.tokens for item in items)
    if plan.cleared:
        yield Emit(
            EventName.PRUNE,
            {
                "outputsPruned": sum(len(cleared.call_ids) for cleared in plan.cleared.values()),
                "tokensSaved": plan.before - after,
                "prunedTools": list(plan.cleared_tools),
            },
        )
    yield Emit(EventName.PRUNED_MESSAGES, _layers(job, plan, items, after))
    for warning in plan.warnings:
        yield Emit(EventName.WARNING, {"message": warning})
    return Compacted(winner, plan, items, after, summary)


def _summarize(job: Job, plan: Plan) -> Generator[Need, Any, Summary | None]:
    strategy, allowance, halved = plan.strategy, plan.summary_tokens, 0
    replaced = [job.items[index] for index in plan.replaced]
    while True:
        request = _request(job, replaced, strategy, allowance)
        answer = yield NeedSummary(request)
        problem = answer if isinstance(answer, Refusal) else _problem(answer, job, allowance)
        if problem is None:
            yield Emit(EventName.SUMMARY_CREATED, _created(answer, replaced, request))
            return answer  # type: ignore[no-any-return]
        fallback = Fallback.PRUNING_ONLY
        if problem.reason == RefusalReason.TOO_LONG and halved < 2:
            fallback, allowance, halved = Fallback.HALVE, max(allowance // 2, 1), halved + 1
        elif problem.reason == RefusalReason.REFUSAL and strategy != "brief":
            fallback, strategy = Fallback.BRIEF, "brief"
        elif job.policy.on_summary_failure == "keep" and plan.before <= plan.limits.budget:
            fallback = Fallback.KEEP_PREVIOUS
        yield Emit(EventName.ERROR, _error(problem.reason, problem.message, fallback))
        if fallback in (Fallback.PRUNING_ONLY, Fallback.KEEP_PREVIOUS):
            return None


def _request(job: Job, replaced: Sequence[Item], strategy: str, allowance: int) -> SummaryRequest:
    """What the summarizer sees: nothing protected, no bridges, no empty failures (S2.11)."""
    span = [item for item in replaced if item.position is not None and not _is_empty_failure(item.message)]
    previous = previous_summary(replaced)
    request = SummaryRequest(
        messages=tuple(item.message for item in span),
        prompt="",
        max_tokens=allowance,
        strategy=strategy,
        previous_summary=previous,
        first_position=span[0].position or 0 if span else 0,
        positions=tuple(item.position or 0 for item in span),
        previous_evidence=job.base.evidence if job.base is not None else (),
        focus=job.note,
    )
    return replace(request, prompt=job.prompt_for(request))


def previous_summary(items: Sequence[Item]) -> str | None:
    """The prose of the summary that stands in these items, without its delimiters."""
    texts = [
        item.message.text.split("\n", 1)[-1].rsplit("\n", 1)[0]
        for item in items
        if item.message.kind is MessageKind.SUMMARY
    ]
    return "\n\n".join(texts) or None


def _is_empty_failure(message: Message) -> bool:
    return (
        message.role is Role.ASSISTANT
        and not message.calls
        and not message.text.strip()
        and not message.results
        and all(type(part).__name__ in ("Reasoning", "StepStart", "Text") for part in message.parts)
    )


def _problem(answer: Summary, job: Job, allowance: int) -> Refusal | None:
    text = answer.text.strip()
    if not text:
        return Refusal(RefusalReason.EMPTY, "the summarizer returned nothing")
    if len(text) < job.policy.summary_min_chars:
        return Refusal(RefusalReason.TOO_SHORT, f"the summary has {len(text)} characters")
    size = job.sizes.of_text(answer.text)
    if size > allowance:
        return Refusal(RefusalReason.TOO_LONG, f"the summary has {size} tokens, {allowance} were allowed")
    return None


def _new_view(job: Job, plan: Plan, summary: Summary | None) -> list[Item]:
    ours: list[Message] = []
    if summary is not None:
        ours = summary_messages(_summary_text(job, plan, summary), next_version(job.base), job.policy)
    elif plan.mode is Mode.DISCARD and job.policy.rest == "discard":
        ours = [marker_message(_dropped(job, plan))]
    elif plan.mode is Mode.DISCARD:
        kinds = (MessageKind.SUMMARY, MessageKind.SUMMARY_TRIGGER)
        ours = [item.message for item in job.items if item.message.kind in kinds]
    if plan.mode is Mode.PRUNE:
        order: list[int | Message] = list(range(len(job.items)))
    else:
        order = arrange(plan, job.items, ours, job.policy)
    return build(order, plan, job.items, job.size_of, job.now)


def _summary_text(job: Job, plan: Plan, summary: Summary) -> SummaryText:
    if job.policy.placement is not Placement.SYSTEM:
        return SummaryText(summary.text)
    return split_summary(summary, [job.items[index] for index in plan.replaced])


def next_version(base: Record | None) -> int:
    return (base.version if base is not None and base.summary else 0) + 1 if base is not None else 1


def _dropped(job: Job, plan: Plan) -> int:
    """Turns gone so far: a turn is each user or assistant message, tool results belong to theirs."""
    gone = sum(
        1
        for index in plan.replaced
        if not job.items[index].message.is_ours
        and job.items[index].message.role in (Role.USER, Role.ASSISTANT)
    )
    return gone + (job.base.dropped if job.base is not None else 0)


def _broken(job: Job, items: Sequence[Item]) -> str | None:
    """What the provider would refuse in the new view though it would have taken the old one."""
    found = lint_messages([item.message for item in items], job.provider)
    if not found or lint_messages([item.message for item in job.items], job.provider):
        return None
    return f"the compacted prompt would be refused: {found[0].message}. The session is as it was."


def _record(job: Job, plan: Plan, summary: Summary | None, items: list[Item], after: int) -> Record:
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
        policy_hash=job.policy.hash,
        parent=base.id if base is not None else None,
        version=next_version(base) if summary is not None else (base.version if base else 0),
        revision=_revision(job, length),
        step=job.step,
        reason=plan.reason.value,
        note=job.note,
        strategy=(summary.strategy or plan.strategy) if summary is not None else "",
        summary=summary.text if summary is not None else carried,
        evidence=summary.evidence if summary is not None else (base.evidence if base else ()),
        tokens_before=plan.before,
        tokens_after=after,
        messages_replaced=sum(1 for index in plan.replaced if not job.items[index].message.is_ours),
        outputs_cleared=sum(len(cleared.call_ids) for cleared in plan.cleared.values()),
        dropped=_dropped(job, plan) if plan.mode is Mode.DISCARD else (base.dropped if base else 0),
        created_at=job.now,
    )


def _revision(job: Job, length: int) -> int:
    """A compaction that takes more of its parent's span has its parent's source, so it needs another key."""
    base = job.base
    if base is None or base.source_length != length:
        return job.revision
    return max(job.revision, base.revision + 1)


def _changed_prefix(job: Job, items: list[Item]) -> tuple[int, list[Item]]:
    """How many originals the record covers, and what stands for them; the untouched tail is left out."""
    common = 0
    while common < min(len(items), len(job.items)) and items[-1 - common] is job.items[-1 - common]:
        common += 1
    covered = job.base.source_length if job.base is not None else 0
    for index in range(len(items) - common, len(items)):
        position = items[index].position
        if position is not None and position >= covered:
            return position, items[:index]
    return job.length, items


def _transcript(job: Job, plan: Plan, summary: Summary | None, after: int) -> Transcript:
    return Transcript(
        session_id=job.session_id,
        step=job.step,
        messages=tuple(item.message for item in job.items),
        summary=summary.text if summary is not None else "",
        policy=job.policy.name,
        reason=plan.reason.value,
        tokens_before=plan.before,
        tokens_after=after,
    )


def _insufficient(job: Job, plan: Plan) -> Flow:
    assert plan.insufficient is not None
    error = insufficient_budget(plan.insufficient, plan.limits)
    yield Emit(EventName.ERROR, _error("InsufficientBudget", str(error), Fallback.NONE))
    percent = round(100 * plan.before / plan.limits.window, 1)
    overflow = {"currentTokens": plan.before, "limit": plan.limits.window, "percentUsed": percent}
    yield Emit(EventName.OVERFLOW, overflow)
    return Failed(Stage.PLAN, error)


def insufficient_budget(parts: Mapping[str, int], limits: Limits) -> InsufficientBudget:
    needed = sum(parts.values())
    sum_shown = " + ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in parts.items())
    return InsufficientBudget(
        f"InsufficientBudget: what may not be removed needs {needed:,} tokens ({sum_shown}), but the budget "
        f"is {limits.budget:,} of a window of {limits.window:,}. Nothing was changed. Reduce protected "
        "memory, shorten the newest message or tool output, or use a model with a larger context window.",
        needed=needed,
        budget=limits.budget,
        arithmetic=dict(parts),
    )


def _end_event(outcome: Outcome, plan: Plan) -> Emit:
    if isinstance(outcome, Failed):
        hopeless = outcome.stage is Stage.PLAN
        data = {"error": str(outcome.cause), "canRetry": not hopeless, "suggestNewSession": hopeless}
        return Emit(EventName.FAILED, data)
    if outcome == Unchanged(Reason.ABORTED):
        return Emit(
            EventName.FAILED,
            {"error": SUMMARY_NOT_UPDATED, "canRetry": True, "suggestNewSession": False},
        )
    done = outcome if isinstance(outcome, Compacted) else None
    return Emit(
        EventName.COMPLETE,
        {
            "tokensBefore": plan.before,
            "tokensAfter": done.tokens_after if done else plan.before,
            "messagesCompacted": done.record.messages_replaced if done else 0,
            "wasPruned": bool(done and done.record.kind is not RecordKind.COMPACTION),
            "wasSummarized": bool(done and done.summary is not None),
            "summary": done.summary.text if done and done.summary else "",
        },
    )


def _created(summary: Summary, replaced: Sequence[Item], request: SummaryRequest) -> dict[str, Any]:
    tokens = sum(item.tokens for item in replaced)
    return {
        "strategy": request.strategy,
        "input_messages": len(request.messages),
        "summary_tokens": summary.tokens,
        "compression_ratio": round(summary.tokens / tokens, 4) if tokens else 0.0,
        "survival": dict(summary.survival),
        "summary": summary.text,
    }


def _layers(job: Job, plan: Plan, items: Sequence[Item], after: int) -> dict[str, Any]:
    summaries = sum(1 for item in items if item.message.kind is MessageKind.SUMMARY)
    return {
        "pinned": len(plan.leading),
        "summary": min(1, summaries),
        "recent": len(plan.recent),
        "replaced": len(plan.replaced),
        "tokens_before": plan.before,
        "tokens_after": after,
        "step": job.step,
    }


def _error(error_type: str, message: str, fallback: Fallback) -> dict[str, Any]:
    return {"status": "error", "error_type": str(error_type), "message": message, "fallback": fallback.value}
