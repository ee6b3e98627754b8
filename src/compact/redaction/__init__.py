"""Redaction: nothing leaves the process unredacted."""

from __future__ import annotations

from compact.model.prose import REDACTED
from compact.redaction.redactor import Redactor
from compact.redaction.stream import StreamRedactor

__all__ = ["REDACTED", "Redactor", "StreamRedactor"]
