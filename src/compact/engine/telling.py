"""What a call reports about itself, in the vocabulary of the event stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.model.event import Reason
from compact.model.plan import Limits, Mode, Plan
from compact.model.policy import Policy


def estimate_data(model: str, total: int, window: int, breakdown: Mapping[str, int]) -> dict[str, Any]:
    return {
        "model": model,
        "t_est": total,
        "max_tokens": window,
        "usage_pct": round(100 * total / window, 2),
        "breakdown": breakdown,
    }


def policy_data(policy: Policy) -> dict[str, Any]:
    return {
        "trigger_pct": policy.trigger_pct,
        "hard_cap_buffer": policy.hard_cap_buffer,
        "strategy": policy.strategy,
    }


def decision_data(policy: Mapping[str, Any], plan: Plan | None, reason: Reason, note: str) -> dict[str, Any]:
    triggered = plan is not None and (plan.mode is not Mode.NONE or plan.insufficient is not None)
    data: dict[str, Any] = {
        "triggered": triggered,
        "reason": (plan.reason if plan is not None else reason).value,
        "policy": policy,
    }
    if note:
        data["note"] = note
    if plan is not None and triggered:
        data["kept"] = {
            "pinned": plan.kept_counts.pinned,
            "recent_turns": plan.kept_counts.recent_turns,
            "tool_pairs": plan.kept_counts.tool_pairs,
        }
        data["pruned_count"] = len(plan.replaced) or len(plan.cleared)
    return data


def floor_sum(fixed: Mapping[str, int], pinned: int, limits: Limits) -> str:
    """The incompressible floor as a sum that a person can check."""
    named = {"system": fixed["system"], "developer": fixed["developer"], "tools": fixed["tools_schema"]}
    shown = " + ".join(f"{name} {value:,}" for name, value in {**named, "protected": pinned}.items() if value)
    floor = sum(named.values()) + pinned
    return f"{shown} = {floor:,} tokens; trigger {limits.trigger:,}, budget {limits.budget:,}"
