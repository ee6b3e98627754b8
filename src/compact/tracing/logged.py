"""Failures as warnings of the logger `compact`, for programs that do not read events."""

from __future__ import annotations

import logging

from compact.model.event import Event, EventName, Fallback

logger = logging.getLogger("compact")

_WHAT_FOLLOWS = {
    Fallback.NONE: "Nothing was compacted",
    Fallback.RETRY: "It is called again",
    Fallback.HALVE: "It is called again, for a summary of half the size",
    Fallback.NEXT_SUMMARIZER: "The next summarizer is called",
    Fallback.BRIEF: "It is called again, for a brief summary",
    Fallback.EMBEDDED: "The embedded summarizer writes the summary",
    Fallback.PRUNING_ONLY: "Old messages leave the prompt without a summary; recall finds them",
    Fallback.KEEP_PREVIOUS: "The earlier summary stays",
}


class LoggedFailures:
    """Logs a warning for each failure, with what follows from it; events are already redacted."""

    immediate = True
    only_events = frozenset({EventName.ERROR})

    def export(self, event: Event) -> None:
        data = event.data
        logger.warning(
            "session %s: %s (%s, fallback %s). %s.",
            event.session_id or "-",
            str(data.get("message", "")).rstrip("."),
            data.get("error_type"),
            data.get("fallback"),
            _WHAT_FOLLOWS.get(data.get("fallback", Fallback.NONE), data.get("fallback")),
        )
