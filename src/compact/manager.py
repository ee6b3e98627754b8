"""CompactManager, the one object that users hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from compact.config import CompactConfig
from compact.core.view import START, undo_key
from compact.engine import inspect
from compact.engine.drivers import arun, run
from compact.engine.given import shell
from compact.engine.inspect import Recalled
from compact.engine.lookout import Call
from compact.errors import CompactError, ConfigError, NotFound, SessionBusy
from compact.model.event import Event, EventName, Reason
from compact.model.outcome import ContextUsage, OverflowCheck, Prepared
from compact.model.plan import Plan
from compact.model.record import Record, RecordKind
from compact.ports import Archive, Store
from compact.tracing.stream import AnyExporter
from compact.wiring import wire


class CompactManager:
    """Keeps conversations inside the window. One manager serves many sessions and threads.

    Every method takes the caller's own messages, in any known format, and never changes them.
    """

    def __init__(
        self,
        config: CompactConfig | None = None,
        summarizer: Any = None,
        store: Store | None = None,
        archive: Archive | None = None,
        exporters: Sequence[AnyExporter] = (),
        *,
        format: str | None = None,
    ) -> None:
        if config is not None and not isinstance(config, CompactConfig):
            raise ConfigError(
                f"config must be a CompactConfig, not {type(config).__name__}. Settings become one with "
                "CompactConfig(**settings), a file with CompactConfig.load(path).",
                "config",
            )
        self.config = config or CompactConfig()
        self._engine, self._ports = wire(self.config, summarizer, store, archive, exporters, format)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.aclose()

    def close(self, timeout: float = 3.0) -> None:
        """Deliver the events that wait to their exporters, for so long at most. Done by itself at exit.

        Sessions are not touched; events that come later stay in the process.
        """
        self._engine.events.close(timeout)

    async def aclose(self, timeout: float = 3.0) -> None:
        await asyncio.to_thread(self.close, timeout)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until exporters have had every event told so far; says whether they had."""
        return self._engine.events.flush(timeout)

    async def aflush(self, timeout: float = 5.0) -> bool:
        return await asyncio.to_thread(self.flush, timeout)

    @property
    def window(self) -> int:
        return self._engine.window

    @property
    def events(self) -> Sequence[Event]:
        """The newest events, oldest first."""
        return tuple(self._engine.events.recent)

    def preflight(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        """The messages to send now: as they are, or compacted; same format and list type as given."""
        return self.prepare(session_id, messages, tools, system).messages

    def prepare(
        self,
        session_id: str,
        messages: Sequence[Any],
        tools: Any = None,
        system: Any = None,
        *,
        context: str | None = None,
    ) -> Prepared:
        """Like `preflight`, and says what it did.

        `context` is text that changes between calls (working memory, tool guidance); it enters as
        conversation, never as an edit of the system prompt, and stays where it was entered.
        """
        return self._run(Call(session_id, messages, tools, system, context))

    def view(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Prepared:
        """Like `prepare`, but nothing is compacted now: what earlier compactions left, and all since."""
        return self._engine.view(Call(session_id, messages, tools, system))

    def clear(self, session_id: str, messages: Sequence[Any]) -> Record:
        """Start afresh: nothing said so far goes out any more. It stays stored; `restore` undoes it."""
        with self._engine.store.lease(session_id, 60.0) as granted:
            if not granted:
                raise SessionBusy(session_id)
            return self._engine.clear(self._with_known_fixed(Call(session_id, messages)))

    def manual_compact(
        self, session_id: str, messages: Sequence[Any], note: str = "", tools: Any = None, system: Any = None
    ) -> Any:
        """Compact now, whatever the usage; `note` says what to keep in view and goes into the trace."""
        call = Call(session_id, messages, tools, system, note=note, reason=Reason.MANUAL)
        return self._run(self._with_known_fixed(call)).messages

    def end_turn(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        """After a turn, also one that failed: clear old tool outputs if that saves enough (S2.9)."""
        call = Call(session_id, messages, tools, system, reason=Reason.END_TURN)
        return self._run(self._with_known_fixed(call)).messages

    def observe(
        self, session_id: str, messages: Sequence[Any], usage: Any, tools: Any = None, system: Any = None
    ) -> float:
        """The provider's reported usage for this prompt corrects the estimate of this session."""
        call = self._with_known_fixed(Call(session_id, messages, tools, system))
        return inspect.observe(self._engine, call, usage)

    def plan(self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None) -> Plan:
        """What `prepare` would do now. Nothing happens."""
        return self._engine.plan(self._with_known_fixed(Call(session_id, messages, tools, system)))

    def usage(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> ContextUsage:
        """Tokens, window, per cent and breakdown of what would be sent now."""
        call = self._with_known_fixed(Call(session_id, messages, tools, system))
        return inspect.usage(self._engine, call)

    def overflow(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> OverflowCheck:
        """The overflow check alone: is it, current, available, model limit, output reserve."""
        call = self._with_known_fixed(Call(session_id, messages, tools, system))
        return inspect.overflow(self._engine, call)

    def records(self, session_id: str) -> Sequence[Record]:
        """The session's compactions, oldest first."""
        return self._engine.store.records(session_id)

    def recall(
        self, session_id: str, query_or_handle: str, limit: int = 5, *, after: int = -1
    ) -> list[Recalled]:
        """Originals that were cleared or summarized, by handle or by words.

        A summary's handle gives all that the summary stands for, in order: `after` goes on behind a position,
        words behind the handle look for the best of them.
        """
        found = inspect.recall(self._engine, session_id, query_or_handle, limit, after)
        self._engine.events.emit(
            session_id, EventName.RECALL, {"query": query_or_handle, "found": [hit.position for hit in found]}
        )
        return found

    def restore(self, session_id: str, step: int) -> list[Any]:
        """Undo the compaction with that number, and those built on it; returns the list to go on with.

        That is the leading system messages as last seen, then all originals.
        """
        records = self.records(session_id)
        revoked = {record.revokes for record in records}
        known = [record for record in records if record.kind is not RecordKind.RESTORE]
        chosen = next((record for record in reversed(known) if record.step == step), None)
        if chosen is None:
            steps = ", ".join(str(record.step) for record in known) or "none"
            raise NotFound(
                f"session {session_id!r} has no compaction {step} (it has: {steps}). Nothing was changed."
            )
        originals = list(self._engine.store.originals(session_id))
        if len(originals) < chosen.source_length:
            raise CompactError(
                f"session {session_id!r} has not all that compaction {step} replaced: it began with a list "
                "that another session's compaction had shortened, and those originals are gone. "
                "Nothing was changed."
            )
        session = self._engine.session(session_id)
        revision = 1 + max(record.revision for record in records)
        with self._engine.store.lease(session_id, 60.0) as granted:
            if not granted:
                raise SessionBusy(session_id)
            # The newest first: a crash on the way leaves an earlier state, never a gap.
            for record in reversed([chosen, *_built_on(chosen, known)]):
                if record.id not in revoked:
                    session.learn(self._engine.store.commit(_undoing(record, revision)))
        with session.lock:
            session.forget_lines()
            head = inspect.objects_of(session.leading.head.messages) or shell(session.kept_head)
        self._engine.events.emit(session_id, EventName.RESTORED, {"step": step}, step)
        return [*head, *inspect.objects_of(originals)]

    def forget(self, session_id: str) -> bool:
        """Delete the session's originals and records; says whether there were any. Redacted archives stay."""
        self._engine.forget(session_id)
        delete = getattr(self._engine.store, "delete_session", None)
        return bool(delete(session_id)) if delete is not None else False

    def reload(self, session_id: str) -> None:
        """Forget what this process holds of the session in memory; the next call reads the store again."""
        self._engine.forget(session_id)

    async def apreflight(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        return (await self.aprepare(session_id, messages, tools, system)).messages

    async def aprepare(
        self,
        session_id: str,
        messages: Sequence[Any],
        tools: Any = None,
        system: Any = None,
        *,
        context: str | None = None,
    ) -> Prepared:
        return await self._arun(Call(session_id, messages, tools, system, context))

    async def amanual_compact(
        self, session_id: str, messages: Sequence[Any], note: str = "", tools: Any = None, system: Any = None
    ) -> Any:
        call = Call(session_id, messages, tools, system, note=note, reason=Reason.MANUAL)
        return (await self._arun(self._with_known_fixed(call))).messages

    async def aend_turn(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Any:
        call = Call(session_id, messages, tools, system, reason=Reason.END_TURN)
        return (await self._arun(self._with_known_fixed(call))).messages

    # What only looks is quick, but a store may block: it is asked in a thread.

    async def aobserve(
        self, session_id: str, messages: Sequence[Any], usage: Any, tools: Any = None, system: Any = None
    ) -> float:
        return await asyncio.to_thread(self.observe, session_id, messages, usage, tools, system)

    async def aplan(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Plan:
        return await asyncio.to_thread(self.plan, session_id, messages, tools, system)

    async def ausage(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> ContextUsage:
        return await asyncio.to_thread(self.usage, session_id, messages, tools, system)

    async def aoverflow(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> OverflowCheck:
        return await asyncio.to_thread(self.overflow, session_id, messages, tools, system)

    async def aview(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Prepared:
        return await asyncio.to_thread(self.view, session_id, messages, tools, system)

    async def aclear(self, session_id: str, messages: Sequence[Any]) -> Record:
        return await asyncio.to_thread(self.clear, session_id, messages)

    async def arestore(self, session_id: str, step: int) -> list[Any]:
        return await asyncio.to_thread(self.restore, session_id, step)

    async def arecall(
        self, session_id: str, query_or_handle: str, limit: int = 5, *, after: int = -1
    ) -> list[Recalled]:
        return await asyncio.to_thread(self.recall, session_id, query_or_handle, limit, after=after)

    async def aforget(self, session_id: str) -> bool:
        return await asyncio.to_thread(self.forget, session_id)

    async def arecords(self, session_id: str) -> Sequence[Record]:
        return await asyncio.to_thread(self.records, session_id)

    def _run(self, call: Call) -> Prepared:
        done = self._engine.glance(call)
        return done if done is not None else run(self._engine.compact(call), self._ports(call.session_id))

    async def _arun(self, call: Call) -> Prepared:
        return await arun(self._engine.prepare(call), self._ports(call.session_id))

    def _with_known_fixed(self, call: Call) -> Call:
        """System and tools as last seen, where the caller does not repeat them."""
        session = self._engine.session(call.session_id)
        tools = call.tools if call.tools is not None else (session.tools_key or (None,))[0]
        system = call.system if call.system is not None else (session.system_key or (None,))[0]
        return replace(call, tools=tools, system=system)


def _undoing(record: Record, revision: int) -> Record:
    return replace(
        record,
        id=f"restore-{record.id}",
        kind=RecordKind.RESTORE,
        source=undo_key(record.source),
        output=START,
        entries=(),
        revokes=record.id,
        revision=revision,
    )


def _built_on(record: Record, records: Sequence[Record]) -> list[Record]:
    built: list[Record] = []
    ids = {record.id}
    for other in records:
        if other.parent in ids:
            ids.add(other.id)
            built.append(other)
    return built
