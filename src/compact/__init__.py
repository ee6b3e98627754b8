"""Compact: the context engine for long-running LLM conversations and agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.errors import CompactError, InsufficientBudget, SessionBusy
    from compact.functions import count_tokens, lint
    from compact.manager import CompactManager
    from compact.model.policy import Policy
    from compact.summarizers.api import summarize

__version__ = "0.1.0"

__all__ = [
    "CompactConfig",
    "CompactError",
    "CompactManager",
    "InsufficientBudget",
    "Policy",
    "SessionBusy",
    "count_tokens",
    "lint",
    "summarize",
]

_HOMES = {
    "CompactConfig": "compact.config",
    "CompactError": "compact.errors",
    "CompactManager": "compact.manager",
    "InsufficientBudget": "compact.errors",
    "Policy": "compact.model.policy",
    "SessionBusy": "compact.errors",
    "count_tokens": "compact.functions",
    "lint": "compact.functions",
    "summarize": "compact.summarizers.api",
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
