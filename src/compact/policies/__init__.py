"""The five presets. Each file is a preset's numbers and its rule in prose; the core does the work."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from compact.errors import ConfigError
from compact.model.policy import Policy

PRESETS = ("budget", "chat", "window", "agent", "rolling")


def preset(name: str) -> Policy:
    """The policy with that name; raises ConfigError naming the nearest known one."""
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)} (got {name!r}).{hint}", "preset")
    policy: Policy = import_module(f"compact.policies.{name}").POLICY
    return policy
