"""Read a call: bring its session's history up to date, and compute the limits of what would be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from compact.core.measure import PRIMING
from compact.engine.planner import Planner
from compact.engine.state.history import History
from compact.engine.state.session import Session
from compact.engine.state.size_cache import SizeCache
from compact.engine.state.system_prompt import Head
from compact.engine.tools import active_tools, unreferred
from compact.engine.validation import check_asked, check_session
from compact.errors import FormatError, HistoryGone
from compact.formats.nesting import nesting_refusal
from compact.model.event import Reason
from compact.model.plan import Limits
from compact.model.value import entity
from compact.ports import Format, Store, Threads

_Save = Callable[[Session, History], None]
_SESSIONS_KEPT = 10_000
_QUICK_MESSAGES = 64
"""An event loop reads up to this many new messages itself; more go to a thread."""


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
    """None: decide; MANUAL or END_TURN: requested."""
    wait: float | None = None
    """Seconds to wait for another compaction of the session; None: the default."""


@entity
class Situation:
    """A call brought up to date: its history, its limits, and what would be sent."""

    call: Call
    session: Session
    history: History
    head: int
    """How many of the caller's objects come first, as the head."""
    head_messages: int
    """How many system messages these are."""
    tools: Any
    """As they are sent."""
    limits: Limits
    total: int
    """Tokens of what would be sent, as this call found it."""
    breakdown: Mapping[str, int]
    changed: Sequence[str] = ()
    """What changed since the last call and costs the provider's cache."""

    @property
    def moved(self) -> bool:
        """Whether another thread has advanced the history beyond this caller's list."""
        return len(self.history.caller.copies) != len(self.call.messages) - self.head


class Reader:
    """Manages sessions. `look` leaves the store as it is, `read` stores what is new."""

    def __init__(
        self,
        store: Store,
        sizes: SizeCache,
        planner: Planner,
        format: Format | None = None,
        provider: str = "",
        starts_over: bool = True,
    ) -> None:
        self.store = store
        self.sizes = sizes
        self._planner = planner
        self._format = format
        self._provider = provider
        self._starts_over = starts_over
        """Whether a list continues as a new session if another process deleted its session."""
        self._policy_key = f"{planner.policy.hash}-{planner.window}"
        """A record is valid for the policy and the window it was made for."""
        self._sessions: dict[str, Session] = {}

    def session(self, session_id: str) -> Session:
        found = self._sessions.get(session_id) if isinstance(session_id, str) else None
        if found is None:
            check_session(session_id)
            made = Session(
                session_id,
                self.store,
                self.sizes,
                self._policy_key,
                self._planner.policy.roles_never_prune,
                self._provider,
            )
            found = self._sessions.setdefault(session_id, made)
            while len(self._sessions) > _SESSIONS_KEPT:
                self._sessions.pop(next(iter(self._sessions)))
        return found

    def is_quick(self, call: Call) -> bool:
        """Whether an event loop can read this call itself: few new messages, a store that does not block."""
        if getattr(self.store, "blocks", True) or not isinstance(call.messages, list):
            return False
        session = self.session(call.session_id)
        return not session.lock.locked() and session.expects_at_most(len(call.messages), _QUICK_MESSAGES)

    def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def with_last_system_and_tools(self, call: Call) -> Call:
        """As this session last had them, if the caller does not repeat them."""
        prompt = self.session(call.session_id).prompt
        tools = call.tools if call.tools is not None else (prompt.tools or (None,))[0]
        system = call.system if call.system is not None else (prompt.system or (None,))[0]
        return replace(call, tools=tools, system=system)

    def look(self, call: Call) -> Situation:
        """What the call would find. Changes neither the store nor what the next call is compared with."""
        return self._read(call, thorough=False)

    def read(self, call: Call, thorough: bool = True, begins: bool = False) -> Situation:
        """Bring the session up to this list and store what is new.

        Only a `thorough` reading sees in-place edits of what a record has already replaced. `begins`: it may
        begin a session even if only an explicit `append` does.
        """
        try:
            save = partial(self._save, verify=thorough, begins=begins or self._starts_over)
            return self._read(call, thorough, save)
        except HistoryGone:
            if not self._starts_over:
                raise
            # Another manager deleted it. Read it as if it were new, so that all of it is stored again.
            self.forget(call.session_id)
            return self._read(call, thorough, partial(Session.save, detached=True))

    def _save(self, session: Session, history: History, verify: bool, begins: bool) -> None:
        if not begins and history.originals.length and not history.stored and self._is_absent(session.id):
            raise HistoryGone(session.id, 0)
        session.save(history, verify)

    def _is_absent(self, session_id: str) -> bool:
        return isinstance(self.store, Threads) and self.store.session(session_id) is None

    def is_stored(self, now: Situation) -> bool:
        """Whether the store still holds this history; if not, it has to be read again."""
        try:
            with now.session.lock:
                now.session.save(now.history, verify=True)
        except HistoryGone:
            if not self._starts_over:
                raise
            self.forget(now.session.id)
            return False
        return True

    def caught_up(self, now: Situation) -> Situation:
        """The same call with what others have committed since.

        Read again if they undid what it begins with, or added working memory.
        """
        with now.session.lock:
            outdated = now.session.catch_up()
            if outdated:
                now.session.forget_histories()
            elif not now.history.is_undone:
                now.history.refresh()
                return now
        return self.read(now.call)

    def _read(self, call: Call, thorough: bool, save: _Save | None = None) -> Situation:
        session = self.session(call.session_id)
        if not _is_usual(call):
            check_asked(call.messages, call.tools, call.system, call.context)
        if not isinstance(call.messages, (list, tuple)):
            # Other collections have no slices; the list that is returned is a list.
            call = replace(call, messages=list(call.messages))
        given = call.messages if isinstance(call.messages, list) else list(call.messages)
        try:
            with session.lock:
                history, head = session.history_for(given, self._format, thorough)
                if save is not None and call.context:
                    history = session.with_note(history, call.context)
                return self._situation(call, session, history, head, save)
        except RecursionError:
            raise nesting_refusal(call.messages, call.tools, call.system) or FormatError(
                "The messages are nested too deeply to be read. Nothing was changed."
            ) from None
        except (TypeError, ValueError):
            refusal = nesting_refusal(call.messages, call.tools, call.system)
            if refusal is None:
                raise
            raise refusal from None

    def _situation(
        self, call: Call, session: Session, history: History, head: Head, save: _Save | None
    ) -> Situation:
        retired = session.memory.retired_tools
        if retired:
            retired = unreferred(retired, history.originals.after(history.covered))
        active = active_tools(call.tools, retired) if retired else call.tools
        system, tools = session.prompt.measured(call.system, active)
        changed: Sequence[str] = ()
        if save is not None:
            if retired is not session.memory.retired_tools:
                session.memory.retire(retired)
            changed = session.prompt.accept(head, system, tools)
            save(session, history)
        fixed = PRIMING + system[1] + tools[1] + head.tokens
        breakdown = {
            "system": system[1] + head.tokens - head.developer_tokens,
            "developer": head.developer_tokens,
            "tools_schema": tools[1],
            "messages": history.view.total,
        }
        limits = self._limits(session, fixed, history.view.pinned_tokens)
        total = fixed + history.view.total
        leading = len(head.source), len(head.messages)
        return Situation(call, session, history, *leading, active, limits, total, breakdown, changed)

    def _limits(self, session: Session, fixed: int, protected: int) -> Limits:
        key = (fixed, protected, session.memory.scale)
        if session.limits is None or session.limits[0] != key:
            session.limits = (key, self._planner.limits(*key))
        return session.limits[1]


def _is_usual(call: Call) -> bool:
    """Whether the arguments have the usual types and need no further check."""
    tools, system = call.tools, call.system
    usual = isinstance(call.messages, list) and (tools is None or isinstance(tools, list))
    return usual and (system is None or isinstance(system, str)) and call.context is None
