"""What is known of models: their limits, and how to speak to them."""

from __future__ import annotations

from compact.models.limits import LimitsResult, LimitsSource, limits_for

__all__ = ["LimitsResult", "LimitsSource", "limits_for"]
