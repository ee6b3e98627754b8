"""What archives need from redaction, which is a separate room."""

from __future__ import annotations

from typing import Any, Protocol


class Redacts(Protocol):
    """What an archive needs from a redactor; there is no default, so that nobody can forget it."""

    enabled: bool

    def text(self, text: str) -> str: ...

    def value(self, value: Any) -> Any: ...

    def is_secret(self, text: str) -> bool: ...
