"""Opening conversations: models by name, managers by settings, and what is said about both."""

from __future__ import annotations

import os
import threading

from compact.chat import Chats, Topic
from compact.config import CompactConfig
from compact.model.event import EventName
from compact.models.demo import DemoChatModel
from compact.stores.memory import MemoryStore


def chats_on(store: MemoryStore, **settings: object) -> Chats:
    config = CompactConfig(model="demo", archive={"adapter": "none"}, **settings)  # type: ignore[arg-type]
    return Chats(config, store, lambda name: DemoChatModel(pace=0))


def test_a_name_that_is_no_id_brings_no_warning_of_unknown_limits() -> None:
    chats = chats_on(MemoryStore())
    talk = chats.open("talk")
    assert talk.manager.window == 20_000 and list(talk.warnings()) == []
    chats.close()


def test_a_warning_of_the_start_reaches_the_first_conversation() -> None:
    chats = chats_on(MemoryStore(), redaction={"enabled": False})
    assert [notice.topic for notice in chats.open("talk").warnings()] == [Topic.ENGINE]
    chats.close()


def test_many_conversations_cost_no_thread_and_no_file_more() -> None:
    chats = chats_on(MemoryStore())
    chats.open("first")
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    opened = [chats.open(f"talk {n}", preset=("chat", "window", "budget")[n % 3]) for n in range(100)]
    assert {talk.manager.config.preset for talk in opened} == {"chat", "window", "budget"}
    assert len({id(talk.manager) for talk in opened}) == 3
    # Fewer is as good: what an earlier test left behind may end meanwhile.
    assert threading.active_count() <= threads and len(os.listdir("/proc/self/fd")) <= files
    chats.close()


async def test_a_deleted_session_is_gone_and_can_begin_anew() -> None:
    chats = chats_on(MemoryStore())
    talk = await chats.aopen("talk")
    async for _ in talk.send("My train leaves from Ulm."):
        pass
    assert talk.manager.events[-1].name is not EventName.ERROR
    assert chats.delete("talk") and not chats.delete("talk")
    again = chats.open("talk")
    assert again.turns == []
    async for _ in again.send("Hello."):
        pass
    assert len(chats.open("talk").turns) == 2
    chats.close()
