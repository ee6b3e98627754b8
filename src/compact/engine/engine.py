"""The engine: what a call does between a caller's list and the prompt that is sent."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from compact.core.flow import compaction
from compact.core.job import Job
from compact.core.recording import system_messages
from compact.core.staging import Staged, with_staged
from compact.core.summarizing import draft
from compact.core.view import Item
from compact.engine.cleared_originals import ClearedOriginals
from compact.engine.drivers import NeedLease
from compact.engine.output import CachedPrompts, Output, sent_prompt
from compact.engine.planner import Planner
from compact.engine.reader import Call, Reader, Situation
from compact.engine.reporter import Reporter
from compact.engine.state.history import History
from compact.engine.state.ledgers import Ledgers
from compact.engine.state.size_cache import SizeCache
from compact.engine.taking_over import take_over
from compact.engine.tools import discovered_names, unreferred
from compact.engine.validation import check_asked, check_session
from compact.errors import FormatError, SessionBusy
from compact.model.event import Reason
from compact.model.outcome import (
    Compacted,
    Failed,
    Outcome,
    Passed,
    Prepared,
    Stage,
    Unchanged,
)
from compact.model.plan import Mode, Plan
from compact.model.policy import Policy
from compact.model.value import entity
from compact.ports import Format, Store
from compact.tracing.stream import EventStream

_TRIES = 5
"""How often a call retries while other threads keep advancing its session."""


@entity
class Due:
    """A call that `start` could not answer at once, and what it found."""

    now: Situation
    triggered: bool
    reason: Reason


class Engine:
    """Reaches the outside only through ports. Holds no lock across a summary, an archive or a commit."""

    def __init__(
        self,
        *,
        model: str,
        window: int,
        policy: Policy,
        sizes: SizeCache,
        store: Store,
        events: EventStream,
        enabled: bool = True,
        format: Format | None = None,
        provider: str = "",
        strip_meta: bool = False,
        cached_prompts: CachedPrompts | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        busy_wait: float = 2.0,
        embedded_fallback: bool = False,
        starts_over: bool = True,
    ) -> None:
        self.window = window
        self.policy = policy
        self.sizes = sizes
        self.store = store
        self.events = events
        self.enabled = enabled
        self.planner = Planner(policy, window, sizes.for_plans(policy.placement))
        self.reader = Reader(store, sizes, self.planner, format, provider, starts_over)
        self.ledgers = Ledgers(store)
        self.reporter = Reporter(events, model, self.planner)
        self._output = Output(strip_meta)
        self._cached_prompts = cached_prompts
        self.clock = clock
        self.new_id = new_id
        self._busy_wait = busy_wait
        self._embedded_fallback = embedded_fallback

    def start(self, call: Call) -> Prepared | Due:
        """The result if nothing has to be compacted, the usual case; else what `compact` goes on from."""
        if not self.enabled:
            return self._as_it_is(call)
        now = self.reader.read(call, thorough=False)
        triggered, reason = self.decide(now)
        if triggered or now.session.is_borrowed(now.history):
            return Due(now, triggered, reason)
        self.reporter.estimate(now)
        self.reporter.floor(now)
        self.reporter.decision(now, None, reason)
        with now.session.lock:
            return Due(now, triggered, reason) if now.moved else self._result(now, Unchanged(reason))

    def glance(self, call: Call) -> Prepared | None:
        """What `prepare` would return if nothing has to be compacted; stores and reports nothing."""
        now = self.reader.look(call)
        triggered, reason = self.decide(now)
        if not self.enabled or triggered or now.session.is_borrowed(now.history):
            return None
        with now.session.lock:
            fits = now.limits.fixed + now.history.view.total <= now.limits.budget
            return self._result(now, Unchanged(reason)) if fits and not now.moved else None

    def prepare(self, call: Call) -> Generator[Any, Any, Prepared]:
        done = self.start(call)
        return done if isinstance(done, Prepared) else (yield from self.compact(done))

    def compact(self, due: Due) -> Generator[Any, Any, Prepared]:
        """For a call that `start` could not answer at once."""
        now, triggered, reason = due.now, due.triggered, due.reason
        for attempt in range(_TRIES):
            # Before a summary, or an error that it is too large, the list is checked more closely.
            if attempt or not _is_exact(now):
                now = replace(self.reader.read(now.call), changed=() if attempt else now.changed)
                triggered, reason = self.decide(now)
            if now.session.is_borrowed(now.history):
                yield from take_over(now, self.job(now), self.store)
                triggered, reason = self.decide(now)
            self.reporter.estimate(now)
            self.reporter.floor(now)
            planned = tuple(now.history.view.items) if triggered else ()
            plan = self._plan(now, planned, reason) if triggered else None
            self.reporter.decision(now, plan, reason)
            outcome: Outcome = Unchanged(reason if plan is None else plan.reason)
            if plan is not None and (plan.mode is not Mode.NONE or plan.insufficient is not None):
                if not self.reader.is_stored(now):
                    continue  # Another process deleted the session; read as new, it is stored again.
                now, outcome = yield from self._compact(now, planned, plan)
            with now.session.lock:
                if not now.moved:
                    return self._result(now, outcome)
        raise SessionBusy(now.call.session_id)

    def decide(self, now: Situation) -> tuple[bool, Reason]:
        """Whether this call compacts, and why, or why not."""
        if now.call.reason is not None:
            return True, now.call.reason
        failed = now.session.failed_fold
        return self.planner.decide(
            now.history, now.limits, failed is not None and failed == _fold(now.history)
        )

    def _plan(self, now: Situation, items: Sequence[Item], reason: Reason) -> Plan:
        return self.planner.plan(items, now.limits, reason, now.history.alternates)

    def _compact(
        self, now: Situation, planned: Sequence[Item], plan: Plan
    ) -> Generator[Any, Any, tuple[Situation, Outcome]]:
        """The result of the plan, and the call as it was found once the session was ours alone."""
        fits = now.total <= now.limits.budget
        patience = self._busy_wait if now.call.wait is None else now.call.wait
        granted = yield NeedLease(now.session.id, 0.0 if fits else patience)
        if not granted:
            if fits and now.call.reason is not Reason.MANUAL:
                return now, Unchanged(Reason.BUSY)
            raise SessionBusy(now.session.id)
        now = self.reader.caught_up(now)
        with now.session.lock:
            job = self.job(now)
        if job.items != planned:
            # Another thread or process was here in the meantime: its record may be all that was needed.
            triggered, reason = self.decide(now)
            if not triggered:
                return now, Unchanged(reason)
            plan = self._plan(now, job.items, reason)
        # Used or not, a staged summary is gone: it was made for this compaction.
        staged, now.session.staged = now.session.staged, None
        job, plan = with_staged(staged, job, plan)
        outcome = yield from compaction(job, plan, lambda done: self._adopt(now, job, done))
        if isinstance(outcome, Failed) and (outcome.stage is Stage.PLAN or not fits):
            raise outcome.cause
        elif outcome == Unchanged(Reason.ABORTED):
            now.session.failed_fold = _fold(now.history)
        return now, outcome

    def job(self, now: Situation) -> Job:
        """What a compaction of this history can see."""
        history, session, originals = now.history, now.session, now.history.originals
        items = tuple(history.view.items)
        return Job(
            session_id=session.id,
            items=items,
            length=originals.length,
            source_at=originals.source_at,
            original_at=originals.at,
            base=history.base,
            ledger=self.ledgers.of(history.base),
            policy=self.policy,
            key_for=history.matcher.key_for,
            limits=now.limits,
            sizes=self.planner.sizes,
            size_of=self.sizes.of_message,
            provider=history.format.provider,
            record_id=self.new_id(),
            now=self.clock(),
            step=session.records.steps + 1,
            revision=session.records.revision,
            undone_version=session.records.undone_version,
            note=now.call.note,
            sent=sent_prompt(now, self._cached_prompts) if self._cached_prompts is not None else None,
            first_position=originals.first,
            archived=session.records.archived(originals),
            system=system_messages(now.session.prompt.head.messages, now.call.system),
            has_system=history.format.provider != "anthropic" and getattr(history.format, "has_system", True),
            alternates=history.alternates,
            in_full=ClearedOriginals(self.store, session.id, originals, items).in_full,
            embedded_fallback=self._embedded_fallback,
        )

    def _adopt(self, now: Situation, job: Job, done: Compacted) -> None:
        session, history = now.session, now.history
        with session.lock:
            # This session's own: if another session's won, the flow committed ours next to it.
            record = done.record
            session.learn(record)
            self.ledgers.learn(record)
            if history.base is job.base:
                # What arrived while the summary was made follows it.
                history.compacted(record, [*done.items, *history.view.since(len(job.items))])
            else:
                history.refresh()
            named = discovered_names(now.call.tools)
            session.memory.retire(unreferred(named, (item.message for item in history.view.items)))
            session.save_memory()

    def _result(self, now: Situation, outcome: Outcome) -> Prepared:
        limits, total = now.limits, now.history.view.total
        # The end of a turn sends nothing yet: the next call compacts what it leaves.
        if now.call.reason is not Reason.END_TURN and limits.fixed + total > limits.budget:
            raise self.reporter.hopeless(now, {"system_and_tools": limits.fixed, "conversation": total})
        return self._output.prepared(now, outcome)

    def view(self, call: Call) -> Generator[Any, Any, Prepared]:
        """What would be sent if nothing were compacted now; InsufficientBudget if it does not fit."""
        now = self.reader.read(call)
        if now.session.is_borrowed(now.history):
            yield from take_over(now, self.job(now), self.store)
        self.reporter.estimate(now)
        with now.session.lock:
            return self._result(now, Unchanged(Reason.BELOW_TRIGGER))

    def append(self, call: Call) -> Generator[Any, Any, None]:
        """Store what is new in the list."""
        now = self.reader.read(call, begins=True)
        if now.session.is_borrowed(now.history):
            yield from take_over(now, self.job(now), self.store)

    def prepare_ahead(self, call: Call) -> Generator[Any, Any, bool]:
        """Make the summary of the next compaction and keep it; False if there is none to make."""
        now = self.reader.look(call)
        history, session = now.history, now.session
        with session.lock:
            job = self.job(now)
        if session.staged is not None and session.staged.matches(job):
            return True
        plan = self._plan(now, job.items, Reason.OVERFLOW)
        if not self.enabled or plan.mode is not Mode.SUMMARIZE or session.is_borrowed(history):
            return False
        summary = yield from draft(job, plan)
        if summary is not None:
            session.staged = Staged(summary, job.items, plan, job.base)
        return summary is not None

    def plan(self, call: Call) -> Plan:
        """What `prepare` would do now, without doing it."""
        now = self.reader.look(call)
        triggered, reason = self.decide(now) if self.enabled else (False, Reason.DISABLED)
        return self.planner.preview(now.history, now.limits, triggered, reason)

    def passed(self, call: Call, cause: Exception) -> Prepared:
        """The unchanged prompt, if preparing failed and the caller wants to continue anyway."""
        tokens = self._roughly(call)
        # Whatever failed may fail again here; the prompt is returned anyway.
        with suppress(Exception):
            said = f"Not compacted; the prompt is returned unchanged (about {tokens:,} tokens). "
            self.reporter.warn(call.session_id, f"{said}{type(cause).__name__}: {cause}", severity="high")
        try:
            return self._output.unread(call, tokens, Passed(cause))
        except Exception:
            return Output(strip_meta=False).unread(call, tokens, Passed(cause))

    def _as_it_is(self, call: Call) -> Prepared:
        """Compaction is off: every prompt is returned unchanged."""
        check_session(call.session_id)
        check_asked(call.messages, call.tools, call.system, call.context)
        try:
            now = self.reader.read(call)
        except FormatError as unread:
            # This message may be the reason why compaction was switched off.
            said = f"Compaction is off; the prompt is returned unread. {unread}"
            self.reporter.warn(call.session_id, said)
            tokens = self._roughly(call)
        else:
            self.reporter.estimate(now)
            self.reporter.decision(now, None, Reason.DISABLED)
            said_tokens = sum(map(self.sizes.of_message, now.history.caller.messages))
            tokens = now.limits.real(now.limits.fixed + said_tokens)
        return self._output.unread(call, tokens, Unchanged(Reason.DISABLED))

    def _roughly(self, call: Call) -> int:
        """The tokens of a prompt that could not be read; 0 if it cannot even be serialized."""
        try:
            return self.sizes.of_text(repr([call.system, call.tools, call.messages]))
        except Exception:
            return 0


def _is_exact(now: Situation) -> bool:
    """Whether the history still matches the caller's list, edits in place included."""
    messages = now.call.messages if isinstance(now.call.messages, list) else list(now.call.messages)
    with now.session.lock:
        return not now.moved and now.history.is_exact(messages, now.head)


def _fold(history: History) -> tuple[str, int]:
    """What identifies the turns that are due: the record they follow, and how many they are."""
    return history.base.id if history.base is not None else "", history.view.user_turns
