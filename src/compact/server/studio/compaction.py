"""Compactions asked for by a user: now, as a plan, or as several what-ifs side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from compact.chat.chats import configured
from compact.chat.conversation import Conversation
from compact.chat.listening import listening
from compact.chat.turn_log import is_pinned
from compact.config import CompactConfig
from compact.errors import CompactError
from compact.manager import CompactManager
from compact.model import plan as plans
from compact.model.message import Usage
from compact.model.record import Cleared, Kept, Record, RecordKind
from compact.models.prices import cost
from compact.ports import Remembers
from compact.server.http.problems import Problem
from compact.server.studio import schemas
from compact.server.studio.messages import turn_tokens
from compact.server.studio.showing import shown_records, shown_survival, shown_usage
from compact.stores.memory import MemoryStore

_MOST_MISSING = 50
_FLUSH_SECONDS = 2.0
_MODES = {
    RecordKind.COMPACTION: "summarize",
    RecordKind.PRUNE: "prune",
    RecordKind.TRIM: "discard",
    RecordKind.CLEAR: "clear",
    RecordKind.RESTORE: "none",
}


async def compact_now(conversation: Conversation, note: str, mode: str) -> schemas.CompactResult:
    """Compact whatever the usage; `prune` clears old tool outputs only."""
    manager, known = conversation.manager, _ids(conversation)
    tools = conversation.tools.schemas or None
    with listening(conversation.hear):
        if mode == "prune":
            await manager.aend_turn(conversation.id, conversation.history, tools)
        else:
            await manager.amanual_compact(conversation.id, conversation.history, note, tools)
    await manager.aflush(_FLUSH_SECONDS)
    return await asyncio.to_thread(_result, conversation, known)


def _ids(conversation: Conversation) -> set[str]:
    return {record.id for record in conversation.log.standing_records()}


def _result(conversation: Conversation, known: set[str]) -> schemas.CompactResult:
    conversation.reset()
    fresh = [record for record in conversation.log.standing_records() if record.id not in known]
    record = fresh[-1] if fresh else None
    shown = next((one for one in reversed(shown_records(conversation)) if one.in_force), None)
    return schemas.CompactResult(
        outcome="compacted" if record is not None else "unchanged",
        reason=record.reason if record is not None else "nothing-to-shrink",
        record=shown if record is not None else None,
        usage=shown_usage(conversation),
    )


# -- looking -------------------------------------------------------------------------------------------------


def plan_of(conversation: Conversation, preset: str | None, policy: Mapping[str, Any] | None) -> schemas.Plan:
    """What would happen with the next message. Nothing is done."""
    manager = conversation.manager
    if preset is not None or policy is not None:
        manager = _manager(conversation, preset, policy)
    plan = manager.plan(conversation.id, conversation.history)
    # The plan counts messages of the view; people count the conversation's.
    positions = {id(turn): position for position, turn in enumerate(conversation.turns)}
    real = plan.limits.real
    return schemas.Plan(
        triggered=plan.triggered,
        reason=plan.reason.value,
        mode=plan.mode.value,
        before=real(plan.before),
        after=real(plan.after),
        limits=schemas.PlanLimits(
            window=manager.window,
            budget=real(plan.limits.budget),
            trigger=real(plan.limits.trigger),
            summary=real(plan.limits.summary),
        ),
        steps=[_step(step, plan, positions) for step in plan.steps],
        warnings=list(plan.warnings),
        summary_preview=None,
    )


def _step(step: plans.Step, plan: plans.Plan, positions: Mapping[int, int]) -> schemas.PlanStep:
    message = plan.messages[step.index] if step.index is not None else None
    names = [call.name for call in message.calls] if message is not None else []
    origin = message.origin if message is not None else None
    return schemas.PlanStep(
        position=positions.get(id(origin.source)) if origin is not None else None,
        action=step.action.value,
        tokens=plan.limits.real(step.tokens),
        saves=plan.limits.real(step.saves),
        role=message.role.value if message is not None else None,
        tool=names[0] if names else None,
        detail=step.detail,
    )


# -- what-if -------------------------------------------------------------------------------------------------


def what_if(conversation: Conversation, wanted: list[schemas.ColumnRequest]) -> schemas.WhatIf:
    """Each policy tried on a copy of the session in memory, with the embedded summarizer."""
    return schemas.WhatIf(
        at_message=len(conversation.turns),
        now=_now(conversation),
        columns=[_column(conversation, one) for one in wanted],
    )


def check_unchanged(conversation: Conversation, at_message: int) -> None:
    if len(conversation.turns) != at_message:
        raise Problem(
            409,
            "session-went-on",
            f"The session has {len(conversation.turns):,} messages now, not {at_message:,}. Nothing was "
            "done; look at the columns again.",
        )


def _now(conversation: Conversation) -> schemas.Column:
    usage, config = conversation.usage, conversation.manager.config
    standing = conversation.log.standing_records()
    record = standing[-1] if standing else None
    return schemas.Column(
        label="now",
        preset=config.preset,
        policy=config.policy.model_dump(mode="json"),
        mode="none",
        reason="now",
        tokens_before=usage.tokens,
        tokens_after=usage.tokens,
        percent_after=usage.percent,
        cost_next=_price(conversation, usage.tokens, usage.tokens),
        cached_tokens=usage.tokens,
        survival=shown_survival(record.kept) if record is not None else None,
        missing=_missing(record),
        fates=_fates(None, conversation),
        summary=record.summary if record is not None else "",
        problem=None,
    )


def _column(conversation: Conversation, wanted: schemas.ColumnRequest) -> schemas.Column:
    before, tools = conversation.usage, conversation.tools.schemas or None
    record: Record | None = None
    tokens, problem = before.tokens, None
    try:
        config = _config(conversation, wanted.preset, wanted.policy)
    except CompactError as error:
        return _unusable(conversation, wanted, str(error))
    with copied(conversation, config) as manager:
        known = len(manager.records(conversation.id))
        try:
            manager.manual_compact(conversation.id, conversation.history, tools=tools)
            record = next(iter(manager.records(conversation.id)[known:]), None)
            tokens = manager.usage(conversation.id, conversation.history, tools).tokens
        except CompactError as error:
            problem = str(error)
    return schemas.Column(
        label=wanted.label or wanted.preset or config.preset,
        preset=wanted.preset or config.preset,
        policy=config.policy.model_dump(mode="json"),
        mode=_MODES[record.kind] if record is not None else "none",
        reason=record.reason if record is not None else "nothing-to-shrink",
        tokens_before=before.tokens,
        tokens_after=tokens,
        percent_after=round(100 * tokens / before.window, 2),
        cost_next=_price(conversation, tokens, before.tokens if record is None else 0),
        cached_tokens=before.tokens if record is None else 0,
        survival=shown_survival(record.kept) if record is not None else None,
        missing=_missing(record),
        fates=_fates(record, conversation),
        summary=record.summary if record is not None else "",
        problem=problem,
    )


def _unusable(conversation: Conversation, wanted: schemas.ColumnRequest, problem: str) -> schemas.Column:
    """A policy that cannot be had for this model; the other columns still can."""
    label = wanted.label or wanted.preset or "policy"
    changes = {"label": label, "preset": wanted.preset, "reason": "not-valid", "problem": problem}
    policy = {"policy": dict(wanted.policy or {})}
    return _now(conversation).model_copy(update={**changes, **policy, "summary": "", "survival": None})


def copied(conversation: Conversation, config: CompactConfig) -> CompactManager:
    """A manager on a copy of the session: nothing it does is seen by anybody."""
    store = MemoryStore()
    for record in conversation.manager.records(conversation.id):
        store.commit(record)
    # What the provider's counts were corrected by, too.
    original = conversation.log.store
    if isinstance(original, Remembers):
        memory = original.memory(conversation.id)
        store.remember(conversation.id, scale=memory.scale, retired_tools=memory.retired_tools)
    quiet = config.model_copy(
        update={
            "archive": config.archive.model_copy(update={"adapter": "none"}),
            "tracing": type(config.tracing)(),
            "summarizer": type(config.summarizer)(name="extractive"),
        }
    )
    return CompactManager(quiet, store=store, format="openai-chat")


def _manager(
    conversation: Conversation, preset: str | None, policy: Mapping[str, Any] | None
) -> CompactManager:
    manager, config = conversation.manager, _config(conversation, preset, policy)
    return manager.for_model(
        config.model,
        max_context_tokens=config.max_context_tokens,
        preset=config.preset,
        policy=config.policy,
    )


def _config(
    conversation: Conversation, preset: str | None, policy: Mapping[str, Any] | None
) -> CompactConfig:
    config = configured(conversation.manager.config, {"preset": preset, "policy": dict(policy or {})})
    return config


def _missing(record: Record | None) -> list[schemas.Missing]:
    found = record.kept.missing if record is not None else ()
    return [
        schemas.Missing(kind=one.kind.value, text=one.text, position=one.position)
        for one in found[:_MOST_MISSING]
    ]


def _fates(record: Record | None, conversation: Conversation) -> list[schemas.Fate]:
    """What becomes of every message, also of those that stay: the page draws the whole conversation."""
    entries = record.entries if record is not None else ()
    changed = record.source_length if record is not None else 0
    kept = {entry.position for entry in entries if isinstance(entry, Kept)}
    cleared = {entry.position: entry for entry in entries if isinstance(entry, Cleared)}
    gone = "summarized" if record is not None and record.summary else "dropped"
    fates = []
    for position, tokens in enumerate(turn_tokens(conversation)):
        entry = cleared.get(position)
        if entry is not None:
            action, after = "cleared", max(0, tokens - sum(entry.original_tokens))
        elif position >= changed or position in kept:
            action = "pinned" if is_pinned(conversation.turns[position]) else "kept"
            after = tokens
        else:
            action, after = gone, 0
        fates.append(schemas.Fate(position=position, action=action, tokens_before=tokens, tokens_after=after))
    return fates


def _price(conversation: Conversation, tokens: int, cached: int) -> float | None:
    """What the next prompt costs, with this much of it in the provider's cache."""
    found = cost(conversation.agent, Usage(input=tokens, output=0, cache_read=min(cached, tokens)))
    return float(found) if found is not None else None
