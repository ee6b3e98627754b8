"""Messages and replies."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from compact.server.http.problems import Problem
from compact.server.http.streaming import SeatedStream
from compact.server.studio import asking, schemas, ui_stream
from compact.server.studio.live_turn import LiveTurn
from compact.server.studio.messages import message_at, shown_messages
from compact.server.studio.remote_turn import followed_elsewhere
from compact.server.studio.routes.common import Here, Position, SessionId, TheStudio, problems
from compact.server.studio.showing import usage_with
from compact.server.studio.studio import Studio

router = APIRouter(tags=["chat"])
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events of the AI SDK's UI message stream, version 1, with data parts "
        "`data-compaction`, `data-context-usage` and `data-notice`.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 1a-1\ndata: {"type":"start","messageId":"m1"}\n\n',
            }
        },
    }
}
LastEventId = Annotated[str | None, Header(max_length=100)]
Offset = Annotated[int | None, Query(ge=0, le=10_000_000)]


@router.get("/api/sessions/{session_id}/messages", responses=problems(404))
async def messages(
    here: Here,
    session_id: SessionId,
    before: Offset = None,
    after: Offset = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> schemas.MessageList:
    """The full history, always; the newest page unless `before` or `after` names a position."""
    return await here.look(session_id, lambda found: shown_messages(found, before, after, limit))


@router.post("/api/chat", response_class=Response, responses={**problems(404, 409), **_STREAM})
async def chat(here: Here, studio: TheStudio, asked: schemas.ChatRequest) -> Response:
    """Send a message, or ask for another reply. The reply goes on where the client goes away."""
    make = asking.exchange_of(asked)
    seat = studio.streams.take()
    try:
        live = await here.begin(asked.id, make)
        return _stream(studio, live, seat)
    except BaseException:
        seat.leave()
        raise


@router.get(
    "/api/chat/{session_id}/stream",
    response_class=Response,
    responses={**problems(404), **_STREAM, 204: {"description": "No reply is being written."}},
)
async def resume(
    here: Here, studio: TheStudio, session_id: SessionId, last_event_id: LastEventId = None
) -> Response:
    """The reply that is being written, from its beginning, or behind the last event that was seen."""
    live = await here.live(session_id)
    seen = live.after(last_event_id) if live is not None and last_event_id else None
    if live is not None and (not live.done or seen is not None):
        return _stream(studio, live, studio.streams.take(), seen or 0)
    running = await here.elsewhere(session_id)
    if running is None:
        return Response(status_code=204)
    stream = followed_elsewhere(here, session_id, running, studio.settings.poll_seconds)
    return SeatedStream(stream, studio.streams.take(), ui_stream.HEADERS)


@router.post("/api/sessions/{session_id}/stop", responses=problems(404))
async def stop(here: Here, session_id: SessionId) -> schemas.Stopped:
    """Stop the reply; what came so far is kept."""
    return schemas.Stopped(stopped=await here.stop(session_id))


@router.post(
    "/api/sessions/{session_id}/messages/{position}/edit",
    response_class=Response,
    responses={**problems(404, 409), **_STREAM},
)
async def edit(
    here: Here, studio: TheStudio, session_id: SessionId, position: Position, change: schemas.EditRequest
) -> Response:
    """Send another message in place of that one; what followed it is left behind. Answers like chat."""
    if not change.text.strip():
        raise Problem(422, "empty-message", "The message is empty. Nothing was changed.")
    seat = studio.streams.take()
    try:
        live = await here.begin(session_id, lambda found: found.edit(position, change.text))
        return _stream(studio, live, seat)
    except BaseException:
        seat.leave()
        raise


@router.put("/api/sessions/{session_id}/pins/{position}", responses=problems(404, 409))
async def pin(
    here: Here, session_id: SessionId, position: Position, wanted: schemas.PinRequest
) -> schemas.Message:
    """Protect a message from every compaction, or no longer."""

    def pinned(conversation: Any) -> schemas.Message:
        if position >= len(conversation.turns):
            raise Problem(404, "no-message", f"There is no message {position}. Nothing was changed.")
        conversation.pin(position, wanted.pinned)
        shown = message_at(conversation, position)
        assert shown is not None
        return shown

    return await here.change(session_id, pinned)


@router.get("/api/sessions/{session_id}/usage", responses=problems(404))
async def usage(
    here: Here, session_id: SessionId, draft: Annotated[str, Query(max_length=8_000)] = ""
) -> schemas.Usage:
    """The prompt that would be sent now, with a draft where one is given. Nothing is stored."""
    return await here.look(session_id, lambda found: usage_with(found, draft))


@router.post("/api/sessions/{session_id}/usage", responses=problems(404))
async def usage_of_draft(here: Here, session_id: SessionId, wanted: schemas.DraftRequest) -> schemas.Usage:
    """The same for a draft that is too long for an address."""
    return await here.look(session_id, lambda found: usage_with(found, wanted.draft))


@router.get(
    "/api/sessions/{session_id}/events",
    response_model=schemas.EventPage,
    responses={**problems(404), 200: {**_STREAM[200], "model": schemas.EventPage}},
)
async def events(
    here: Here,
    studio: TheStudio,
    session_id: SessionId,
    last_event_id: LastEventId = None,
    after: Annotated[int | None, Query(ge=0, lt=2**53)] = None,
    format: Annotated[str, Query(pattern="^(sse|json)$")] = "sse",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> Response:
    """What happens in the session, as server-sent events; with `format=json` a page of what is stored.

    `Last-Event-ID`, or `after`, replays everything behind that number first; otherwise it begins now.
    """
    last = await here.last_event(session_id)
    start = after
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        start = int(last_event_id[:18])
    if format == "json":
        return await _page(here, session_id, start or 0, limit, last)
    # A number from beyond the end is of another session or database: to this reader all is new.
    start = last if start is None else (0 if start > last else start)
    settings = studio.settings
    stream = here.events.follow(session_id, start, settings.heartbeat_seconds, settings.poll_seconds)
    return SeatedStream(stream, studio.streams.take())


async def _page(here: Here, session_id: str, after: int, limit: int, last: int) -> Response:
    found = await here.event_page(session_id, after, limit)
    page = schemas.EventPage(
        events=[
            schemas.StoredEvent(
                id=event.sequence,
                type=str(event.data.get("type", "")),
                at=event.at,
                data=dict(event.data.get("data", {})),
            )
            for event in found
        ],
        last=last,
    )
    return Response(json.dumps(page.model_dump(), ensure_ascii=False), media_type="application/json")


def _stream(studio: Studio, live: LiveTurn, seat: Any, seen: int = 0) -> SeatedStream:
    return SeatedStream(live.follow(seen), seat, ui_stream.HEADERS)
