"""Recall, figures, events and imports."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from compact.server.studio.schemas.base import Answer, Asked
from compact.server.studio.schemas.compaction import Counted, KindSurvival
from compact.server.studio.schemas.sessions import Usage


class RecallHit(Answer):
    position: int
    role: str
    text: str
    handles: list[str]
    score: float | None


class RecallResult(Answer):
    hits: list[RecallHit]


class Original(Answer):
    handle: str
    position: int
    text: str
    tokens: int


class Figure(Answer):
    turn: int
    position: int
    at: float | None
    tokens: int
    """What was sent for this reply."""
    tokens_without: int
    """What the whole history took there."""
    sent: bool
    """False for a reply that came from elsewhere, such as an imported one: nothing was sent for it here."""
    cost: float | None
    cached_tokens: int
    compaction: int | None


class SurvivalFigure(Answer):
    step: int
    version: int
    kinds: list[KindSurvival]
    words: Counted | None
    conclusions: Counted | None
    values: Counted | None


class FigureTotals(Answer):
    turns: int
    compactions: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float | None
    tokens_saved: int
    cost_saved: float | None


class Figures(Answer):
    turns: list[Figure]
    totals: FigureTotals
    survival: list[SurvivalFigure]
    """Of the newest compactions."""
    now: list[KindSurvival]
    """Against the prompt as it is now: its `missing` is what the model cannot see any more."""
    prices_known: bool


class StoredEvent(Answer):
    id: int
    type: str
    at: float
    data: dict[str, Any]


class EventPage(Answer):
    events: list[StoredEvent]
    last: int


class ImportRequest(Asked):
    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100_000)]
    """Turns in any format that Compact reads."""
    again: bool = False
    """Append also what the session holds already."""


class Imported(Answer):
    imported: int
    usage: Usage
