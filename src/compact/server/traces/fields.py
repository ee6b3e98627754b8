"""Fields of trace events as senders write them, checked one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.server.http.sound_text import sound_text
from compact.server.traces.moments import micros

MAX_ID = 512
_STATUSES = {"ok": "ok", "error": "error", "unset": None, "": None, "success": "ok", "failed": "error"}


class BadBody(Exception):
    """The request is unusable as a whole; `status` is the HTTP status to return."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def identity(raw: Mapping[str, Any], key: str) -> str:
    value = optional_identity(raw, key)
    if value is None:
        raise ValueError(f"{key} is missing")
    return value


def optional_identity(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"{key} must be text")
    if len(value) > MAX_ID:
        raise ValueError(f"{key} is longer than {MAX_ID} characters")
    return sound_text(value)


def label(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(f"{key} must be text")
    return sound_text(value)


def moment(raw: Mapping[str, Any], key: str) -> int | None:
    try:
        return micros(raw.get(key))
    except (ValueError, OverflowError):
        raise ValueError(f"{key} is not a time: {str(raw.get(key))[:60]!r}") from None


def status(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and value.lower() in _STATUSES:
        return _STATUSES[value.lower()]
    raise ValueError('status must be "ok" or "error"')


def mapping(*values: Any) -> dict[str, Any] | None:
    """Several objects as one; a value that is not an object goes under `value`."""
    merged: dict[str, Any] = {}
    for value in values:
        if value is not None:
            merged |= value if isinstance(value, Mapping) else {"value": value}
    return merged or None
