"""Evidence: what was said, concluded, done and named, taken literally from a span without a model."""

from __future__ import annotations

from compact.evidence.choose import Choice, Shares
from compact.evidence.ledger import extract, fold

__all__ = ["Choice", "Shares", "extract", "fold"]
