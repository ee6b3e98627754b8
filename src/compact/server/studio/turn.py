"""One reply on its way: runs the exchange, sends its chunks, and stores what others should see of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from compact.chat.conversation import Conversation
from compact.chat.events import (
    Accepted,
    ChatEvent,
    Compacting,
    ContextReduced,
    Failed,
    Finished,
    Notice,
    Stored,
)
from compact.chat.exchange import Exchange
from compact.errors import ChatError, CompactError, StoreError
from compact.model.event import EventName
from compact.model.outcome import ContextUsage
from compact.server.defects import log_defect
from compact.server.studio.live_turn import LiveTurn
from compact.server.studio.metrics import Metrics
from compact.server.studio.presence import RENEW_SECONDS, Presence, Work
from compact.server.studio.schemas import Usage
from compact.server.studio.session_events import SessionEvents, write_for
from compact.server.studio.showing import shown_usage
from compact.server.studio.ui_stream import Chunk, UiStream, notice_part, usage_part

_ENDS = (EventName.COMPLETE, EventName.FAILED)
_FLUSH_SECONDS = 2.0
_FAILED = "Something went wrong on the server. What was stored before is unchanged; try again."


class Turn:
    def __init__(
        self,
        conversation: Conversation,
        exchange: Exchange,
        events: SessionEvents,
        metrics: Metrics,
        presence: Presence,
    ) -> None:
        self.live = LiveTurn(conversation.id)
        self.work = Work(self.live.id, exchange.position)
        """As other processes know it."""
        self.task: asyncio.Task[None] | None = None
        self.compacting = False
        """Whether a compaction runs just now: then another message is refused (S2.16)."""
        self._conversation = conversation
        self._exchange = exchange
        self._events = events
        self._metrics = metrics
        self._presence = presence
        self._ui = UiStream()
        self._compacted = False
        self._end: list[Chunk] = []
        """Sent when the session is free again: whoever sees the end of a reply may send the next message."""
        self._announced: Usage | None = None
        """How full the window was when that was last stored."""

    def start(self) -> asyncio.Task[None]:
        self.task = asyncio.get_running_loop().create_task(self._run())
        return self.task

    async def stop(self) -> None:
        """Stop it; returns when what arrived so far is stored."""
        self._exchange.stop()
        if self.task is not None:
            await asyncio.wait({self.task})

    async def stop_if_compacting(self) -> bool:
        if not self.compacting:
            return False
        await self.stop()
        return True

    async def _run(self) -> None:
        begun = time.monotonic()
        write_for(self._conversation.log.row.incarnation)
        renewing = asyncio.get_running_loop().create_task(self._renewing())
        try:
            async for event in self._exchange:
                await self._take(event)
        except Exception as error:
            # A defect: readers get an end, the log gets the details, and neither gets the other's.
            self._log(f"a turn of session {self._conversation.id} failed", error)
            self._end = [{"type": "error", "errorText": _FAILED}, {"type": "finish", "finishReason": "error"}]
        finally:
            renewing.cancel()
            with contextlib.suppress(Exception):
                await asyncio.to_thread(self._ended)
            self.live.finish(*self._end)
            self._metrics.turn_ended(time.monotonic() - begun)

    def _log(self, what: str, error: BaseException) -> None:
        log_defect(what, error, self._conversation.manager.config)

    async def _take(self, event: ChatEvent) -> None:
        match event:
            case Compacting(event=engine_event):
                self._compacted = True
                if engine_event.name is EventName.START or engine_event.name in _ENDS:
                    self.compacting = engine_event.name is EventName.START
            case Accepted(position=position) if position != self.work.position:
                # Another process had added messages before it.
                self.work = Work(self.work.id, position)
                await self._renew()
            case Failed(error=error):
                self._metrics.turns_failed += 1
                if isinstance(error, ChatError | StoreError) and error.__cause__ is not None:
                    self._log(f"a turn of session {self._conversation.id} failed", error)
            case ContextReduced(usage=usage):
                await self._report_usage(usage)
            case Stored():
                # Before its chunks: whoever sees the end of a reply finds it stored and announced.
                await self._stored(event)
            case Notice():
                await self._keep(notice_part(event))
            case Finished():
                self.compacting = False
                self._end = list(self._ui.chunks(event))
                return
        for chunk in self._ui.chunks(event):
            self.live.add(chunk)

    async def _stored(self, event: Stored) -> None:
        last = event.position + len(event.turns) - 1
        message = {"type": "message", "data": {"position": event.position, "last_position": last}}
        await self._report_usage(event.usage, message)
        self._metrics.messages_stored += len(event.turns)

    async def _report_usage(self, now: ContextUsage, *events: Any) -> None:
        """To all who follow the session, after these events, and to the reader of the reply."""
        usage = shown_usage(self._conversation, now)
        part = usage_part(usage.model_dump())
        await self._keep(*events, part, usage=usage)
        self.live.add(part)

    async def _renewing(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._renew()
            with contextlib.suppress(CompactError):
                log = self._conversation.log
                if await asyncio.to_thread(self._presence.is_gone, log.id, log.row.incarnation):
                    self._exchange.stop()  # deleted by another process: the model need not continue

    async def _renew(self) -> None:
        if self._presence.shared:
            with contextlib.suppress(CompactError):
                await asyncio.to_thread(self._presence.renew, self._conversation.id, self.work)

    def _ended(self) -> None:
        conversation, shared = self._conversation, self._presence.shared
        if self._compacted:
            # Whoever sees the end of a reply finds the engine's events about it stored.
            conversation.manager.flush(_FLUSH_SECONDS)
        usage = shown_usage(conversation)
        if shared:
            # In one transaction: whoever follows from another process learns of the end at once.
            ended = partial(self._presence.ended, conversation.id, self.work, usage)
            notice = {"type": "session", "data": {"id": conversation.id}}
            self._events.store(conversation.id, notice, beside=ended)
        elif not shared and usage != self._announced:
            beside = partial(self._presence.used, conversation.id, usage)
            self._events.store(conversation.id, beside=beside)

    async def _keep(self, *events: Any, usage: Usage | None = None) -> None:
        with contextlib.suppress(Exception):
            # The reply continues even if an announcement cannot be stored.
            await asyncio.to_thread(self._announce, events, usage)

    def _announce(self, events: Sequence[Any], usage: Usage | None) -> None:
        """In one transaction: a turn has few, and each transaction costs as much as everything in it."""
        if usage is None:
            self._events.store(self._conversation.id, *events)
            return
        own_id = self._conversation.id
        self._events.store(own_id, *events, beside=lambda: self._presence.used(own_id, usage))
        self._announced = usage
