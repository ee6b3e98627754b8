"""The conversations that a workspace holds in memory, and when they are read from the store again."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from compact.chat.chats import Chats
from compact.chat.conversation import Conversation
from compact.errors import HistoryGone
from compact.ports import Thread
from compact.server.studio.named_locks import NamedLocks
from compact.server.studio.refusals import missing
from compact.server.studio.turn import Turn
from compact.server.weighing import Room, Weight


@dataclass
class OpenSession:
    """A conversation in memory. Its lock is held by whoever changes it, and while a turn begins."""

    conversation: Conversation
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    turn: Turn | None = None
    """The newest; also when it is done, for readers that come back for its end."""
    compaction: asyncio.Task[Any] | None = None
    ahead: bool = False
    """The summary of its next compaction is being made."""
    stale: bool = False
    """The session or its settings may have changed since: it is checked once nobody works on it."""
    stored: tuple[Any, ...] | None = None
    """What the store showed of it when it was opened: it is reopened only if that has changed."""
    weight: Weight = field(default_factory=Weight)

    def compaction_ended(self) -> None:
        self.compaction = None

    @property
    def streaming(self) -> bool:
        return self.turn is not None and not self.turn.live.done

    @property
    def busy(self) -> bool:
        return self.streaming or self.compaction is not None or self.lock.locked()


class OpenSessions:
    def __init__(self, chats: Chats, room: Room) -> None:
        self._chats = chats
        self._store = chats.store
        self._room = room
        self._open: OrderedDict[str, OpenSession] = OrderedDict()
        self._opening = NamedLocks()

    def get(self, session_id: str) -> OpenSession | None:
        """The session as it is, if it is in memory."""
        return self._open.get(session_id)

    def all(self) -> Collection[OpenSession]:
        return self._open.values()

    def close(self, session_id: str) -> None:
        self._open.pop(session_id, None)

    async def thread(self, session_id: str) -> Thread:
        found: Thread | None = await asyncio.to_thread(self._store.session, session_id)
        if found is None:
            raise missing(session_id)
        return found

    async def opened(self, session_id: str) -> OpenSession:
        """The session in memory, with what other doors have added."""
        entry = self._open.get(session_id)
        if entry is not None and entry.stale and not entry.busy:
            async with entry.lock:
                await self._look_again(entry)
        if entry is None:
            # Two requests at once must get the same conversation object.
            async with self._opening.of(session_id):
                entry = self._open.get(session_id) or await self._opened(session_id)
        if session_id in self._open:
            self._open.move_to_end(session_id)
        return entry

    async def _opened(self, session_id: str) -> OpenSession:
        stored = _shown(await self.thread(session_id))
        entry = OpenSession(await self._chats.aopen(session_id), stored=stored)
        self._open[session_id] = entry
        self.make_room(entry)
        return entry

    def make_room(self, newest: OpenSession) -> None:
        """Close conversations that nobody uses, oldest first, while there are too many or they are too long.

        The engine drops them too, or it would hold the history of thousands of sessions.
        """
        newest.weight.take(newest.conversation.turns)
        held = sum(entry.weight.bytes for entry in self._open.values())
        for old, entry in list(self._open.items()):
            if len(self._open) <= self._room.conversations and held <= self._room.bytes:
                return
            if entry is not newest and not entry.busy and not entry.ahead:
                held -= entry.weight.bytes
                del self._open[old]
                self._chats.reload(old)

    async def _look_again(self, entry: OpenSession) -> None:
        """Reopen it, unless all that arrived were announcements: other processes store several per turn."""
        # Before it is read: what changes meanwhile makes it stale again.
        entry.stale = False
        try:
            thread: Thread | None = await asyncio.to_thread(self._store.session, entry.conversation.id)
            if thread is None or _shown(thread) != entry.stored:
                await self._open_again(entry)
        except BaseException:
            entry.stale = True
            raise

    async def _open_again(self, entry: OpenSession) -> None:
        session_id, entry.stale = entry.conversation.id, False
        try:
            self._chats.reload(session_id)
            thread: Thread | None = await asyncio.to_thread(self._store.session, session_id)
            if thread is None:
                self._open.pop(session_id, None)
                raise missing(session_id)
            entry.stored = _shown(thread)
            entry.conversation = await self._chats.aopen(session_id)
        except BaseException:
            entry.stale, entry.stored = True, None
            raise

    async def catch_up(self, entry: OpenSession) -> None:
        """Pick up what other doors did; if one deleted the session and created it again, open that one."""
        try:
            await asyncio.to_thread(entry.conversation.catch_up)
        except HistoryGone:
            await self._open_again(entry)

    def make_stale(self, session_id: str) -> None:
        """The session may have changed: its next use finds out."""
        if session_id in self._open:
            self._open[session_id].stale = True

    def make_space_stale(self, name: str) -> None:
        """A space changed, which its sessions do not show: their next use reopens them."""
        for entry in self._open.values():
            if entry.conversation.log.row.space == name:
                entry.stale, entry.stored = True, None

    async def same(self, entry: OpenSession) -> Thread:
        """The stored session; if another process has deleted it and created it again, the new one is
        opened."""
        thread = await self.thread(entry.conversation.id)
        if thread.incarnation != entry.conversation.log.row.incarnation:
            await self._open_again(entry)
        return thread


def _shown(thread: Thread) -> tuple[Any, ...]:
    """The part of a session that a conversation is read from: not who works on it, nor how full it is."""
    return thread.incarnation, thread.updated_at, thread.space, thread.title
