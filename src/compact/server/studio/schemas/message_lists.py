"""Messages in, messages out, for programs that keep their own conversations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from compact.server.studio.schemas.base import Answer, Asked, Name


class Observed(Asked):
    """What the provider counted for an earlier prompt: that of the first `messages` of this list."""

    messages: Annotated[int, Field(ge=1)]
    input_tokens: Annotated[int, Field(ge=1)]


class MessagesIn(Asked):
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    session: Name | None = None
    """Groups calls of one conversation. Without it the first message does."""
    model: Name | None = None
    window: Annotated[int, Field(ge=512, le=100_000_000)] | None = None
    """In tokens. Without it, the server's setting or the model's own."""
    preset: Name | None = None
    format: Name | None = None
    """Without it, it is recognized."""
    tools: list[dict[str, Any]] | None = None
    system: str | list[dict[str, Any]] | None = None
    observed: Observed | None = None


class MessagesTokens(Answer):
    before: int
    after: int
    window: int


class MessagesOut(Answer):
    messages: list[dict[str, Any]]
    kept: list[int | None]
    """For each of `messages`, which of those sent it is, unchanged; null where it is new or shortened."""
    tools: list[dict[str, Any]] | None
    session: str
    format: str
    compacted: bool
    """Whether this call made a compaction. An earlier one may be in place without it."""
    tokens: MessagesTokens
