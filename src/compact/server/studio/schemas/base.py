"""What all requests and answers share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from compact.server.http.sound_text import with_sound_texts

Name = Annotated[str, Field(min_length=1, max_length=200)]
Title = Annotated[str, Field(max_length=200)]


class Answer(BaseModel):
    """Something the server says; fields may be added."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _sound(cls, given: Any) -> Any:
        """What a session holds can be shown, whatever its model sent."""
        return with_sound_texts(given)


class Asked(BaseModel):
    """Something a client says; a field that is not known is an error, not a wish."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemDetail(Answer):
    """application/problem+json. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
