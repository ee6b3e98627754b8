"""What is known about models: their limits, and how to talk to them."""

from __future__ import annotations

from compact.models.limits import LimitsResult, LimitsSource, limits_for

__all__ = ["LimitsResult", "LimitsSource", "limits_for"]
