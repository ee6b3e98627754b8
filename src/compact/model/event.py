"""What the engine tells the world: one ordered stream, closed vocabularies."""

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
    START = "compaction-start"
    PRUNE = "compaction-prune"
    SUMMARIZE = "compaction-summarize"
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


class Fallback(StrEnum):
    """What was done instead when something failed."""

    NONE = "none"
    RETRY = "retry"
    HALVE = "halve"
    BRIEF = "brief"
    PRUNING_ONLY = "pruning-only"
    KEEP_PREVIOUS = "keep-previous"


@value
class Event:
    name: EventName
    session_id: str
    sequence: int
    at: float
    data: Mapping[str, Any]
