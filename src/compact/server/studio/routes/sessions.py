"""Spaces and sessions."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator

from compact.ports import Space
from compact.server.http.problems import Problem
from compact.server.studio import listing, schemas
from compact.server.studio.routes.common import Here, SessionId, TheStudio, problems, whole_name

router = APIRouter(tags=["sessions"])
SpaceName = Annotated[str, Path(min_length=1, max_length=200), AfterValidator(whole_name)]


@router.get("/api/spaces", responses=problems())
async def spaces(here: Here) -> schemas.SpaceList:
    found = await asyncio.to_thread(here.store.spaces)
    return schemas.SpaceList(spaces=[_shown(space) for space in found])


@router.put("/api/spaces/{name}", responses=problems())
async def put_space(
    here: Here, studio: TheStudio, name: SpaceName, change: schemas.SpaceChange
) -> schemas.Space:
    """Make a space, or change it. Its sessions use its custom instructions and its preset."""
    studio.check_preset(change.preset)
    settings = {"preset": change.preset} if change.preset else {}
    space = await asyncio.to_thread(
        here.store.put_space, name, change.title, change.custom_instructions, settings
    )
    here.reopen_space(name)
    return _shown(space)


@router.delete("/api/spaces/{name}", status_code=204, responses=problems(404))
async def delete_space(here: Here, name: SpaceName) -> None:
    """Its sessions stay, in none."""
    if not await asyncio.to_thread(here.store.delete_space, name):
        raise Problem(404, "no-space", f"There is no space {name!r}.")
    here.reopen_space(name)


@router.get("/api/sessions", responses=problems())
async def sessions(
    here: Here,
    space: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[str, Query(max_length=500, description="Part of a title or an id.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> schemas.SessionList:
    """Newest first."""
    return await listing.listed(here, space, q, limit, cursor)


@router.post("/api/sessions", status_code=201, responses=problems(404))
async def new_session(here: Here, studio: TheStudio, wanted: schemas.NewSession) -> schemas.Session:
    """With `demo` it begins with a long sample conversation that is about to be compacted."""
    studio.check_preset(wanted.preset)
    studio.check_model(wanted.model)
    session_id = await listing.created(here, wanted)
    return await listing.one(here, session_id)


@router.get("/api/sessions/{session_id}", responses=problems(404))
async def session(here: Here, session_id: SessionId) -> schemas.Session:
    return await listing.one(here, session_id)


@router.patch("/api/sessions/{session_id}", responses=problems(404, 409))
async def change_session(
    here: Here, studio: TheStudio, session_id: SessionId, change: schemas.SessionChange
) -> schemas.Session:
    studio.check_preset(change.preset)
    studio.check_model(change.model)
    await listing.changed(here, session_id, change)
    return await listing.one(here, session_id)


@router.delete("/api/sessions/{session_id}", status_code=204, responses=problems(404))
async def delete_session(here: Here, session_id: SessionId) -> None:
    """With all its messages, compactions and events. A reply that is being written stops."""
    await here.delete(session_id)


def _shown(space: Space) -> schemas.Space:
    settings: Any = space.settings
    return schemas.Space(
        name=space.name,
        title=space.title,
        custom_instructions=space.custom_instructions,
        preset=settings.get("preset"),
    )
