"""Compaction as a call: messages in, messages out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from compact.server.http.bodies import json_bytes
from compact.server.studio import schemas
from compact.server.studio.routes.common import Here, TheStudio, problems

router = APIRouter(tags=["messages"])


@router.post("/api/compact", response_model=schemas.MessagesOut, responses=problems(409, 413))
async def compact(studio: TheStudio, here: Here, request: Request, asked: schemas.MessagesIn) -> Response:
    """What of these messages to send to the model: as they are where they fit, compacted where they do not.

    Send the whole history each time; what was compacted before is found again by its content. Messages may
    be the AI SDK's (model or UI messages), OpenAI's, Anthropic's or any other known format.
    """
    lists = await studio.message_lists(here.tenant)
    # Not through the model: half a character in a tool's output is no reason to fail.
    return Response(json_bytes(await lists.fitted(asked)), media_type="application/json")
