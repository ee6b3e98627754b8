"""A space's settings hold for its sessions, and working memory enters as conversation."""

from __future__ import annotations

import pytest

from compact.chat.chats import Chats
from compact.config import CompactConfig
from compact.stores.memory import MemoryStore
from support.scripted_model import ScriptedModel


def chats(model: ScriptedModel) -> Chats:
    config = CompactConfig(archive={"adapter": "none"}, counter="estimate")
    return Chats(config, MemoryStore(), lambda _: model)


def test_the_preset_of_a_space_counts_until_a_session_has_its_own() -> None:
    opened = chats(ScriptedModel([]))
    opened.store.put_space("team", settings={"preset": "rolling"})
    opened.store.put_session("s", space="team")
    assert opened.open("s").manager.config.preset == "rolling"
    opened.store.put_space("team", settings={"preset": "chat"})
    assert opened.open("s").manager.config.preset == "chat"
    opened.open("s").use(preset="agent")
    assert opened.open("s").manager.config.preset == "agent"


@pytest.mark.parametrize("driver", ["sync", "async"])
async def test_working_memory_enters_as_conversation_and_leaves_the_system_prompt_alone(driver: str) -> None:
    model = ScriptedModel(["one", "two"])
    conversation = chats(model).open("s")
    conversation.instruct("Be brief.")
    conversation.use(memory="The user is in Oslo.")
    for text in ("first", "second"):
        if driver == "sync":
            list(conversation.send(text))
        else:
            _ = [event async for event in conversation.send(text)]
    for prompt in model.prompts:
        assert prompt[0]["content"] == "Be brief."
        holding = [one["role"] for one in prompt if "The user is in Oslo." in str(one["content"])]
        assert len(holding) == 1 and "system" not in holding


def test_another_model_leaves_the_preset_of_the_space() -> None:
    opened = chats(ScriptedModel([]))
    opened.store.put_space("team", settings={"preset": "rolling"})
    opened.store.put_session("s", space="team")
    conversation = opened.open("s")
    conversation.use(model="another")
    assert conversation.manager.config.preset == opened.open("s").manager.config.preset == "rolling"
    conversation.use(preset="chat")
    conversation.use(preset=None)  # a door that takes the session's own preset back
    assert conversation.manager.config.preset == opened.open("s").manager.config.preset == "rolling"


async def test_the_instructions_of_a_space_stand_before_the_system_prompt() -> None:
    model = ScriptedModel(["one"])
    opened = chats(model)
    opened.store.put_space("team", custom_instructions="We write in Danish.")
    opened.store.put_session("s", space="team")
    conversation = opened.open("s")
    conversation.instruct("Be brief.")
    _ = [event async for event in conversation.send("first")]
    assert [one["content"] for one in model.prompts[0]] == ["We write in Danish.", "Be brief.", "first"]
    assert [turn["role"] for turn in opened.open("s").turns] == ["user", "assistant"]
