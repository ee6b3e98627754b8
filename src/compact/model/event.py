"""What the engine reports: one ordered stream with closed vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from compact.model.value import value


class EventName(StrEnum):
    TOKEN_ESTIMATE = "compact.token_estimate"
    TRIGGER_DECISION = "compact.trigger_decision"
    SUMMARY_CREATED = "compact.summary_created"
    PRUNED_MESSAGES = "compact.pruned_messages"
    ARCHIVAL = "compact.archival"
    ERROR = "compact.error"
    WARNING = "compact.warning"
    FLOOR = "compact.floor"
    RESTORED = "compact.restored"
    RECALL = "compact.recall"
    LEASE = "compact.lease"
    TITLE = "session-title"
    SETTINGS = "session-settings"
    DOOR = "session-event"
    """What a front door reports about a session to those who follow it; only in the store."""
    START = "compaction-start"
    PRUNE = "compaction-prune"
    SUMMARIZE = "compaction-summarize"
    PROGRESS = "compaction-progress"
    CHECK = "compaction-check"
    COMPLETE = "compaction-complete"
    FAILED = "compaction-error"
    OVERFLOW = "context-overflow"


class Reason(StrEnum):
    """Why a compaction ran, or did not."""

    OVERFLOW = "overflow"
    MANUAL = "manual"
    TURNS = "turns"
    END_TURN = "end-turn"
    BELOW_TRIGGER = "below-trigger"
    NO_GROWTH = "no-growth"
    NOTHING_TO_SHRINK = "nothing-to-shrink"
    NOT_SMALLER = "not-smaller"
    LONG_MESSAGE = "long-message"
    DISABLED = "disabled"
    BUSY = "busy"
    ABORTED = "aborted"
    FAILED = "failed"
    """A compaction failed, and the prompt fits unchanged; the outcome names the stage and the cause."""
    PASSED = "passed"
    """Preparing failed, and the caller asked for the unchanged prompt (`on_error="pass"`)."""


class Fallback(StrEnum):
    """What was done instead when something failed."""

    NONE = "none"
    RETRY = "retry"
    HALVE = "halve"
    NEXT_SUMMARIZER = "next-summarizer"
    BRIEF = "brief"
    EMBEDDED = "embedded"
    PRUNING_ONLY = "pruning-only"
    KEEP_PREVIOUS = "keep-previous"


SCHEMA_VERSION = 1
"""Version of the envelope and of all event data. A version may gain fields; none is removed or changed."""


@value
class Event:
    name: EventName
    session_id: str
    """Empty if it concerns no session: settings, exporters."""
    sequence: int
    """Rises by one with each event of a manager."""
    at: float
    """Seconds since 1970; for something that took time, when it ended."""
    data: Mapping[str, Any]
    step: int = 0
    """The number of the compaction it belongs to; 0 outside a compaction."""
    duration: float | None = None
    """Seconds, for something that took time."""

    def as_dict(self) -> dict[str, Any]:
        """The envelope that leaves the process, as docs/events.schema.json describes it."""
        fields: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "name": self.name.value,
            "session_id": self.session_id,
            "sequence": self.sequence,
            "at": self.at,
            "step": self.step,
        }
        if self.duration is not None:
            fields["duration"] = self.duration
        fields["data"] = self.data
        return fields
