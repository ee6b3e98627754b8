"""Why something is not done now, as a problem for the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.errors import (
    ChatError,
    CompactError,
    ConfigError,
    FormatError,
    HistoryGone,
    InsufficientBudget,
    NotFound,
    SessionBusy,
    StoreError,
)
from compact.server.http.problems import Problem

OPTIMIZING = "Session is currently being optimized. Please wait a moment."
_REPLYING = "A reply is being written in this session. Wait for its end, or stop it."


def compacting_now() -> Problem:
    return Problem(409, "session-compacting", OPTIMIZING, retry_after=1)


def replying_now() -> Problem:
    return Problem(409, "session-replying", _REPLYING, retry_after=1)


def missing(session_id: str) -> Problem:
    return Problem(404, "no-session", f"There is no session {session_id[:80]!r}.")


def as_problem(error: CompactError) -> Problem:
    match error:
        case SessionBusy():
            return compacting_now()
        case NotFound():
            return Problem(404, "not-found", str(error))
        case InsufficientBudget():
            return Problem(422, "insufficient-budget", str(error))
        case ConfigError() | FormatError():
            return Problem(422, "not-valid", _unchanged(str(error)), **_field(error))
        case HistoryGone():
            return missing(error.session_id)
        case StoreError():
            return Problem(503, "store", str(error), retry_after=5)
        case ChatError():
            return Problem(502, "model", str(error))
        case _:
            return Problem(422, "refused", str(error))


def _unchanged(detail: str) -> str:
    """The engine checks a setting for whoever asks; here it is a change that was not made."""
    return detail if "othing was" in detail else f"{detail.rstrip('.')}. Nothing was changed."


def _field(error: CompactError) -> Mapping[str, Any]:
    found = getattr(error, "field", None)
    return {"field": found} if found else {}
