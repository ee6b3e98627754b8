"""What archives need of redaction, which is another room."""

from __future__ import annotations

from typing import Any, Protocol


class Redacts(Protocol):
    """What an archive needs of a redactor; there is no default, so that none can be forgotten."""

    enabled: bool

    def text(self, text: str) -> str: ...

    def value(self, value: Any) -> Any: ...

    def is_secret(self, text: str) -> bool: ...
