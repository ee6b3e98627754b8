"""Evidence: what agents need later and prose loses, taken literally from a span, without a model."""

from __future__ import annotations

from compact.core.evidence.actions import Step, StepKind
from compact.core.evidence.ledger import Ledger, extract, merge

__all__ = ["Ledger", "Step", "StepKind", "extract", "merge"]
