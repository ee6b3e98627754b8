"""A compaction, as an append-only record: what was replaced, by what, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from compact.model.message import Message
from compact.model.sections import UNKNOWN, Section, Survival, sections_of
from compact.model.summary import Evidence
from compact.model.value import value


class RecordKind(StrEnum):
    COMPACTION = "compaction"
    PRUNE = "prune"
    TRIM = "trim"
    CLEAR = "clear"
    RESTORE = "restore"


@value
class Kept:
    """The original at this logical position goes out as it is."""

    position: int


@value
class Cleared:
    """The original at this logical position goes out with these tool outputs cleared."""

    position: int
    call_ids: tuple[str, ...]
    original_tokens: tuple[int, ...] = ()
    handles: tuple[str, ...] = ()
    """Under which each can be recalled; part of the text that stands in its place."""
    texts: tuple[str, ...] = ()
    """What is left of each, where it was shortened and not cleared."""


@value
class Injected:
    """A message of our own stands here."""

    message: Message


Entry = Kept | Cleared | Injected


@dataclass(frozen=True, slots=True)
class Record:
    """One compaction. Keys and digests only; bodies live in the store's originals."""

    id: str
    session_id: str
    kind: RecordKind
    source: bytes
    """Chain hash of the originals up to the last one this record changes."""
    source_length: int
    """How many originals that is."""
    output: bytes
    """Chain hash of what stands in their place."""
    entries: tuple[Entry, ...]
    """What stands in their place."""
    policy_hash: str
    parent: str | None = None
    version: int = 1
    revision: int = 0
    """Raised by a restore, and where a parent's span shrinks further: the same source, compacted again."""
    revokes: str | None = None
    step: int = 1
    """Number of this compaction in its session, as archives and traces name it."""
    reason: str = ""
    note: str = ""
    strategy: str = ""
    summary: str = ""
    evidence: tuple[Evidence, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0
    messages_replaced: int = 0
    outputs_cleared: int = 0
    dropped: int = 0
    """Messages gone so far without a summary (the count in the window preset's marker)."""
    created_at: float = 0.0
    handle: str = ""
    """Under which all that this record's summary or marker stands for can be recalled."""
    reached: int = 0
    """How many originals the conversation had: this step's archive file ends there. 0 where it has none."""
    reached_key: bytes = b""
    """Chain hash of those originals."""
    kept: Survival = UNKNOWN
    """What of the session's ledger was in the prompt right after this compaction."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """The summary by its headings."""
        return sections_of(self.summary)


def standing(records: Sequence[Record]) -> list[Record]:
    """The compactions that were not undone, oldest first."""
    undone = {record.revokes for record in records}
    return [r for r in records if r.kind is not RecordKind.RESTORE and r.id not in undone]


@value
class ArchivedStep:
    """Up to where a step's transcript goes: how many originals, and their chain hash."""

    step: int
    reached: int
    key: bytes


def archived_step(record: Record) -> ArchivedStep | None:
    """None where this record archived nothing, as an undo does."""
    if record.kind is RecordKind.RESTORE or not record.reached:
        return None
    return ArchivedStep(record.step, record.reached, record.reached_key)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What an archive writes before a compaction is committed: the conversation since the step before."""

    session_id: str
    step: int
    messages: Sequence[Message]
    """Originals, none of which an earlier step's transcript holds."""
    summary: str = ""
    policy: str = ""
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    extra: dict[str, object] = field(default_factory=dict)
    system: Sequence[Message] = ()
    """The leading system messages, which are no part of the history."""
    first: int = 0
    """Position of the first message in the conversation."""
    before: bytes = b""
    """Chain hash of the originals before it."""
    follows: int | None = None
    """The step whose transcript this one goes on from; None where it begins the conversation."""
