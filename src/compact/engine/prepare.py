"""The engine: what a call does between a caller's list and the prompt that goes out."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from compact.core.flow import compaction
from compact.core.job import Job, SentPrompt
from compact.core.recording import system_messages
from compact.core.reports import SUMMARY_NOT_UPDATED, insufficient_budget
from compact.core.view import Item
from compact.engine.asked import check_asked, check_session
from compact.engine.drivers import NeedLease
from compact.engine.line import Line
from compact.engine.lookout import Call, Lookout, Situation
from compact.engine.output import encode_view, stable_indexes, stripped, stripped_tools
from compact.engine.tools import active_tools, discovered_names, unreferred
from compact.errors import FormatError, SessionBusy
from compact.formats.nesting import nesting_refusal
from compact.model.event import Reason
from compact.model.outcome import (
    Compacted,
    Debug,
    Failed,
    Outcome,
    Passed,
    Prepared,
    Stage,
    TokenCounts,
    Unchanged,
    reason_of,
)
from compact.model.plan import Mode, Plan
from compact.model.summary import SummaryRequest

_PREFIX_SLACK = 256
"""Tokens for what is said around the request for a summary, and for a count that is not quite ours."""
_TRIES = 5
"""How often a call looks again when other threads keep taking its session further."""


class Engine(Lookout):
    """Knows ports only. Holds no lock across a summary, an archive or a commit."""

    def __init__(
        self,
        *,
        prompt_for: Callable[[SummaryRequest], str],
        strip_meta: bool = False,
        cached_prompts: tuple[str, int] | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        busy_wait: float = 2.0,
        embedded_fallback: bool = False,
        **found: Any,
    ) -> None:
        super().__init__(**found)
        self._prompt_for = prompt_for
        self._strip_meta = strip_meta
        self._cached_prompts = cached_prompts
        """Format and window of a summarizer that may be asked on the provider's cache."""
        self.clock = clock
        self.new_id = new_id
        self._busy_wait = busy_wait
        self._embedded_fallback = embedded_fallback

    def look(self, call: Call, quiet: bool = False, thorough: bool = True) -> Situation:
        try:
            return super().look(call, quiet, thorough)
        except RecursionError:
            raise nesting_refusal(call.messages, call.tools, call.system) or FormatError(
                "The messages are nested too deeply to be read. Nothing was changed."
            ) from None

    def decide(self, now: Situation) -> tuple[bool, Reason]:
        triggered, reason = super().decide(now)
        if reason is Reason.TURNS and now.session.failed_fold == _fold(now.line):
            # A summarizer that just failed is asked again with the user's next message, not at every step.
            return False, Reason.NO_GROWTH
        return triggered, reason

    def glance(self, call: Call) -> Prepared | None:
        """The answer where nothing is to be compacted, as mostly; None where it takes a flow to tell."""
        if not self.enabled:
            return self._as_it_is(call)
        now = self.look(call, thorough=False)
        triggered, reason = self.decide(now)
        if triggered:
            return None
        self.tell(now)
        self.check_floor(now)
        self.tell_decision(now, None, reason)
        with now.session.lock:
            return None if now.moved else self._result(now, Unchanged(reason))

    def prepare(self, call: Call) -> Generator[Any, Any, Prepared]:
        done = self.glance(call)
        return done if done is not None else (yield from self.compact(call))

    def compact(self, call: Call) -> Generator[Any, Any, Prepared]:
        """For a call that a glance could not answer."""
        for _ in range(_TRIES):
            # What is about to be summarized, or seems too large, must be what the list says now.
            now = self.look(call)
            self.tell(now)
            self.check_floor(now)
            triggered, reason = self.decide(now)
            planned = tuple(now.line.view) if triggered else ()
            plan = self.plan_for(now, planned, reason) if triggered else None
            self.tell_decision(now, plan, reason)
            outcome: Outcome = Unchanged(reason if plan is None else plan.reason)
            if plan is not None and (plan.mode is not Mode.NONE or plan.insufficient is not None):
                outcome = yield from self._compact(now, planned, plan)
            with now.session.lock:
                if not now.moved:
                    return self._result(now, outcome)
        raise SessionBusy(call.session_id)

    def view(self, call: Call) -> Prepared:
        """What would be sent if nothing were compacted now; InsufficientBudget where it does not fit."""
        now = self.look(call)
        self.tell(now)
        with now.session.lock:
            return self._result(now, Unchanged(Reason.BELOW_TRIGGER))

    def _as_it_is(self, call: Call) -> Prepared:
        """Compaction is switched off: every prompt goes out as it came."""
        check_session(call.session_id)
        check_asked(call.messages, call.tools, call.system, call.context)
        try:
            now = self.look(call)
        except FormatError as unread:
            # Whoever switched it off may well have done so because of this message.
            self.warn(call.session_id, f"Compaction is switched off; the prompt goes out unread. {unread}")
            tokens = self.gauge.of_text(repr(call.messages))
        else:
            self.tell(now)
            self.tell_decision(now, None, Reason.DISABLED)
            tokens = now.limits.real(
                now.limits.fixed + sum(map(self.gauge.of_message, now.line.given.messages))
            )
        return self._unread(call, tokens, Unchanged(Reason.DISABLED))

    def passed(self, call: Call, cause: Exception) -> Prepared:
        """The prompt as it came, where preparing failed and the caller wants to go on all the same."""
        tokens = self.gauge.of_text(repr([call.system, call.tools, call.messages]))
        said = f"Not compacted; the prompt goes out as it is (about {tokens:,} tokens). "
        self.warn(call.session_id, f"{said}{type(cause).__name__}: {cause}", severity="high")
        return self._unread(call, tokens, Passed(cause))

    def _unread(self, call: Call, tokens: int, outcome: Outcome) -> Prepared:
        out = self._as_given(call, list(call.messages))
        counts = TokenCounts(tokens, tokens, tokens, tokens)
        debug = Debug(reason=reason_of(outcome))
        return Prepared(out, False, False, counts, debug, outcome, tools=self._tools(call.tools))

    def _compact(self, now: Situation, planned: Sequence[Item], plan: Plan) -> Generator[Any, Any, Outcome]:
        fits = now.total <= now.limits.budget
        patience = self._busy_wait if now.call.wait is None else now.call.wait
        granted = yield NeedLease(now.session.id, 0.0 if fits else patience)
        if not granted:
            if fits:
                return Unchanged(Reason.BUSY)
            raise SessionBusy(now.session.id)
        with now.session.lock:
            now.session.catch_up()
            now.line.refresh()
            job = self.job(now)
        if job.items != planned:
            # Another thread or process was here meanwhile: its record may be all that was needed.
            triggered, reason = self.decide(now)
            if not triggered:
                return Unchanged(reason)
            plan = self.plan_for(now, job.items, reason)
        outcome = yield from compaction(job, plan)
        if isinstance(outcome, Compacted):
            self._adopt(now, job, outcome)
        elif isinstance(outcome, Failed) and (outcome.stage is Stage.PLAN or not fits):
            raise outcome.cause
        elif outcome == Unchanged(Reason.ABORTED):
            now.session.failed_fold = _fold(now.line)
        return outcome

    def job(self, now: Situation) -> Job:
        """What a compaction of this history may look at."""
        line, session = now.line, now.session
        return Job(
            session_id=session.id,
            items=tuple(line.view),
            length=line.length,
            source_at=line.source_at,
            original_at=line.original_at,
            base=line.base,
            policy=self.policy,
            key_for=line.fitting.key_for,
            limits=now.limits,
            sizes=self.gauge.for_plans,
            size_of=self.gauge.of_message,
            provider=now.format.provider,
            record_id=self.new_id(),
            now=self.clock(),
            step=session.steps + 1,
            revision=session.revision,
            note=now.call.note,
            prompt_for=self._prompt_for,
            sent=self._sent(now) if self._cached_prompts is not None else None,
            first_position=line.first_position,
            system=system_messages(session.leading.head.messages, now.call.system),
            embedded_fallback=self._embedded_fallback,
        )

    def _sent(self, now: Situation) -> SentPrompt | None:
        """What would go out uncompacted: it begins with what went out last, byte by byte."""
        format, window = self._cached_prompts or ("", 0)
        line, limits = now.line, now.limits
        room = int(window / limits.scale) - limits.fixed - line.total - _PREFIX_SLACK
        tools = stripped_tools(active_tools(now.call.tools, now.session.retired_tools))
        if now.format.name != format or room <= 0 or now.moved or isinstance(tools, Mapping):
            return None
        messages = encode_view(line, now.call.messages, now.head, now.format)
        return SentPrompt(messages, tools, now.call.system, room)

    def _adopt(self, now: Situation, job: Job, done: Compacted) -> None:
        with now.session.lock:
            line, record = now.line, now.session.own(done.record)
            if line.base is job.base:
                # What arrived while the summary was made follows it.
                line.adopt_view(record, [*done.items, *line.view[len(job.items) :]])
            else:
                line.refresh()
            named = discovered_names(now.call.tools)
            now.session.retire(unreferred(named, (item.message for item in line.view)))

    def _result(self, now: Situation, outcome: Outcome) -> Prepared:
        call, line, limits = now.call, now.line, now.limits
        final = limits.fixed + line.total
        if call.reason is None and final > limits.budget:
            error = insufficient_budget(
                {"system_and_tools": limits.fixed, "conversation": line.total}, limits
            )
            self.tell_error(now, error)
            raise error
        out = encode_view(line, call.messages, now.head, now.format)
        retired = now.session.retired_tools
        before, after = limits.real(now.total), limits.real(final)
        cleared, replaced, touched, pruned = 0, 0, tuple(sorted(retired)), False
        if isinstance(outcome, Compacted):
            cleared, replaced = outcome.record.outputs_cleared, outcome.record.messages_replaced
            touched, pruned = (*outcome.plan.cleared_tools, *touched), bool(outcome.plan.cleared)
        return Prepared(
            self._as_given(call, out),
            pruned,
            isinstance(outcome, Compacted) and not pruned,
            TokenCounts(before, after if pruned else before, after, after),
            Debug(cleared, replaced, touched, reason_of(outcome), _warnings(outcome)),
            outcome,
            self._tools(active_tools(call.tools, retired)),
            line.base,
            stable_indexes(line, out, now.head),
        )

    def _as_given(self, call: Call, out: list[Any]) -> Sequence[Any]:
        if self._strip_meta:
            out = stripped(out)
        return tuple(out) if isinstance(call.messages, tuple) else out

    def _tools(self, tools: Any) -> Any:
        return stripped_tools(tools) if self._strip_meta else tools


def _fold(line: Line) -> tuple[str, int]:
    return line.base.id if line.base is not None else "", line.user_turns


def _warnings(outcome: Outcome) -> tuple[str, ...]:
    """What a person who is in the conversation should be told."""
    if isinstance(outcome, Compacted):
        return outcome.warnings
    aborted = isinstance(outcome, Unchanged) and outcome.reason is Reason.ABORTED
    return (SUMMARY_NOT_UPDATED,) if aborted else ()
