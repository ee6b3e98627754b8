"""CompactManager, the public API."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal, Self

from compact.calling import documented_by, in_thread
from compact.config import CompactConfig
from compact.engine import queries, undo
from compact.engine.drivers import arun, run
from compact.engine.queries import Recalled
from compact.engine.reader import Call
from compact.engine.validation import check_asked, check_note, check_patience, check_session
from compact.errors import ConfigError, StoreError
from compact.model.event import Event, EventName, Reason
from compact.model.outcome import ContextUsage, OverflowCheck, Prepared
from compact.model.plan import Plan
from compact.model.policy import Policy
from compact.model.record import Record
from compact.ports import Archive, Deletes, Format, Store
from compact.tracing.stream import AnyExporter
from compact.wiring import Shared, assemble, share

OnError = Literal["raise", "pass"]


class CompactManager:
    """Keeps conversations inside the window. One manager serves many sessions and threads.

    Every method takes the caller's own messages, in any known format, and never changes them.
    """

    _starts_over = True
    """Whether a list continues as a new session if another process deleted its session."""

    def __init__(
        self,
        config: CompactConfig | None = None,
        summarizer: Any = None,
        store: Store | None = None,
        archive: Archive | None = None,
        exporters: Sequence[AnyExporter] = (),
        *,
        format: str | Format | None = None,
    ) -> None:
        if config is not None and not isinstance(config, CompactConfig):
            raise ConfigError(
                f"config must be a CompactConfig, not {type(config).__name__}. Settings become one with "
                "CompactConfig(**settings), a file with CompactConfig.load(path).",
                "config",
            )
        config = config or CompactConfig()
        self._assemble(config, share(config, summarizer, store, archive, exporters), format)
        self._owns_events = True

    def _assemble(self, config: CompactConfig, shared: Shared, format: str | Format | None) -> None:
        self.config = config
        self._shared = shared
        self._format = format
        self._engine, self._ports = assemble(config, shared, format, self._starts_over)

    def for_model(
        self,
        model: str,
        *,
        max_context_tokens: int | None = None,
        preset: str | None = None,
        policy: Policy | Mapping[str, Any] | None = None,
        format: str | Format | None = None,
    ) -> Self:
        """A lightweight manager for another model: same store, archive, events, redactor and summarizer.

        It uses no thread and no file. Without `max_context_tokens` the window is the model's own; preset,
        policy and format are this manager's unless given. Closing it leaves what is shared open. It is a
        shallow copy, so a subclass keeps its class and attributes.
        """
        settings = {name: getattr(self.config, name) for name in CompactConfig.model_fields}
        settings |= {"model": model, "max_context_tokens": max_context_tokens}
        if preset is not None:
            settings |= {"preset": preset, "policy": policy}
        elif policy is not None:
            settings["policy"] = policy
        sibling = copy(self)
        sibling._assemble(CompactConfig(**settings), self._shared, self._format if format is None else format)
        sibling._owns_events = False
        return sibling

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.aclose()

    def close(self, timeout: float = 3.0) -> None:
        """Deliver queued events to their exporters, within `timeout` seconds. Also runs at exit.

        Sessions are not touched; later events stay in the process. A sibling only flushes.
        """
        if self._owns_events:
            self._engine.events.close(timeout)
        else:
            self.flush(timeout)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until exporters have every event emitted so far; returns whether they do."""
        return self._engine.events.flush(timeout)

    @property
    def window(self) -> int:
        """In tokens: the model's, or `max_context_tokens` of the settings."""
        return self._engine.window

    @property
    def events(self) -> Sequence[Event]:
        """The newest events, oldest first."""
        return tuple(self._engine.events.recent)

    def warn(self, session_id: str, message: str, **data: Any) -> None:
        """Emit a warning event for the session. Never blocks."""
        check_session(session_id)
        self._engine.reporter.warn(session_id, message, **data)

    def preflight(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        """The messages to send now, unchanged or compacted, in the same format and list type as given."""
        return self._run(Call(session_id, messages, tools, system)).messages

    def prepare(
        self,
        session_id: str,
        messages: Sequence[Any],
        tools: Any = None,
        system: Any = None,
        *,
        context: str | None = None,
        wait: float | None = None,
        on_error: OnError = "raise",
    ) -> Prepared:
        """Like `preflight`, but also reports what it did.

        `context` is text that changes between calls (working memory, tool guidance). It enters as
        conversation, never as an edit of the system prompt, and stays where it was entered.

        While another compaction of the session runs, a prompt that fits is returned unchanged; one that does
        not waits up to `wait` seconds (default 2), then raises SessionBusy. With `on_error="pass"`, any
        failure returns the prompt unchanged: the outcome is then `Passed(cause)`, and a warning event is
        emitted. Arguments of a wrong type still raise an error.
        """
        call = Call(session_id, messages, tools, system, context, wait=wait)
        _check(call, on_error)
        try:
            return self._run(call)
        except Exception as error:
            if on_error == "raise":
                raise
            return self._engine.passed(call, error)

    def prepare_ahead(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> bool:
        """Write the summary of the next compaction now, in the background; returns whether one is ready.

        It holds no lease and stores nothing, so the conversation can continue. `prepare` uses it once a
        compaction is due, if the messages it was made from are unchanged.
        """
        call = self._filled(Call(session_id, messages, tools, system))
        return run(self._engine.prepare_ahead(call), self._ports(session_id))

    def view(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Prepared:
        """Like `prepare`, but compacts nothing now: what earlier compactions left, and everything since."""
        check_session(session_id)
        return run(self._engine.view(Call(session_id, messages, tools, system)), self._ports(session_id))

    def glance(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Prepared | None:
        """What `prepare` would return if it has nothing to compact; else None. Nothing is stored.

        For callers that cannot wait for a database: they call `prepare` afterward.
        """
        return self._engine.glance(Call(session_id, messages, tools, system))

    def append(self, session_id: str, messages: Sequence[Any]) -> None:
        """Store the list, as `prepare` would; nothing is compacted and nothing is returned.

        Like every method, it takes the whole list, not only what is new; what is already stored stays.
        """
        call = self._filled(Call(session_id, messages))
        run(self._engine.append(call), self._ports(session_id))

    def clear(self, session_id: str, messages: Sequence[Any]) -> Record:
        """Start over: nothing said so far is sent any more. It stays stored; `restore` undoes this.

        Keep sending the full list. The returned messages show no sign of what was cleared: a list that
        continues from them begins another history, where the cleared messages can be neither recalled nor
        restored.
        """
        call = self._filled(Call(session_id, messages))
        return undo.clear(self._engine, call, self._ports(session_id).archive)

    def manual_compact(
        self, session_id: str, messages: Sequence[Any], note: str = "", tools: Any = None, system: Any = None
    ) -> Any:
        """Compact now, however full the window is; `note` says what to focus on and goes into the trace.

        Raises SessionBusy if another compaction of the session is running.
        """
        check_note(note)
        call = self._filled(Call(session_id, messages, tools, system, note=note, reason=Reason.MANUAL))
        return self._run(call).messages

    def end_turn(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        """After a turn, even a failed one: clear old tool outputs if that saves enough (S2.9)."""
        call = self._filled(Call(session_id, messages, tools, system, reason=Reason.END_TURN))
        return self._run(call).messages

    def observe(
        self, session_id: str, messages: Sequence[Any], usage: Any, tools: Any = None, system: Any = None
    ) -> float:
        """Correct this session's estimate by the provider's reported usage for this prompt."""
        call = self._filled(Call(session_id, messages, tools, system))
        return queries.observe(self._engine, call, usage)

    def plan(
        self,
        session_id: str,
        messages: Sequence[Any],
        tools: Any = None,
        system: Any = None,
        *,
        manual: bool = False,
    ) -> Plan:
        """What `prepare`, or `manual_compact`, would do now, without doing it."""
        reason = Reason.MANUAL if manual else None
        return self._engine.plan(self._filled(Call(session_id, messages, tools, system, reason=reason)))

    def usage(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> ContextUsage:
        """Tokens, window, percent and breakdown of what would be sent now."""
        call = self._filled(Call(session_id, messages, tools, system))
        return queries.usage(self._engine, call)

    def overflow(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> OverflowCheck:
        """Only the overflow check: whether it overflows, current, available, model limit, output reserve."""
        call = self._filled(Call(session_id, messages, tools, system))
        return queries.overflow(self._engine, call)

    def records(self, session_id: str) -> Sequence[Record]:
        """The session's compactions, oldest first."""
        check_session(session_id)
        return self._engine.store.records(session_id)

    def recall(
        self, session_id: str, query_or_handle: str, limit: int = 5, *, after: int = -1
    ) -> list[Recalled]:
        """Originals that were cleared or summarized, by handle or by words.

        A summary's handle returns everything the summary replaced, in order. `after` continues after a
        position; words after the handle find the best matches in there.
        """
        found = queries.recall(self._engine, session_id, query_or_handle, limit, after)
        self._engine.events.emit(
            session_id, EventName.RECALL, {"query": query_or_handle, "found": [hit.position for hit in found]}
        )
        return found

    def restore(self, session_id: str, step: int) -> list[Any]:
        """Undo the compaction with that number, and those built on it; returns the list to continue with.

        That is the leading system messages as last seen, then all originals.
        """
        return undo.restore(self._engine, session_id, step)

    def delete(self, session_id: str) -> bool:
        """Delete the session's originals and records; returns whether there were any. Archives stay."""
        check_session(session_id)
        store = self._engine.store
        if not isinstance(store, Deletes):
            raise StoreError(
                f"{type(store).__name__} has no delete_session, so it cannot delete. Nothing was deleted."
            )
        self._engine.reader.forget(session_id)
        return bool(store.delete_session(session_id))

    def reload(self, session_id: str) -> None:
        """Drop what this process holds of the session in memory; the next call reads the store again."""
        check_session(session_id)
        self._engine.reader.forget(session_id)

    # Async versions. `warn`, `for_model` and `reload` never block, so they have none.

    @documented_by(preflight)
    async def apreflight(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        return (await self._arun(Call(session_id, messages, tools, system))).messages

    @documented_by(prepare)
    async def aprepare(
        self,
        session_id: str,
        messages: Sequence[Any],
        tools: Any = None,
        system: Any = None,
        *,
        context: str | None = None,
        wait: float | None = None,
        on_error: OnError = "raise",
    ) -> Prepared:
        call = Call(session_id, messages, tools, system, context, wait=wait)
        _check(call, on_error)
        try:
            return await self._arun(call)
        except Exception as error:
            if on_error == "raise":
                raise
            return await asyncio.to_thread(self._engine.passed, call, error)

    @documented_by(manual_compact)
    async def amanual_compact(
        self, session_id: str, messages: Sequence[Any], note: str = "", tools: Any = None, system: Any = None
    ) -> Any:
        check_note(note)
        call = await self._afilled(Call(session_id, messages, tools, system, note=note, reason=Reason.MANUAL))
        return (await self._arun(call)).messages

    @documented_by(end_turn)
    async def aend_turn(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        call = await self._afilled(Call(session_id, messages, tools, system, reason=Reason.END_TURN))
        return (await self._arun(call)).messages

    @documented_by(prepare_ahead)
    async def aprepare_ahead(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> bool:
        call = await self._afilled(Call(session_id, messages, tools, system))
        return await arun(self._engine.prepare_ahead(call), self._ports(session_id))

    # Those that never ask a summarizer are quick, but a store may block.
    aappend = in_thread(append)
    aclear = in_thread(clear)
    aclose = in_thread(close)
    adelete = in_thread(delete)
    aflush = in_thread(flush)
    aglance = in_thread(glance)
    aobserve = in_thread(observe)
    aoverflow = in_thread(overflow)
    aplan = in_thread(plan)
    arecall = in_thread(recall)
    arecords = in_thread(records)
    arestore = in_thread(restore)
    ausage = in_thread(usage)
    aview = in_thread(view)

    def _run(self, call: Call) -> Prepared:
        done = self._engine.start(call)
        if isinstance(done, Prepared):
            return done
        return run(self._engine.compact(done), self._ports(call.session_id))

    async def _arun(self, call: Call) -> Prepared:
        if not self._engine.reader.is_quick(call):
            return await arun(self._engine.prepare(call), self._ports(call.session_id))
        done = self._engine.start(call)
        if isinstance(done, Prepared):
            return done
        return await arun(self._engine.compact(done), self._ports(call.session_id))

    def _filled(self, call: Call) -> Call:
        """With the system prompt and tools as last seen, if the caller does not repeat them."""
        return self._engine.reader.with_last_system_and_tools(call)

    async def _afilled(self, call: Call) -> Call:
        # A session that is opened is read from the store.
        return await asyncio.to_thread(self._filled, call)


def _check(call: Call, on_error: str) -> None:
    check_session(call.session_id)
    check_asked(call.messages, call.tools, call.system, call.context)
    check_patience(call.wait, on_error)
