"""What a call reports about itself on the event stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.core.event_data import (
    decision_data,
    error_data,
    estimate_data,
    floor_sum,
    hopeless_data,
    insufficient_budget,
    overflow_data,
    policy_data,
    start_data,
)
from compact.engine.planner import Planner
from compact.engine.reader import Situation
from compact.errors import InsufficientBudget
from compact.model.event import EventName, Fallback, Reason
from compact.model.plan import Plan
from compact.tracing.stream import EventStream


class Reporter:
    def __init__(self, events: EventStream, model: str, planner: Planner) -> None:
        self.events = events
        self._model = model
        self._planner = planner
        self._policy = policy_data(planner.policy)

    def warn(self, session_id: str, message: str, **more: Any) -> None:
        data = {"severity": "low", "message": message, **more}
        self.events.emit(session_id, EventName.WARNING, data)

    def estimate(self, now: Situation) -> None:
        for what in now.changed:
            message = f"The {what} changed: the provider's prompt cache starts over."
            self.warn(now.session.id, message, breaks_cache=True)
        data = estimate_data(self._model, now.total, self._planner.window, now.breakdown, now.limits)
        self.events.emit(now.session.id, EventName.TOKEN_ESTIMATE, data)

    def decision(self, now: Situation, plan: Plan | None, reason: Reason) -> None:
        leading = now.head_messages + bool(now.call.system)
        data = decision_data(self._policy, plan, reason, now.call.note, leading)
        self.events.emit(now.session.id, EventName.TRIGGER_DECISION, data)

    def floor(self, now: Situation) -> None:
        """Warn if what can never shrink reaches the trigger; raise an error if it exceeds the budget."""
        session, limits = now.session, now.limits
        pinned = now.history.view.pinned_tokens
        floor = limits.fixed + pinned
        if session.floor == (floor, limits.budget):
            return
        if floor > limits.budget:
            raise self.hopeless(now, self._planner.least(now.history, limits))
        session.floor = (floor, limits.budget)
        configured = self._planner.configured_limits(limits.fixed, session.memory.scale)
        if floor >= configured.trigger:
            shown = floor_sum(now.breakdown, pinned, configured)
            self.events.emit(session.id, EventName.FLOOR, {"floor": floor, "sum": shown})
            self.warn(
                session.id,
                f"What can never be removed reaches the trigger ({shown}). The trigger is raised to the "
                "budget. Shorten the system prompt, the tools or protected messages, or use a larger window.",
            )

    def hopeless(self, now: Situation, parts: Mapping[str, int]) -> InsufficientBudget:
        """Nothing can make this prompt fit: report that, and return the error to raise (S2.18)."""
        error = insufficient_budget(parts, now.limits)
        step = now.session.records.steps + 1
        data = {**decision_data(self._policy, None, Reason.OVERFLOW, now.call.note), "triggered": True}
        for name, details in (
            (EventName.TRIGGER_DECISION, data),
            (EventName.START, start_data(now.total, now.limits, Reason.OVERFLOW)),
            (EventName.ERROR, error_data("InsufficientBudget", str(error), Fallback.NONE)),
            (EventName.OVERFLOW, overflow_data(now.total, now.limits)),
            (EventName.FAILED, hopeless_data(error, now.history.view.items, now.limits)),
        ):
            self.events.emit(now.session.id, name, details, 0 if details is data else step)
        return error
