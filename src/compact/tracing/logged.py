"""Failures as warnings of the logger `compact`, for programs that read no events."""

from __future__ import annotations

import logging

from compact.model.event import Event, EventName

logger = logging.getLogger("compact")


class LoggedFailures:
    """Each step down the summarizer's ladder is a warning; events come redacted."""

    immediate = True
    only_events = frozenset({EventName.ERROR})

    def export(self, event: Event) -> None:
        data = event.data
        logger.warning(
            "session %s: %s (%s). Fallback: %s.",
            event.session_id or "-",
            str(data.get("message", "")).rstrip("."),
            data.get("error_type"),
            data.get("fallback"),
        )
