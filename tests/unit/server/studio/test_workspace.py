"""A workspace of one process among several: what it claims, and what it reads again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from compact.chat import Chats, Conversation
from compact.model.event import EventName
from compact.ports import Thread
from compact.server.http.problems import Problem
from compact.server.studio.metrics import Metrics
from compact.server.studio.notifying import News
from compact.server.studio.presence import Presence, Work, work_in
from compact.server.studio.session_events import SessionEvents
from compact.server.studio.workspace import Workspace
from compact.server.weighing import Room
from compact.stores.memory import MemoryStore
from support.studio import RuleModel, config


class Counted(Chats):
    """Chats that count how often a conversation is read from the store as a whole."""

    opens = 0

    def open(self, session_id: str, **wanted: Any) -> Conversation:
        self.opens += 1
        return super().open(session_id, **wanted)


def chats_on(store: MemoryStore, kind: type[Chats] = Chats) -> Any:
    model = RuleModel()
    return kind(config(), store, lambda _: model)


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    list(chats_on(store).open("s").send("hello"))
    return store


def run(store: MemoryStore, act: Callable[[Workspace], Coroutine[Any, Any, None]]) -> None:
    """Act on a workspace that shares its store with other processes."""

    async def main() -> None:
        metrics = Metrics()
        events = SessionEvents(store, asyncio.get_running_loop(), metrics)
        chats, presence = chats_on(store, Counted), Presence(store, shared=True)
        room = Room(conversations=10, bytes=1_000_000)
        workspace = Workspace("t", chats, events, metrics, presence, lambda *_: None, room)
        try:
            await act(workspace)
        finally:
            await workspace.finish(5.0)
            await workspace.close()

    asyncio.run(main())


def holder(store: MemoryStore) -> Work | None:
    thread = store.session("s")
    assert thread is not None
    return work_in(thread)


@pytest.mark.parametrize("begins", ["reply", "compaction"])
def test_a_begin_that_is_cancelled_leaves_the_session_free(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    async def nothing() -> None:
        raise AssertionError("never reached")

    async def act(workspace: Workspace) -> None:
        claim, claimed, go_on = workspace.presence.claim, asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def held_up(session_id: str, work: Work) -> Thread | None:
            taken = claim(session_id, work)
            loop.call_soon_threadsafe(claimed.set)
            assert go_on.wait(60)
            return taken

        monkeypatch.setattr(workspace.presence, "claim", held_up)
        beginning = asyncio.ensure_future(
            workspace.begin("s", lambda conversation: conversation.send("more"))
            if begins == "reply"
            else workspace.compacting("s", lambda _: nothing())
        )
        await claimed.wait()
        assert holder(store) is not None
        beginning.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        assert holder(store) is None
        live = await workspace.begin("s", lambda conversation: conversation.send("again"))
        assert live is await workspace.live("s")

    run(store, act)


def test_a_compaction_that_is_cancelled_before_its_first_step_leaves_the_session_free(
    store: MemoryStore,
) -> None:
    async def act(workspace: Workspace) -> None:
        async def never() -> None:
            raise AssertionError("it began")

        entry = await workspace._sessions.opened("s")
        compacting = asyncio.ensure_future(workspace.compacting("s", lambda _: never()))
        while entry.compaction is None:
            await asyncio.sleep(0)
        assert await workspace.cancel_compaction("s")
        with pytest.raises(Problem, match="cancelled"):
            await compacting
        assert holder(store) is None

    run(store, act)


def test_a_compaction_whose_client_left_still_keeps_others_out(store: MemoryStore) -> None:
    async def act(workspace: Workspace) -> None:
        go_on, begun = asyncio.Event(), asyncio.Event()

        async def held(conversation: Conversation) -> None:
            begun.set()
            await go_on.wait()

        entry = await workspace._sessions.opened("s")
        leaving = asyncio.ensure_future(workspace.compacting("s", held))
        await begun.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        running = entry.compaction
        assert running is not None
        with pytest.raises(Problem, match="being optimized"):
            await workspace.begin("s", lambda conversation: conversation.send("more"))
        go_on.set()
        await running
        assert entry.compaction is None and holder(store) is None

    run(store, act)


def test_a_conversation_is_read_again_only_where_the_stored_session_changed(store: MemoryStore) -> None:
    def turns(conversation: Conversation) -> int:
        return len(conversation.turns)

    async def act(workspace: Workspace) -> None:
        chats: Any = workspace.chats
        for _ in range(5):
            store.add_event("s", EventName.DOOR, {"type": "usage"})
            workspace.hear(News.CHANGED, "s")
            assert await workspace.look("s", turns) == 2
        assert chats.opens == 1
        other = chats_on(store).open("s")
        await asyncio.to_thread(lambda: list(other.send("more")))
        other.clear()
        for _ in range(5):
            workspace.hear(News.CHANGED, "s")
            assert await workspace.look("s", lambda conversation: conversation.start) == 4
        assert chats.opens == 2
        other.undo()
        workspace.hear(News.CHANGED, "s")
        assert await workspace.look("s", lambda conversation: conversation.start) == 0
        store.put_space("roofs", custom_instructions="Be brief.")
        store.put_session("s", space="roofs")
        workspace.hear(News.CHANGED, "s")
        assert await workspace.look("s", lambda one: one.log.row.instructions[0]["content"]) == "Be brief."
        store.put_space("roofs", custom_instructions="Be kind.")
        workspace.hear(News.SPACE, "roofs")
        assert await workspace.look("s", lambda one: one.log.row.instructions[0]["content"]) == "Be kind."

    run(store, act)
