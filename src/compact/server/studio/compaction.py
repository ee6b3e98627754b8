"""Compactions requested by a user: now, or as a plan."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from compact.chat.conversation import Conversation
from compact.chat.listening import listening
from compact.model import plan as plans
from compact.server.studio import schemas
from compact.server.studio.showing import shown_records, shown_usage
from compact.server.studio.trial import config_for, copied, manager_for

_FLUSH_SECONDS = 2.0


async def compact_now(conversation: Conversation, note: str, mode: str) -> schemas.CompactResult:
    """Compact, however full the window is; `prune` only clears old tool outputs."""
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
    fresh = [record for record in conversation.log.standing_records() if record.id not in known]
    record = fresh[-1] if fresh else None
    if record is not None:
        conversation.log.compacted()
    conversation.reset()
    shown = next((one for one in reversed(shown_records(conversation)) if one.in_force), None)
    return schemas.CompactResult(
        outcome="compacted" if record is not None else "unchanged",
        reason=record.reason if record is not None else "nothing-to-shrink",
        record=shown if record is not None else None,
        usage=shown_usage(conversation),
    )


# -- looking -------------------------------------------------------------------------------------------------


def plan_of(conversation: Conversation, wanted: schemas.PlanRequest) -> schemas.Plan:
    """What would happen with the next message, or right now. Nothing is changed."""
    manager = conversation.manager
    if wanted.preset is not None or wanted.policy is not None:
        manager = manager_for(conversation, wanted.preset, wanted.policy)
    tools = conversation.tools.schemas or None
    plan = manager.plan(conversation.id, conversation.history, tools, manual=wanted.now)
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
        summary_preview=_previewed(conversation, wanted) if wanted.preview else None,
    )


def _previewed(conversation: Conversation, wanted: schemas.PlanRequest) -> str | None:
    """What the embedded summarizer would write now, tried on a copy."""
    with copied(conversation, config_for(conversation, wanted.preset, wanted.policy)) as manager:
        known = len(manager.records(conversation.id))
        tools = conversation.tools.schemas or None
        manager.manual_compact(conversation.id, conversation.history, tools=tools)
        made = manager.records(conversation.id)[known:]
    return made[0].summary or None if made else None


def _step(step: plans.PlanStep, plan: plans.Plan, positions: Mapping[int, int]) -> schemas.PlanStep:
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
