"""Plans, and what other presets would do."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from compact.server.studio.schemas.base import Answer, Asked, Name, Title
from compact.server.studio.schemas.compaction import KindSurvival
from compact.server.studio.schemas.sessions import UsageParts


class PlanRequest(Asked):
    preset: Name | None = None
    policy: dict[str, Any] | None = None
    now: bool = False
    """What `compact` would do at once; else what the next message would bring."""
    preview: bool = False
    """Also write the summary, as the embedded summarizer would."""


class PlanLimits(Answer):
    window: int
    budget: int
    trigger: int
    summary: int


class PlanStep(Answer):
    position: int | None
    action: str
    tokens: int
    saves: int
    role: str | None
    tool: str | None
    detail: str


class Plan(Answer):
    triggered: bool
    reason: str
    mode: str
    before: int
    after: int
    limits: PlanLimits
    steps: list[PlanStep]
    warnings: list[str]
    summary_preview: str | None


class ColumnRequest(Asked):
    preset: Name | None = None
    policy: dict[str, Any] | None = None
    label: Title | None = None


class WhatIfRequest(Asked):
    columns: Annotated[list[ColumnRequest], Field(min_length=1, max_length=6)]


class ApplyRequest(Asked):
    at_message: int
    preset: Name | None = None
    policy: dict[str, Any] | None = None


class Fate(Answer):
    position: int
    action: str
    tokens_before: int
    tokens_after: int


class Column(Answer):
    label: str
    preset: str | None
    policy: dict[str, Any]
    mode: str
    reason: str
    tokens_before: int
    tokens_after: int
    parts: UsageParts
    """Of `tokens_after`."""
    percent_after: float
    cost_next: float | None
    cached_tokens: int
    """What stays as it is at the front of the prompt: system, tools, messages before the first change."""
    turns_until_next: int | None
    """Until the next compaction, at this session's pace."""
    summarizer: str | None
    """Who would write the summary; None where nobody is asked."""
    cost_to_do: float | None
    """0 where no model is asked, None where its price is not known."""
    seconds_to_do: float | None
    """Of the trial; where a model writes, the median of this session's own compactions."""
    cost_ten_turns: float | None
    survival_kinds: list[KindSurvival]
    fates: list[Fate]
    summary: str
    problem: str | None


class WhatIf(Answer):
    at_message: int
    now: Column
    columns: list[Column]
