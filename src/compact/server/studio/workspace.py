"""Everything of one tenant: its store, its conversations, the replies being written."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from compact.chat.chats import Chats
from compact.chat.conversation import Conversation
from compact.chat.exchange import Exchange
from compact.errors import CompactError
from compact.model.event import Event, EventName
from compact.ports import Thread
from compact.server.http.problems import Problem
from compact.server.studio.figures import KnownFigures
from compact.server.studio.live_turn import LiveTurn
from compact.server.studio.metrics import Metrics
from compact.server.studio.named_locks import NamedLocks
from compact.server.studio.notifying import News
from compact.server.studio.open_sessions import OpenSession, OpenSessions
from compact.server.studio.presence import RENEW_SECONDS, Presence, Work, work_in
from compact.server.studio.refusals import compacting_now, missing, replying_now
from compact.server.studio.schemas import Usage
from compact.server.studio.session_events import SessionEvents, write_for
from compact.server.studio.showing import shown_usage
from compact.server.studio.turn import Turn
from compact.server.studio.ui_stream import usage_part
from compact.server.weighing import Room

T = TypeVar("T")
# Of the trigger. A turn adds a few percent of the window, so the summary is ready a turn or two ahead.
_SOFT = 0.8
_MOST_AHEAD = 2


class Workspace:
    def __init__(
        self,
        tenant: str,
        chats: Chats,
        events: SessionEvents,
        metrics: Metrics,
        presence: Presence,
        notify: Callable[[News, str], None],
        room: Room,
    ) -> None:
        self.tenant = tenant
        self.chats = chats
        self.store: Any = chats.store
        self.events = events
        self.metrics = metrics
        self.presence = presence
        self.figures = KnownFigures()
        self._notify = notify
        """Notifies other processes."""
        self._sessions = OpenSessions(chats, room)
        self._changing = NamedLocks()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._aheads = asyncio.Semaphore(_MOST_AHEAD)

    # -- sessions ------------------------------------------------------------------------------------------

    def new_id(self) -> str:
        # Sorts by time in lists of names; two of the same second are two sessions.
        return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"

    async def thread(self, session_id: str) -> Thread:
        return await self._sessions.thread(session_id)

    async def look(self, session_id: str, ask: Callable[[Conversation], T]) -> T:
        """Read from the conversation; while a reply is written, from what is there so far."""
        entry = await self._sessions.opened(session_id)
        if entry.streaming or entry.compaction is not None:
            return await asyncio.to_thread(ask, entry.conversation)
        async with entry.lock:
            await self._sessions.catch_up(entry)
            return await asyncio.to_thread(ask, entry.conversation)

    async def change(self, session_id: str, act: Callable[[Conversation], T]) -> T:
        """Change the conversation, with nobody else working on it. Whoever follows it learns its new size."""

        def changed() -> tuple[T, Usage | None]:
            before = shown_usage(entry.conversation)
            found, after = act(entry.conversation), shown_usage(entry.conversation)
            return found, after if after != before else None

        entry = await self._sessions.opened(session_id)
        self._refuse_busy(entry)
        async with entry.lock:
            self._refuse_busy(entry)
            await self._sessions.catch_up(entry)
            found, usage = await asyncio.to_thread(changed)
        self._sessions.make_room(entry)
        if usage is not None:
            await self.announce(session_id, usage)
        return found

    def usage_now(self, session_id: str) -> Usage | None:
        """How full the window is, if the session is in memory as the store has it."""
        entry = self._sessions.get(session_id)
        return shown_usage(entry.conversation) if entry is not None and not entry.stale else None

    def reopen(self, session_id: str) -> None:
        """It was moved to another space: the next use reads its settings again."""
        self._sessions.make_stale(session_id)

    def reopen_space(self, name: str) -> None:
        """A space changed: its sessions read their settings again, here and in other processes."""
        self._sessions.make_space_stale(name)
        self._notify(News.SPACE, name)

    @asynccontextmanager
    async def alone(self, session_id: str) -> AsyncIterator[None]:
        """A change of settings and a deletion come one after the other: the first would bring it back."""
        async with self._changing.of(session_id):
            yield

    async def delete(self, session_id: str) -> None:
        """Stop whatever runs in the session, wherever it runs, and remove it."""
        await self.stop(session_id)
        await self.cancel_compaction(session_id)
        async with self.alone(session_id):
            self._sessions.close(session_id)
            if not await asyncio.to_thread(self.chats.delete, session_id):
                raise missing(session_id)
        self._notify(News.CHANGED, session_id)
        self.events.ring(session_id)

    def is_streaming(self, thread: Thread) -> bool:
        """Whether a reply is being written, here or by another process."""
        entry = self._sessions.get(thread.session_id)
        return (entry is not None and entry.streaming) or _reply_in(thread) is not None

    def hear(self, news: News, session_id: str) -> None:
        """News from another process; called in the loop. For a space `session_id` is its name."""
        entry = self._sessions.get(session_id)
        if news is News.SPACE:
            self._sessions.make_space_stale(session_id)
        elif news is News.CHANGED:
            self._sessions.make_stale(session_id)
            self.events.ring(session_id)
        elif entry is not None and entry.streaming and entry.turn is not None:
            stop = entry.turn.stop() if news is News.STOP else entry.turn.stop_if_compacting()
            self._background(stop)
        elif entry is not None and entry.compaction is not None and news is News.CANCEL:
            entry.compaction.cancel()

    def _background(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- events --------------------------------------------------------------------------------------------

    async def last_event(self, session_id: str) -> int:
        """The number of the newest event of the session."""
        await self._sessions.thread(session_id)
        found = await asyncio.to_thread(self.store.last_event, session_id, EventName.DOOR)
        return found.sequence if found is not None else 0

    async def event_page(self, session_id: str, after: int, limit: int) -> list[Event]:
        return (await asyncio.to_thread(self.events.page, session_id, after, limit))[0]

    async def announce(self, session_id: str, usage: Usage) -> None:
        """The prompt changed outside of a turn."""
        part = usage_part(usage.model_dump())
        beside = partial(self.presence.used, session_id, usage)
        await asyncio.to_thread(partial(self.events.store, session_id, part, beside=beside))

    # -- turns ---------------------------------------------------------------------------------------------

    async def begin(self, session_id: str, make: Callable[[Conversation], Exchange]) -> LiveTurn:
        """Begin a reply; it continues on its own."""
        entry = await self._sessions.opened(session_id)
        self._refuse_busy(entry)
        async with entry.lock:
            self._refuse_busy(entry)
            thread = await self._sessions.same(entry)
            exchange = await asyncio.to_thread(make, entry.conversation)
            turn = Turn(entry.conversation, exchange, self.events, self.metrics, self.presence)
            await self._claim(thread, turn.work)
            entry.turn = turn
            turn.start().add_done_callback(lambda _: self._after(entry, turn))
            return turn.live

    def _after(self, entry: OpenSession, turn: Turn) -> None:
        self._sessions.make_room(entry)
        self._background(self._ahead(entry, turn))

    async def _ahead(self, entry: OpenSession, turn: Turn) -> None:
        """While the user reads: make the summary of a compaction that is near (S5.13)."""
        conversation = entry.conversation
        usage = conversation.usage
        near = _SOFT * usage.trigger <= usage.tokens < usage.trigger
        if entry.turn is not turn or entry.ahead or not near:
            return
        entry.ahead = True
        try:
            async with self._aheads:
                tools = conversation.tools.schemas or None
                with suppress(CompactError):
                    await conversation.manager.aprepare_ahead(conversation.id, conversation.history, tools)
        finally:
            entry.ahead = False

    async def live(self, session_id: str) -> LiveTurn | None:
        """The newest reply of this process."""
        entry = self._sessions.get(session_id)
        return entry.turn.live if entry is not None and entry.turn is not None else None

    async def elsewhere(self, session_id: str) -> Work | None:
        """The reply that another process writes."""
        return _reply_in(await self._sessions.thread(session_id))

    async def is_over(self, session_id: str, reply: Work) -> bool:
        thread = await asyncio.to_thread(self.store.session, session_id)
        now = _reply_in(thread) if thread is not None else None
        return now is None or now.id != reply.id

    async def stop(self, session_id: str) -> bool:
        entry = self._sessions.get(session_id)
        if entry is not None and entry.streaming and entry.turn is not None:
            await entry.turn.stop()
            return True
        running = await self.elsewhere(session_id)
        if running is None:
            return False
        self._notify(News.STOP, session_id)
        return await self._gone(session_id, running)

    async def _gone(self, session_id: str, running: Work) -> bool:
        """Whether another process's turn ended within some seconds."""
        for _ in range(50):
            if await self.is_over(session_id, running):
                return True
            await asyncio.sleep(0.1)
        return False

    async def compacting(self, session_id: str, work: Callable[[Conversation], Any]) -> Any:
        """Run a compaction that can be canceled; `work` returns an awaitable."""
        entry = await self._sessions.opened(session_id)
        self._refuse_busy(entry)
        async with entry.lock:
            self._refuse_busy(entry)
            claimed = Work(secrets.token_hex(6), compacts=True)
            await self._claim(await self._sessions.same(entry), claimed)
            running = entry.compaction = asyncio.ensure_future(self._compacted(entry, claimed, work))
            running.add_done_callback(lambda _: entry.compaction_ended())
            try:
                # A client that leaves does not end it; only `cancel` does.
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                if running.cancelled():
                    # One that was canceled before its first step did not end its claim.
                    await self._release(entry.conversation.id, claimed)
                    raise Problem(
                        409, "cancelled", "The compaction was cancelled. The session is unchanged."
                    ) from None
                raise

    async def _compacted(self, entry: OpenSession, claimed: Work, work: Callable[[Conversation], Any]) -> Any:
        conversation, presence = entry.conversation, self.presence
        write_for(conversation.log.row.incarnation)
        renewing = asyncio.ensure_future(self._renewing(conversation.id, claimed))
        try:
            await asyncio.to_thread(conversation.catch_up)
            return await work(conversation)
        finally:
            renewing.cancel()
            if presence.shared:
                usage = shown_usage(conversation)
                await asyncio.shield(asyncio.to_thread(presence.ended, conversation.id, claimed, usage))

    async def _renewing(self, session_id: str, claimed: Work) -> None:
        while self.presence.shared:
            await asyncio.sleep(RENEW_SECONDS)
            with suppress(CompactError):
                await asyncio.to_thread(self.presence.renew, session_id, claimed)

    async def cancel_compaction(self, session_id: str) -> bool:
        entry = self._sessions.get(session_id)
        if entry is not None and entry.compaction is not None:
            return entry.compaction.cancel()
        if entry is not None and entry.streaming and entry.turn is not None:
            return await entry.turn.stop_if_compacting()
        if not (await self._sessions.thread(session_id)).currently_compacting:
            return False
        self._notify(News.CANCEL, session_id)
        return True

    async def finish(self, seconds: float) -> None:
        """Let turns and compactions finish. Of a reply that takes longer, what arrived so far is kept; a
        compaction that does is canceled."""
        open_now = list(self._sessions.all())
        turns = [entry.turn for entry in open_now if entry.streaming and entry.turn is not None]
        compactions = [entry.compaction for entry in open_now if entry.compaction is not None]
        replies = [turn.task for turn in turns if turn.task is not None]
        if replies or compactions:
            await asyncio.wait({*replies, *compactions}, timeout=seconds)
            await asyncio.gather(*(turn.stop() for turn in turns))
        for compaction in compactions:
            compaction.cancel()
        await asyncio.gather(*compactions, return_exceptions=True)

    async def close(self) -> None:
        await self.finish(0)  # What began during the stop.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.chats.close)

    @property
    def streaming(self) -> int:
        return sum(entry.streaming for entry in self._sessions.all())

    @property
    def open_sessions(self) -> int:
        return len(self._sessions.all())

    def _refuse_busy(self, entry: OpenSession) -> None:
        if entry.compaction is not None or (entry.turn is not None and entry.turn.compacting):
            raise compacting_now()
        if entry.streaming:
            raise replying_now()

    async def _claim(self, thread: Thread, work: Work) -> None:
        """Rejected at once if another process compacts (S2.16) or writes a reply.

        So replies of one session come one after the other, and reports about them come in order.
        """
        if self.presence.shared:
            claim = asyncio.to_thread(self.presence.claim, thread.session_id, work)
            claiming = asyncio.ensure_future(claim)
            try:
                taken = await asyncio.shield(claiming)
            except asyncio.CancelledError:
                await asyncio.shield(self._give_back(thread.session_id, work, claiming))
                raise
            if taken is None:
                return
            if not taken.currently_compacting and _reply_in(taken) is not None:
                raise replying_now()
            raise compacting_now()
        if thread.currently_compacting:
            raise compacting_now()

    async def _give_back(self, session_id: str, work: Work, claiming: asyncio.Future[Any]) -> None:
        """Whoever wanted to work has left, but the thread that claims the session continues."""
        await asyncio.gather(claiming, return_exceptions=True)
        await self._release(session_id, work)

    async def _release(self, session_id: str, work: Work) -> None:
        if self.presence.shared:
            with suppress(CompactError):
                await asyncio.to_thread(self.presence.release, session_id, work)


def _reply_in(thread: Thread) -> Work | None:
    found = work_in(thread)
    return found if found is not None and not found.compacts else None
