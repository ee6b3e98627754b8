"""What all routes share: whose request it is, and how problems are documented."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from compact.server.studio import schemas
from compact.server.studio.studio import Studio
from compact.server.studio.workspace import Workspace


async def studio_of(request: Request) -> Studio:
    # Not for waiting: FastAPI would run a plain function in a thread.
    found: Studio = request.app.state.studio
    return found


async def workspace_of(request: Request) -> Workspace:
    """The tenant that the guard found by its token."""
    studio = await studio_of(request)
    return await studio.workspace(request.scope["state"]["tenant"])


TheStudio = Annotated[Studio, Depends(studio_of)]
Here = Annotated[Workspace, Depends(workspace_of)]
_SLASH = "\ue02f"
"""Stands for a slash in a name until the path is divided: a private character, which nobody types."""


def path_with_names(raw: bytes) -> str:
    """A path as it was sent, decoded, with the slashes in its names still hidden."""
    return unquote(re.sub("%2f", _SLASH, raw.decode("latin-1"), flags=re.IGNORECASE))


def whole_name(part: str) -> str:
    return part.replace(_SLASH, "/")


SessionId = Annotated[
    str,
    Path(max_length=200, description="The session.", examples=["20261115-231100-1f2e3d4c"]),
    AfterValidator(whole_name),
]
Position = Annotated[int, Path(ge=0, le=10_000_000, description="Of a message, from 0.")]
Step = Annotated[int, Path(ge=0, le=1_000_000, description="The number of a compaction.")]

_TEXTS = {
    401: "The token is missing or wrong.",
    404: "There is no such session, compaction, message or space.",
    409: "The session is busy: a compaction or a reply is under way.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The request is not valid.",
    429: "Too many requests.",
    503: "The store cannot be used now, or the server is full.",
}


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Answers that a path may give instead."""
    return {
        code: {
            "model": schemas.ProblemDetail,
            "description": _TEXTS[code],
            "content": {"application/problem+json": {}},
        }
        for code in (*codes, 422, 401, 429, 503)
    }
