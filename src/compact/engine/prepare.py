"""The engine: what happens between a caller's list and the prompt that goes out."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from compact.core.flow import compaction
from compact.core.job import Job
from compact.core.layers import CONTINUE_LINE, FIRST_LINE, TRIGGER_LINE, tagged
from compact.core.measure import (
    PRIMING,
    ROLE_OVERHEAD,
    measure_message,
    measure_part,
    measure_system,
    measure_tools,
)
from compact.core.plan import Sizes, limits_for, make_plan
from compact.core.reports import SUMMARY_NOT_UPDATED, insufficient_budget
from compact.core.trigger import Facts, decide
from compact.core.view import Item
from compact.engine.drivers import NeedLease
from compact.engine.line import Line, shell
from compact.engine.output import encode_view, stable_indexes, stripped
from compact.engine.session import Session
from compact.engine.telling import decision_data, estimate_data, floor_sum
from compact.engine.tools import active_tools, discovered_names, unreferred
from compact.errors import SessionBusy
from compact.formats import by_name
from compact.formats.tools import tool_list
from compact.model.event import EventName, Fallback, Reason
from compact.model.message import Message, Role
from compact.model.outcome import (
    Compacted,
    Debug,
    Failed,
    Outcome,
    Prepared,
    Stage,
    TokenCounts,
    Unchanged,
)
from compact.model.plan import Action, Limits, Mode, Plan, Step
from compact.model.policy import Policy
from compact.model.summary import SummaryRequest
from compact.model.value import entity
from compact.ports import Format, Store, TokenCounter
from compact.tracing.stream import EventStream

_SESSIONS_KEPT = 10_000
_SIZES_KEPT = 200_000
# All that may stand around a summary's text.
_FRAME = "\n".join((tagged("", 99), TRIGGER_LINE, FIRST_LINE, CONTINUE_LINE))


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


@entity
class Situation:
    """A call brought up to date: its line, its limits, and what would be sent."""

    call: Call
    session: Session
    line: Line
    format: Format
    head: int
    limits: Limits
    breakdown: Mapping[str, int]

    @property
    def total(self) -> int:
        return self.limits.fixed + self.line.total


class Engine:
    """Knows ports only. Holds no lock across a summary, an archive or a commit."""

    def __init__(
        self,
        *,
        model: str,
        window: int,
        policy: Policy,
        counter: TokenCounter,
        store: Store,
        events: EventStream,
        prompt_for: Callable[[SummaryRequest], str],
        enabled: bool = True,
        strip_meta: bool = False,
        format: str | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        busy_wait: float = 2.0,
    ) -> None:
        self.model = model
        self.window = window
        self.policy = policy
        self.counter = counter
        self.store = store
        self.events = events
        self.enabled = enabled
        self._prompt_for = prompt_for
        self._strip_meta = strip_meta
        self._format = by_name(format) if format else None
        self._clock = clock
        self._new_id = new_id
        self._busy_wait = busy_wait
        self._sessions: dict[str, Session] = {}
        self._sizes: dict[bytes, int] = {}
        self._frame: int | None = None

    # -- what a call finds ---------------------------------------------------------------------------------

    def session(self, session_id: str) -> Session:
        found = self._sessions.get(session_id)
        if found is None:
            found = self._sessions.setdefault(session_id, Session(session_id, self.store, self.size_of))
            while len(self._sessions) > _SESSIONS_KEPT:
                self._sessions.pop(next(iter(self._sessions)))
        return found

    def size_of(self, message: Message) -> int:
        """Tokens of a message with the counter's margin; counted once for equal content."""
        size = self._sizes.get(message.digest)
        if size is None:
            size = self._with_margin(measure_message(message, self.counter.count))
            if len(self._sizes) >= _SIZES_KEPT:
                self._sizes.clear()
            self._sizes[message.digest] = size
        return size

    def _with_margin(self, tokens: int) -> int:
        margin = self.counter.margin
        return tokens if margin == 1.0 else ceil(tokens * margin)

    def count_text(self, text: str) -> int:
        return self._with_margin(self.counter.count(text))

    def _count_results(self, message: Message) -> Sequence[int]:
        results = message.results
        if len(message.parts) == len(results) == 1:
            # The whole message was counted once already.
            return (self.size_of(message) - self._with_margin(ROLE_OVERHEAD),)
        return tuple(self._with_margin(measure_part(result, self.counter.count)) for result in results)

    def look(self, call: Call) -> Situation:
        """Bring the session up to this list: decode and count what is new, find the record that applies."""
        session = self.session(call.session_id)
        given = call.messages if isinstance(call.messages, list) else list(call.messages)
        with session.lock:
            line, format = session.line_for(given, self._format)
            if call.context and call.context != session.note_text:
                line = session.add_note(line, call.context)
            if session.retired_tools:
                session.retired_tools = unreferred(session.retired_tools, (i.message for i in line.view))
            system, tools = self._fixed(session, call)
            head = session.head
            fixed = PRIMING + system + tools + head.tokens
            limits = self._limits(session, fixed, line.protected_tokens)
            developer = head.developer_tokens
            breakdown = {
                "system": system + head.tokens - developer,
                "developer": developer,
                "tools_schema": tools,
                "messages": line.total,
            }
            return Situation(call, session, line, format, len(head.source), limits, breakdown)

    def _limits(self, session: Session, fixed: int, protected: int) -> Limits:
        key = (fixed, protected, session.scale)
        if session.limits is None or session.limits[0] != key:
            # The provider's own count corrects ours: a smaller window in our units is the same thing.
            limits = limits_for(self.policy, int(self.window / session.scale), fixed)
            if fixed + protected >= limits.trigger:
                # Else every call would compact and none would get below.
                limits = replace(limits, trigger=limits.budget)
            session.limits = (key, limits)
        return session.limits[1]

    def _fixed(self, session: Session, call: Call) -> tuple[int, int]:
        """Tokens of `system` and `tools`; a change of either is told, because it costs the cache (S2.13)."""
        if session.system_key is None or session.system_key[0] != call.system:
            if session.system_key is not None:
                self._warn(session.id, "The system prompt changed: the provider's prompt cache starts anew.")
            session.system_key = (shell(call.system), measure_system(call.system, self.count_text))
        tools = active_tools(call.tools, session.retired_tools)
        if session.tools_key is None or session.tools_key[0] != tools:
            if session.tools_key is not None:
                self._warn(session.id, "The tool list changed: the provider's prompt cache starts anew.")
            parts = [(tool.name or "", tool.description, tool.schema) for tool in tool_list(tools)]
            session.tools_key = (shell(tools), measure_tools(parts, self.count_text))
        if session.head_changed():
            self._warn(session.id, "The system messages changed: the provider's prompt cache starts anew.")
        return session.system_key[1], session.tools_key[1]

    def _warn(self, session_id: str, message: str) -> None:
        self.events.emit(session_id, EventName.WARNING, {"message": message})

    def _decide(self, now: Situation) -> tuple[bool, Reason]:
        if now.call.reason is not None:
            return True, now.call.reason
        if not self.enabled:
            return False, Reason.DISABLED
        line = now.line
        last = line.view[-1] if line.view else None
        waiting = last is not None and last.message.role is Role.USER and not last.message.is_ours
        finished = last is not None and last.message.role is Role.ASSISTANT and not last.message.calls
        facts = Facts(
            total=now.total,
            finished_turns=line.user_turns - (0 if finished else 1),
            summary_version=line.base.version if line.has_summary and line.base is not None else 0,
            newest_user_tokens=last.tokens if last is not None and waiting else 0,
            after_last=line.base.tokens_after if line.base is not None else None,
        )
        return decide(facts, now.limits, self.policy)

    def _tell_estimate(self, now: Situation) -> None:
        data = estimate_data(self.model, now.total, self.window, now.session.scale, now.breakdown)
        self.events.emit(now.session.id, EventName.TOKEN_ESTIMATE, data)

    def _tell_decision(self, now: Situation, plan: Plan | None, reason: Reason) -> None:
        data = decision_data(self.policy, plan, reason, now.call.note)
        self.events.emit(now.session.id, EventName.TRIGGER_DECISION, data)

    def _check_floor(self, now: Situation) -> None:
        """Tell when what can never shrink reaches the trigger; refuse when it is over the budget."""
        session, limits = now.session, now.limits
        pinned = now.line.protected_tokens
        floor = limits.fixed + pinned
        if session.floor == (floor, limits.budget):
            return
        if floor > limits.budget:
            error = insufficient_budget({"system_and_tools": limits.fixed, "protected": pinned}, limits)
            data = {"status": "error", "error_type": "InsufficientBudget", "message": str(error)}
            self.events.emit(session.id, EventName.ERROR, {**data, "fallback": Fallback.NONE.value})
            raise error
        session.floor = (floor, limits.budget)
        configured = limits_for(self.policy, limits.window, limits.fixed)
        if floor >= configured.trigger:
            shown = floor_sum(now.breakdown, pinned, configured)
            self.events.emit(session.id, EventName.FLOOR, {"floor": floor, "sum": shown})
            self._warn(
                session.id,
                f"What can never be removed reaches the trigger ({shown}). The trigger is raised to the "
                "budget. Shorten the system prompt, the tools or protected messages, or use a larger window.",
            )

    def _sizes_for_plan(self) -> Sizes:
        if self._frame is None:
            self._frame = self.count_text(_FRAME) + 5 * 4
        return Sizes(self.count_text, self._count_results, self._frame)

    def plan(self, call: Call) -> Plan:
        """What `prepare` would do now. Nothing happens."""
        now = self.look(call)
        triggered, reason = self._decide(now)
        shown = tuple(item.message for item in now.line.view)
        if not triggered:
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
        return replace(self._plan(now, now.line.view, reason), messages=shown)

    def _plan(self, now: Situation, items: Sequence[Item], reason: Reason) -> Plan:
        return make_plan(items, now.limits, self.policy, self._sizes_for_plan(), reason)

    # -- what a call does ----------------------------------------------------------------------------------

    def prepare(self, call: Call) -> Generator[Any, Any, Prepared]:
        now = self.look(call)
        before = now.total
        self._tell_estimate(now)
        self._check_floor(now)
        triggered, reason = self._decide(now)
        planned = tuple(now.line.view) if triggered else ()
        plan = self._plan(now, planned, reason) if triggered else None
        self._tell_decision(now, plan, reason)
        outcome: Outcome = Unchanged(reason)
        if plan is not None and (plan.mode is not Mode.NONE or plan.insufficient is not None):
            outcome = yield from self._compact(now, planned, plan)
        elif plan is not None:
            outcome = Unchanged(plan.reason)
        return self._result(now, outcome, before)

    def _compact(self, now: Situation, planned: Sequence[Item], plan: Plan) -> Generator[Any, Any, Outcome]:
        fits = now.total <= now.limits.budget
        granted = yield NeedLease(now.session.id, 0.0 if fits else self._busy_wait)
        if not granted:
            if fits:
                return Unchanged(Reason.BUSY)
            raise SessionBusy(now.session.id)
        with now.session.lock:
            now.session.catch_up()
            now.line.refresh()
            job = self._job(now)
        if job.items != planned:
            # Another thread or process was here meanwhile: its record may be all that was needed.
            triggered, reason = self._decide(now)
            if not triggered:
                return Unchanged(reason)
            plan = self._plan(now, job.items, reason)
        outcome = yield from compaction(job, plan)
        if isinstance(outcome, Compacted):
            self._adopt(now, outcome)
        elif isinstance(outcome, Failed) and (outcome.stage is Stage.PLAN or now.total > now.limits.budget):
            raise outcome.cause
        return outcome

    def _job(self, now: Situation) -> Job:
        line, session = now.line, now.session
        return Job(
            session_id=session.id,
            items=tuple(line.view),
            length=line.length,
            source_at=line.source_at,
            original_at=line.original_at,
            base=line.base,
            policy=self.policy,
            limits=now.limits,
            sizes=self._sizes_for_plan(),
            size_of=self.size_of,
            provider=now.format.provider,
            record_id=self._new_id(),
            now=self._clock(),
            step=session.steps + 1,
            revision=session.revision,
            note=now.call.note,
            prompt_for=self._prompt_for,
        )

    def _adopt(self, now: Situation, done: Compacted) -> None:
        with now.session.lock:
            line = now.line
            # Messages that arrived while the summary was made follow it.
            known = {id(item) for item in done.items}
            covered = done.record.source_length
            arrived = [
                item
                for item in line.view
                if item.position is not None and item.position >= covered and id(item) not in known
            ]
            line.adopt_view(done.record, [*done.items, *arrived])
            now.session.learn(done.record)
            now.session.retired_tools = unreferred(
                discovered_names(now.call.tools), (item.message for item in line.view)
            )

    def _result(self, now: Situation, outcome: Outcome, before: int) -> Prepared:
        call, line = now.call, now.line
        with now.session.lock:
            if len(line.copy) > len(call.messages) - now.head:
                # Another thread took the line further than this caller's list goes.
                line, _ = now.session.line_for(list(call.messages), self._format)
            head = list(call.messages[: now.head])
            out = head + encode_view(line, call.messages[now.head :], now.format)
            final = now.limits.fixed + line.total
        if self._strip_meta:
            out = stripped(out)
        done = outcome if isinstance(outcome, Compacted) else None
        pruned = done is not None and bool(done.plan.cleared)
        after_prune = final if pruned else before
        touched = done.plan.cleared_tools if done else ()
        tools = active_tools(call.tools, now.session.retired_tools)
        reason = outcome.reason.value if isinstance(outcome, Unchanged) else ""
        if isinstance(outcome, Failed):
            reason = f"{outcome.stage.value} failed: {outcome.cause}"
        return Prepared(
            messages=tuple(out) if isinstance(call.messages, tuple) else out,
            was_pruned=pruned,
            was_compacted=done is not None and not pruned,
            tokens=TokenCounts(before, after_prune, final, final),
            debug=Debug(
                outputs_cleared=done.record.outputs_cleared if done else 0,
                messages_compacted=done.record.messages_replaced if done else 0,
                tools_touched=(*touched, *sorted(now.session.retired_tools)),
                reason=done.record.reason if done else reason,
                warnings=_warnings(outcome),
            ),
            tools=tools,
            record=line.base,
            stable=stable_indexes(line, out, now.head),
        )


def _warnings(outcome: Outcome) -> tuple[str, ...]:
    """What a person who is in the conversation should be told."""
    if isinstance(outcome, Compacted):
        return outcome.plan.warnings
    return (SUMMARY_NOT_UPDATED,) if outcome == Unchanged(Reason.ABORTED) else ()
