"""How well presets do on real conversations: what survives, what it costs, whether it is valid.

Compaction needs nothing from here; this only observes the manager, prompt by prompt.
"""

from __future__ import annotations

from compact.evaluation.loading import Case, Problem, load_cases
from compact.evaluation.results import Outcome, Row, rows_of
from compact.evaluation.run import BASELINES, TAIL, Fits, Trial, evaluate
from compact.evaluation.windows import DEFAULT_WINDOWS, Window, parse_windows

__all__ = [
    "BASELINES",
    "DEFAULT_WINDOWS",
    "TAIL",
    "Case",
    "Fits",
    "Outcome",
    "Problem",
    "Row",
    "Trial",
    "Window",
    "evaluate",
    "load_cases",
    "parse_windows",
    "rows_of",
]
