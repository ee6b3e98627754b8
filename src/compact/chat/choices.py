"""A preset or policy that was chosen together with a compaction: undoing the one undoes the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_NAMES = ("preset", "policy")


def choice_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is chosen now; None where the session leaves it to its space."""
    return {name: settings.get(name) for name in _NAMES}


def with_choice(settings: Mapping[str, Any], step: int, before: Mapping[str, Any]) -> dict[str, Any]:
    """The choices to remember: with the compaction of this step, what is chosen now took the place of
    `before`."""
    made = {"before": dict(before), "after": choice_in(settings)}
    return {**settings.get("choices", {}), str(step): made}


def choice_without(settings: Mapping[str, Any], steps: Iterable[int]) -> dict[str, Any]:
    """What is chosen once these compactions are undone. What was chosen later stays."""
    found = choice_in(settings)
    for step in sorted(steps, reverse=True):
        made = settings.get("choices", {}).get(str(step))
        if made is not None and made["after"] == found:
            found = made["before"]
    return found
