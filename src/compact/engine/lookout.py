"""What a call finds: its session's line brought up to date, its limits, and whether to compact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compact.core.measure import PRIMING
from compact.core.plan import limits_for, make_plan
from compact.core.reports import error_data, insufficient_budget
from compact.core.trigger import Facts, decide
from compact.core.view import Item
from compact.engine.asked import check_asked, check_session
from compact.engine.gauge import Gauge
from compact.engine.given import shell
from compact.engine.line import Line
from compact.engine.session import Session
from compact.engine.telling import decision_data, estimate_data, floor_sum, policy_data
from compact.engine.tools import active_tools, unreferred
from compact.errors import InsufficientBudget
from compact.model.event import EventName, Fallback, Reason
from compact.model.message import Role
from compact.model.plan import Action, Limits, Mode, Plan, Step
from compact.model.policy import Policy
from compact.model.value import entity
from compact.ports import Format, Store
from compact.tracing.stream import EventStream

_SESSIONS_KEPT = 10_000


@entity
class Call:
    """What a caller asked for."""

    session_id: str
    messages: Sequence[Any]
    tools: Any = None
    system: Any = None
    context: str | None = None
    note: str = ""
    reason: Reason | None = None
    """None: decide; MANUAL or END_TURN: asked for."""
    wait: float | None = None
    """Seconds to wait for another compaction of the session; None: the default."""


@entity
class Situation:
    """A call brought up to date: its line, its limits, and what would be sent."""

    call: Call
    session: Session
    line: Line
    format: Format
    head: int
    limits: Limits
    total: int
    """Tokens of what would be sent, as this call found it."""
    breakdown: Mapping[str, int]

    @property
    def moved(self) -> bool:
        """Whether another thread has taken the line further than this caller's list goes."""
        return len(self.line.given.copies) != len(self.call.messages) - self.head


class Lookout:
    """Sessions, sizes and limits; decides and plans, but does nothing."""

    def __init__(
        self,
        *,
        model: str,
        window: int,
        policy: Policy,
        gauge: Gauge,
        store: Store,
        events: EventStream,
        enabled: bool = True,
        format: Format | None = None,
    ) -> None:
        self.model = model
        self.window = window
        self.policy = policy
        self.gauge = gauge
        self.store = store
        self.events = events
        self.enabled = enabled
        self.policy_key = f"{policy.hash}-{window}"
        """A record serves the policy and the window it was made for."""
        self._format = format
        self._policy_told = policy_data(policy)
        self._sessions: dict[str, Session] = {}

    def session(self, session_id: str) -> Session:
        check_session(session_id)
        found = self._sessions.get(session_id)
        if found is None:
            made = Session(session_id, self.store, self.gauge.of_message, self.policy_key)
            found = self._sessions.setdefault(session_id, made)
            while len(self._sessions) > _SESSIONS_KEPT:
                self._sessions.pop(next(iter(self._sessions)))
        return found

    def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def look(self, call: Call, quiet: bool = False, thorough: bool = True) -> Situation:
        """Bring the session up to this list: decode and count what is new, find the record that applies.

        `quiet` is for those who only look: nothing is told, and what the next call compares with stays. Only
        a `thorough` look sees what was edited in place among what a record has replaced already.
        """
        session = self.session(call.session_id)
        check_asked(call.messages, call.tools, call.system, call.context)
        given = call.messages if isinstance(call.messages, list) else list(call.messages)
        with session.lock:
            line, format = session.line_for(given, self._format, thorough, quiet)
            if call.context:
                line = session.with_note(line, call.context)
            if session.retired_tools:
                session.retire(unreferred(session.retired_tools, line.originals_since_base()))
            system, tools = self._fixed(session, call, quiet)
            head = session.leading.head
            fixed = PRIMING + system + tools + head.tokens
            limits = self._limits(session, fixed, line.protected_tokens)
            developer = head.developer_tokens
            breakdown = {
                "system": system + head.tokens - developer,
                "developer": developer,
                "tools_schema": tools,
                "messages": line.total,
            }
            total = fixed + line.total
            return Situation(call, session, line, format, len(head.source), limits, total, breakdown)

    def with_known_fixed(self, call: Call) -> Call:
        """System and tools as last seen, where the caller does not repeat them."""
        session = self.session(call.session_id)
        tools = call.tools if call.tools is not None else (session.tools_key or (None,))[0]
        system = call.system if call.system is not None else (session.system_key or (None,))[0]
        return replace(call, tools=tools, system=system)

    def append(self, call: Call) -> None:
        """Store what is new in the list; nothing else happens."""
        self.look(call, quiet=True)

    def decide(self, now: Situation) -> tuple[bool, Reason]:
        if now.call.reason is not None:
            return True, now.call.reason
        line = now.line
        if now.limits.fixed + line.total < now.limits.trigger and not self.policy.fold_on_turns:
            return False, Reason.BELOW_TRIGGER
        last = line.view[-1] if line.view else None
        waiting = last is not None and last.message.role is Role.USER and not last.message.is_ours
        finished = last is not None and last.message.role is Role.ASSISTANT and not last.message.calls
        facts = Facts(
            total=now.limits.fixed + line.total,
            finished_turns=line.user_turns - (0 if finished else 1),
            summary_version=line.base.version if line.has_summary and line.base is not None else 0,
            newest_user_tokens=last.tokens if last is not None and waiting else 0,
            after_last=line.base.tokens_after if line.base is not None else None,
        )
        return decide(facts, now.limits, self.policy)

    def plan_for(self, now: Situation, items: Sequence[Item], reason: Reason) -> Plan:
        return make_plan(items, now.limits, self.policy, self.gauge.for_plans, reason)

    def plan(self, call: Call) -> Plan:
        """What `prepare` would do now. Nothing happens."""
        now = self.look(call, quiet=True, thorough=False)
        triggered, reason = self.decide(now) if self.enabled else (False, Reason.DISABLED)
        shown = tuple(item.message for item in now.line.view)
        if triggered:
            return replace(self.plan_for(now, now.line.view, reason), messages=shown)
        steps = tuple(Step(Action.KEEP, n, item.tokens) for n, item in enumerate(now.line.view))
        return Plan(
            mode=Mode.NONE,
            reason=reason,
            triggered=False,
            limits=now.limits,
            before=now.total,
            after=now.total,
            steps=steps,
            recent=tuple(range(len(steps))),
            messages=shown,
        )

    def _limits(self, session: Session, fixed: int, protected: int) -> Limits:
        key = (fixed, protected, session.scale)
        if session.limits is None or session.limits[0] != key:
            limits = limits_for(self.policy, self.window, fixed, session.scale)
            if fixed + protected >= limits.trigger:
                # Else every call would compact and none would get below.
                limits = replace(limits, trigger=limits.budget)
            session.limits = (key, limits)
        return session.limits[1]

    def _fixed(self, session: Session, call: Call, quiet: bool) -> tuple[int, int]:
        """Tokens of `system` and `tools`; a change of either is told, because it costs the cache (S2.13)."""
        tools = active_tools(call.tools, session.retired_tools)
        known_system, known_tools = session.system_key, session.tools_key
        if known_system is None or known_system[0] != call.system:
            known_system = (shell(call.system), self.gauge.of_system(call.system))
        if known_tools is None or known_tools[0] != tools:
            known_tools = (shell(tools), self.gauge.of_tools(tools))
        if not quiet:
            changed = []
            # What was not told before is learned now; nothing changed.
            if (
                session.system_key
                and session.system_key[0] is not None
                and session.system_key != known_system
            ):
                changed.append("system prompt")
            if session.tools_key and session.tools_key[0] is not None and session.tools_key != known_tools:
                changed.append("tool list")
            if session.leading.changed():
                changed.append("leading system messages")
            session.system_key, session.tools_key = known_system, known_tools
            session.keep_head()
            for what in changed:
                message = f"The {what} changed: the provider's prompt cache starts anew."
                self.warn(session.id, message, breaks_cache=True)
        return known_system[1], known_tools[1]

    def warn(self, session_id: str, message: str, **more: Any) -> None:
        data = {"severity": "low", "message": message, **more}
        self.events.emit(session_id, EventName.WARNING, data)

    def tell(self, now: Situation) -> None:
        data = estimate_data(self.model, now.limits.real(now.total), self.window, now.breakdown)
        self.events.emit(now.session.id, EventName.TOKEN_ESTIMATE, data)

    def tell_decision(self, now: Situation, plan: Plan | None, reason: Reason) -> None:
        data = decision_data(self._policy_told, plan, reason, now.call.note)
        self.events.emit(now.session.id, EventName.TRIGGER_DECISION, data)

    def tell_error(self, now: Situation, error: InsufficientBudget) -> None:
        data = error_data("InsufficientBudget", str(error), Fallback.NONE)
        self.events.emit(now.session.id, EventName.ERROR, data)

    def check_floor(self, now: Situation) -> None:
        """Tell when what can never shrink reaches the trigger; refuse when it is over the budget."""
        session, limits = now.session, now.limits
        pinned = now.line.protected_tokens
        floor = limits.fixed + pinned
        if session.floor == (floor, limits.budget):
            return
        if floor > limits.budget:
            error = insufficient_budget({"system_and_tools": limits.fixed, "protected": pinned}, limits)
            self.tell_error(now, error)
            raise error
        session.floor = (floor, limits.budget)
        configured = limits_for(self.policy, self.window, limits.fixed, session.scale)
        if floor >= configured.trigger:
            shown = floor_sum(now.breakdown, pinned, configured)
            self.events.emit(session.id, EventName.FLOOR, {"floor": floor, "sum": shown})
            self.warn(
                session.id,
                f"What can never be removed reaches the trigger ({shown}). The trigger is raised to the "
                "budget. Shorten the system prompt, the tools or protected messages, or use a larger window.",
            )
