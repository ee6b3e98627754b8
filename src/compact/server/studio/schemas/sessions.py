"""Spaces and sessions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from compact.server.studio.schemas.base import Answer, Asked, Name, Title


class Space(Answer):
    name: str
    title: str
    custom_instructions: str
    preset: str | None


class SpaceList(Answer):
    spaces: list[Space]


class SpaceChange(Asked):
    title: Title = ""
    custom_instructions: Annotated[str, Field(max_length=100_000)] = ""
    preset: Name | None = None


class UsageParts(Answer):
    system: int
    tools: int
    summary: int
    messages: int


class Usage(Answer):
    """The prompt that would be sent now. `over_by` is what it exceeds the budget by."""

    tokens: int
    window: int
    window_source: str
    trigger: int
    budget: int
    reserve: int
    percent: float
    exact: bool
    margin: float
    over_by: int
    parts: UsageParts
    compacts_next: bool
    draft: int = 0
    """Tokens of the draft, where one was given; they are in `tokens` too."""


class Session(Answer):
    id: str
    title: str
    space: str | None
    preset: str
    model: str
    created_at: float
    updated_at: float
    message_count: int
    compaction_count: int
    last_compaction_at: float | None
    compacting: bool
    streaming: bool
    usage: Usage | None
    draft: str = ""
    """A message that was sent and never answered. From here on: only where one session is asked for."""
    summary: str | None = None
    summary_updated_at: float | None = None
    system: str = ""
    memory: str = ""
    policy: dict[str, Any] | None = None
    """The numbers that are in force: the preset's, the configuration's and the session's own."""
    policy_changes: dict[str, Any] = Field(default={})
    """What this session sets for itself."""


class SessionList(Answer):
    sessions: list[Session]
    next_cursor: str | None


class NewSession(Asked):
    title: Title | None = None
    space: Name | None = None
    preset: Name | None = None
    model: Name | None = None
    policy: dict[str, Any] | None = None
    system: Annotated[str, Field(max_length=100_000)] | None = None
    memory: Annotated[str, Field(max_length=100_000)] | None = None
    demo: bool = False


class SessionChange(Asked):
    """What is not given stays. An empty `space` takes the session out of its space."""

    title: Title | None = None
    space: Annotated[str, Field(max_length=200)] | None = None
    preset: Name | None = None
    model: Name | None = None
    policy: dict[str, Any] | None = None
    system: Annotated[str, Field(max_length=100_000)] | None = None
    memory: Annotated[str, Field(max_length=100_000)] | None = None
    """Working memory: enters the prompt as conversation, never as an edit of the system prompt."""
