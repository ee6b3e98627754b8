"""No archive, by the user's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.model.event import Event
from compact.model.record import Transcript


class NoArchive:
    """Writes nothing and says so: the location is empty."""

    name = "none"

    def write(self, transcript: Transcript) -> str:
        return ""

    def append_event(self, session_id: str, event: Event | Mapping[str, Any]) -> None:
        return None
