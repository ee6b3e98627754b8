"""Compactions: asking for one, its record, its undo."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compact.server.studio.schemas.base import Answer, Asked
from compact.server.studio.schemas.sessions import Usage


class CompactRequest(Asked):
    focus: Annotated[str, Field(max_length=10_000)] = ""
    note: Annotated[str, Field(max_length=10_000)] = ""
    mode: Literal["auto", "prune"] = "auto"


class Counted(Answer):
    kept: int
    total: int


class Survived(Answer):
    """What of the ledger is in the prompt; None where nothing of the kind was said."""

    words: Counted | None
    conclusions: Counted | None
    values: Counted | None


class Gone(Answer):
    text: str
    position: int


class KindSurvival(Answer):
    """How much of one kind of thing a prompt still holds; `missing` lists the best few of the rest."""

    kind: str
    title: str
    kept: int
    total: int
    missing: list[Gone]
    missing_count: int


class SectionItem(Answer):
    text: str
    positions: list[int]
    label: str | None = None


class Section(Answer):
    title: str
    kind: str
    items: list[SectionItem]


class Record(Answer):
    step: int
    version: int
    kind: Literal["summary", "prune", "trim", "clear", "restore"]
    reason: str
    note: str
    created_at: float
    duration: float | None
    tokens_before: int
    tokens_after: int
    messages_replaced: int
    outputs_cleared: int
    first_position: int | None
    last_position: int | None
    summary: str
    sections: list[Section]
    survival: Survived | None
    summarizer: str | None
    fallback: str | None
    cost: float | None
    in_force: bool
    folded_into: int | None
    """The version of the summary that it became part of."""
    undone: bool
    undoable: bool
    """False where it was undone, or where the messages that it replaced were edited or removed since."""
    warnings: list[str]
    handle: str | None


class RecordList(Answer):
    records: list[Record]


class CompactResult(Answer):
    outcome: Literal["compacted", "unchanged", "failed"]
    reason: str
    record: Record | None
    usage: Usage


class Cancelled(Answer):
    cancelled: bool


class RestorePreview(Answer):
    messages_back: int
    outputs_back: int
    summary_after: int
    """Tokens of an earlier summary that is in force again."""
    tokens_now: int
    tokens_after: int
    compacts_again: bool
    preset_after: str
    """Another one where the preset was chosen together with what is undone."""
    steps_undone: list[int]


class Restored(Answer):
    usage: Usage
