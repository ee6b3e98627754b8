"""Redaction: nothing leaves the process unredacted."""

from __future__ import annotations

from compact.redaction.redactor import REDACTED, Redactor
from compact.redaction.stream import StreamRedactor

__all__ = ["REDACTED", "Redactor", "StreamRedactor"]
