"""Try a session under other numbers, on a copy in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.chat.chats import configured
from compact.chat.conversation import Conversation
from compact.config import CompactConfig
from compact.manager import CompactManager
from compact.ports import Remembers
from compact.stores.memory import MemoryStore


def copied(conversation: Conversation, config: CompactConfig) -> CompactManager:
    """A manager on a copy of the session: nobody sees what it does."""
    store = MemoryStore()
    store.put_session(conversation.id)
    for record in conversation.manager.records(conversation.id):
        store.commit(record)
    # What the provider's counts were corrected by, too.
    original = conversation.log.store
    if isinstance(original, Remembers):
        memory = original.memory(conversation.id)
        store.remember(conversation.id, scale=memory.scale, retired_tools=memory.retired_tools)
    quiet = config.model_copy(
        update={
            "archive": config.archive.model_copy(update={"adapter": "none"}),
            "tracing": type(config.tracing)(),
            "summarizer": type(config.summarizer)(name="extractive"),
        }
    )
    return CompactManager(quiet, store=store, format="openai-chat")


def manager_for(
    conversation: Conversation, preset: str | None, policy: Mapping[str, Any] | None
) -> CompactManager:
    return like(conversation.manager, config_for(conversation, preset, policy))


def like(manager: CompactManager, config: CompactConfig) -> CompactManager:
    """On the same store, with the numbers of this configuration."""
    return manager.for_model(
        config.model,
        max_context_tokens=config.max_context_tokens,
        preset=config.preset,
        policy=config.policy,
    )


def config_for(
    conversation: Conversation, preset: str | None, policy: Mapping[str, Any] | None
) -> CompactConfig:
    config = configured(conversation.manager.config, {"preset": preset, "policy": dict(policy or {})})
    return config
