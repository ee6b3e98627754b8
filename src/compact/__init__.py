"""Compact: the context engine for long-running LLM conversations and agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.errors import (
        CompactError,
        ConfigError,
        FormatError,
        InsufficientBudget,
        MissingExtra,
        SessionBusy,
    )
    from compact.formats.anthropic_cache import with_cache_breakpoints
    from compact.functions import count_tokens, lint
    from compact.manager import CompactManager
    from compact.model.event import Reason
    from compact.model.outcome import Compacted, Failed, Passed, Prepared, Unchanged
    from compact.model.policy import Policy
    from compact.models.overflow import says_too_long
    from compact.ports import Format
    from compact.summarizers.api import summarize

__version__ = "0.1.0"

__all__ = [
    "CompactConfig",
    "CompactError",
    "CompactManager",
    "Compacted",
    "ConfigError",
    "Failed",
    "Format",
    "FormatError",
    "InsufficientBudget",
    "MissingExtra",
    "Passed",
    "Policy",
    "Prepared",
    "Reason",
    "SessionBusy",
    "Unchanged",
    "count_tokens",
    "lint",
    "says_too_long",
    "summarize",
    "with_cache_breakpoints",
]

_HOMES = {
    "CompactConfig": "compact.config",
    "CompactError": "compact.errors",
    "CompactManager": "compact.manager",
    "Compacted": "compact.model.outcome",
    "ConfigError": "compact.errors",
    "Failed": "compact.model.outcome",
    "Format": "compact.ports",
    "FormatError": "compact.errors",
    "InsufficientBudget": "compact.errors",
    "MissingExtra": "compact.errors",
    "Passed": "compact.model.outcome",
    "Policy": "compact.model.policy",
    "Prepared": "compact.model.outcome",
    "Reason": "compact.model.event",
    "SessionBusy": "compact.errors",
    "Unchanged": "compact.model.outcome",
    "count_tokens": "compact.functions",
    "lint": "compact.functions",
    "says_too_long": "compact.models.overflow",
    "summarize": "compact.summarizers.api",
    "with_cache_breakpoints": "compact.formats.anthropic_cache",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: importing the package costs next to nothing.
    if name not in _HOMES:
        raise AttributeError(f"module 'compact' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
