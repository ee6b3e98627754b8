"""The presets. Each file has a preset's numbers and its rule in prose; the core does the work.

Every list of presets, in help, settings, chat and studio, comes from `PRESETS`.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from compact.errors import ConfigError, shown

if TYPE_CHECKING:
    from compact.model.policy import Policy  # It loads pydantic, which a list of names does not need.

PRESETS = ("budget", "chat", "window", "agent", "rolling")


def preset(name: str) -> Policy:
    """The policy with that name; raises ConfigError with the closest match."""
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)} (got {shown(name)}).{hint}", "preset")
    policy: Policy = import_module(f"compact.policies.{name}").POLICY
    return policy


def rule(name: str) -> str:
    """What a preset does, in one sentence: the first line of its file."""
    return (import_module(f"compact.policies.{name}").__doc__ or "").partition("\n")[0]
