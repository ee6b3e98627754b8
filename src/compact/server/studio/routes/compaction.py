"""Compacting, undoing, planning, trying out; and what was said before."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from compact.chat.conversation import Conversation
from compact.functions import count_tokens
from compact.model.record import RecordKind
from compact.server.http.problems import Problem
from compact.server.studio import schemas
from compact.server.studio.compaction import compact_now, plan_of
from compact.server.studio.restoring import no_compaction, previewed, restored
from compact.server.studio.routes.common import Here, SessionId, Step, TheStudio, problems
from compact.server.studio.showing import shown_records, shown_usage
from compact.server.studio.transfer import exported, imported
from compact.server.studio.what_if import applied, what_if

router = APIRouter(tags=["compaction"])


@router.post("/api/sessions/{session_id}/compact", responses=problems(404, 409))
async def compact(here: Here, session_id: SessionId, wanted: schemas.CompactRequest) -> schemas.CompactResult:
    """Compact now. `focus` says what to keep in view, `note` goes into the record; progress is on events."""
    note = "\n".join(filter(None, (wanted.focus, wanted.note)))
    result: schemas.CompactResult = await here.compacting(
        session_id, lambda found: compact_now(found, note, wanted.mode)
    )
    await here.announce(session_id, result.usage)
    return result


@router.post("/api/sessions/{session_id}/compact/cancel", responses=problems(404))
async def cancel(here: Here, session_id: SessionId) -> schemas.Cancelled:
    """Cancel a compaction that is under way; the session stays as it was."""
    return schemas.Cancelled(cancelled=await here.cancel_compaction(session_id))


@router.post("/api/sessions/{session_id}/clear", responses=problems(404, 409))
async def clear(here: Here, session_id: SessionId) -> schemas.CompactResult:
    """Start fresh: nothing said so far goes out any more. It stays stored and can be restored."""

    def cleared(conversation: Conversation) -> schemas.CompactResult:
        record = conversation.clear()
        shown = shown_records(conversation)[-1] if record is not None else None
        return schemas.CompactResult(
            outcome="compacted" if record is not None else "unchanged",
            reason="clear" if record is not None else "nothing-to-shrink",
            record=shown,
            usage=shown_usage(conversation),
        )

    return await here.change(session_id, cleared)


@router.post("/api/sessions/{session_id}/plan", responses=problems(404))
async def plan(here: Here, session_id: SessionId, wanted: schemas.PlanRequest) -> schemas.Plan:
    """What would happen with the next message. Nothing is done."""
    return await here.look(session_id, lambda found: plan_of(found, wanted))


@router.post("/api/sessions/{session_id}/what-if", responses=problems(404))
async def try_out(here: Here, session_id: SessionId, wanted: schemas.WhatIfRequest) -> schemas.WhatIf:
    """Several presets or policies on this session, side by side. Nothing is done."""
    return await here.look(session_id, lambda found: what_if(found, wanted.columns))


@router.post("/api/sessions/{session_id}/what-if/apply", responses=problems(404, 409))
async def apply(
    here: Here, studio: TheStudio, session_id: SessionId, wanted: schemas.ApplyRequest
) -> schemas.CompactResult:
    """Take one of the columns: its preset or policy becomes the session's, and it compacts now.

    Undoing that compaction brings the preset and policy from before back.
    """
    studio.check_preset(wanted.preset)
    result: schemas.CompactResult = await here.compacting(session_id, lambda found: applied(found, wanted))
    await here.announce(session_id, result.usage)
    return result


@router.get("/api/sessions/{session_id}/records", responses=problems(404))
async def records(
    here: Here,
    session_id: SessionId,
    texts: Annotated[bool, Query(description="False: only the summary in force has its texts.")] = True,
) -> schemas.RecordList:
    """All compactions, oldest first, undone ones too."""
    return schemas.RecordList(records=await here.look(session_id, lambda found: _compactions(found, texts)))


@router.get("/api/sessions/{session_id}/records/{step}", responses=problems(404))
async def record(here: Here, session_id: SessionId, step: Step) -> schemas.Record:
    """One compaction, with its texts."""
    found = [one for one in await here.look(session_id, _compactions) if one.step == step]
    if not found:
        raise no_compaction(step)
    return found[-1]


def _compactions(conversation: Conversation, texts: bool = True) -> list[schemas.Record]:
    return [one for one in shown_records(conversation, texts) if one.kind != RecordKind.RESTORE.value]


@router.get("/api/sessions/{session_id}/records/{step}/restore", responses=problems(404))
async def preview(here: Here, session_id: SessionId, step: Step) -> schemas.RestorePreview:
    """What would come back. Nothing is done."""
    return await here.look(session_id, lambda found: previewed(found, step))


@router.post("/api/sessions/{session_id}/records/{step}/restore", responses=problems(404, 409))
async def restore(here: Here, session_id: SessionId, step: Step) -> schemas.Restored:
    """Undo that compaction, and those built on it; later messages stay."""
    return schemas.Restored(usage=await here.change(session_id, lambda found: restored(found, step)))


@router.get("/api/sessions/{session_id}/recall", responses=problems(404))
async def recall(
    here: Here,
    session_id: SessionId,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="Words, or a handle.")],
    limit: Annotated[int, Query(ge=1, le=50)] = 5,
) -> schemas.RecallResult:
    """Originals, also where they were summarized or cleared."""

    def found(conversation: Conversation) -> schemas.RecallResult:
        hits = conversation.manager.recall(conversation.id, q, limit)
        return schemas.RecallResult(
            hits=[
                schemas.RecallHit(
                    position=hit.position,
                    role=hit.role,
                    text=hit.text,
                    handles=list(hit.handles),
                    score=hit.score if hit.score < float("inf") else None,
                )
                for hit in hits
            ]
        )

    return await here.look(session_id, found)


@router.get("/api/sessions/{session_id}/originals/{handle}", responses=problems(404))
async def original(here: Here, session_id: SessionId, handle: str) -> schemas.Original:
    """A tool output as it was before it was cleared or shortened."""

    def found(conversation: Conversation) -> schemas.Original:
        hits = [
            hit for hit in conversation.manager.recall(conversation.id, handle, 1) if handle in hit.handles
        ]
        if not hits:
            raise Problem(404, "no-original", f"There is no original {handle[:80]!r} in this session.")
        config = conversation.manager.config
        tokens = count_tokens(hits[0].text, config.model, counter=config.counter)
        return schemas.Original(handle=handle, position=hits[0].position, text=hits[0].text, tokens=tokens)

    return await here.look(session_id, found)


@router.get("/api/sessions/{session_id}/figures", responses=problems(404))
async def figures(here: Here, session_id: SessionId) -> schemas.Figures:
    """Size over turns, cost, cached tokens, what compaction saved and what survived it."""
    return await here.look(session_id, here.figures.of)


@router.get(
    "/api/sessions/{session_id}/export",
    response_class=Response,
    responses={
        **problems(404),
        200: {
            "description": "docs/export.schema.json",
            "content": {"application/json": {"schema": {"type": "array"}}},
        },
    },
)
async def export(here: Here, session_id: SessionId) -> Response:
    """All messages since the last clear, redacted, in the format of docs/export.schema.json."""
    text = await here.look(session_id, exported)
    headers = {"content-disposition": 'attachment; filename="conversation.json"'}
    return Response(text, media_type="application/json", headers=headers)


@router.post("/api/sessions/{session_id}/import", responses=problems(404, 409))
async def import_messages(
    here: Here, session_id: SessionId, wanted: schemas.ImportRequest
) -> schemas.Imported:
    """Append messages, all or none."""
    return await here.change(session_id, lambda found: imported(found, wanted.messages, wanted.again))
