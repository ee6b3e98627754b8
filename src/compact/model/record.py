"""A compaction, as an append-only record: what was replaced, with what, and why."""

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
    """The original at this logical position is sent unchanged."""

    position: int


@value
class Cleared:
    """The original at this logical position is sent with these tool outputs cleared."""

    position: int
    call_ids: tuple[str, ...]
    original_tokens: tuple[int, ...] = ()
    handles: tuple[str, ...] = ()
    """The handle for recalling each; part of the text that replaces it."""
    texts: tuple[str, ...] = ()
    """What is left of each, if it was shortened rather than cleared."""


@value
class Injected:
    """One of our own messages is here."""

    message: Message


Entry = Kept | Cleared | Injected


@dataclass(frozen=True, slots=True)
class Record:
    """One compaction. Keys and digests only; bodies live in the store's originals.

    Its `repr` leaves out what is not for reading: hashes, entries, evidence.
    """

    id: str
    session_id: str
    kind: RecordKind
    source: bytes = field(repr=False)
    """Chain hash of the originals up to the last one this record changes."""
    source_length: int
    """How many originals that is."""
    output: bytes = field(repr=False)
    """Chain hash of what replaces them."""
    entries: tuple[Entry, ...] = field(repr=False)
    """What replaces them."""
    policy_hash: str
    parent: str | None = None
    version: int = 1
    revision: int = 0
    """Increased by a restore, and when a parent's span shrinks further: the same source, compacted again."""
    revokes: str | None = None
    step: int = 1
    """Number of this compaction in its session, as in archives and traces."""
    reason: str = ""
    note: str = ""
    strategy: str = ""
    summary: str = ""
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    tokens_before: int = 0
    tokens_after: int = 0
    messages_replaced: int = 0
    outputs_cleared: int = 0
    dropped: int = 0
    """Messages dropped so far without a summary (the count in the window preset's marker)."""
    created_at: float = 0.0
    handle: str = ""
    """The handle for recalling everything that this record's summary or marker replaced."""
    reached: int = 0
    """How many originals the conversation had: this step's archive file ends there. 0 if there is none."""
    reached_key: bytes = field(default=b"", repr=False)
    """Chain hash of those originals."""
    kept: Survival = field(default=UNKNOWN, repr=False)
    """How much of the session's ledger was in the prompt right after this compaction."""

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
    """How far a step's transcript goes: the number of originals, and their chain hash."""

    step: int
    reached: int
    key: bytes


def archived_step(record: Record) -> ArchivedStep | None:
    """None if this record archived nothing, as with an undo."""
    if record.kind is RecordKind.RESTORE or not record.reached:
        return None
    return ArchivedStep(record.step, record.reached, record.reached_key)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What an archive writes before a compaction is committed: the conversation since the previous step."""

    session_id: str
    step: int
    messages: Sequence[Message]
    """Originals that are in no earlier step's transcript."""
    summary: str = ""
    policy: str = ""
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    extra: dict[str, object] = field(default_factory=dict)
    system: Sequence[Message] = ()
    """The leading system messages, which are not part of the history."""
    first: int = 0
    """Position of the first message in the conversation."""
    before: bytes = b""
    """Chain hash of the originals before it."""
    follows: int | None = None
    """The step whose transcript this one continues; None if it begins the conversation."""
