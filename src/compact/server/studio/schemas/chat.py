"""Messages and the chat."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compact.server.studio.schemas.base import Answer, Asked, Name

State = Literal["sent", "summarized", "cleared", "dropped"]


class Message(Answer):
    """A message as the AI SDK's UI shows it: an assistant message carries the results of its calls.

    A reply of several steps is several messages with the same `turn`.
    """

    id: str
    position: int
    last_position: int
    turn: int
    role: Literal["user", "assistant", "system"]
    created_at: float | None
    tokens: int
    state: State
    pinned: bool
    finish_reason: str | None
    error: str | None
    model: str | None
    usage: dict[str, Any] | None
    cost: float | None
    duration: float | None
    parts: list[dict[str, Any]]


class MessageList(Answer):
    messages: list[Message]
    total: int
    first: int | None
    last: int | None


class ChatRequest(BaseModel):
    """What `useChat` sends. Of `messages` the last one counts: the server has the others."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Name
    messages: Annotated[list[dict[str, Any]], Field(max_length=100_000)] | None = None
    message: dict[str, Any] | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: str | None = None


class EditRequest(Asked):
    text: str


class DraftRequest(Asked):
    draft: str


class PinRequest(Asked):
    pinned: bool


class Stopped(Answer):
    stopped: bool
