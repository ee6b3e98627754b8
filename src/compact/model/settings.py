"""What policies and settings have in common: frozen, and checked however they come about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with these changes, checked like new settings; pydantic's own would take any."""
        copied = super().model_copy(deep=deep)
        if not update:
            return copied
        return type(self)(**{name: getattr(copied, name) for name in copied.model_fields_set} | {**update})
