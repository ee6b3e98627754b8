"""Compact inside LlamaIndex: a memory for chats, and a model for agents that take many tool steps.

    from compact.integrations.llama_index import CompactMemory
    response = await agent.run("Go on.", memory=CompactMemory.from_defaults(manager=manager))

An agent adds the steps of the current run after what its memory returns, so no memory can shorten them.
`compact_llm(llm, manager)` sees the whole prompt, including tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from compact import CompactManager, MissingExtra
from compact.integrations._base import SessionId, afit, fit, session_of, speaking

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory.types import BaseMemory
except ImportError as error:
    raise MissingExtra("llama-index-core", "llama-index") from error

__all__ = ["CompactMemory", "compact_llm"]

L = TypeVar("L")
FORMAT = "llama-index"


class CompactMemory(BaseMemory):  # type: ignore[misc]
    """Keeps every message, and returns those that fit."""

    session_id: str | None = Field(default=None, description="The session; else the first message names it.")
    messages: list[ChatMessage] = Field(default_factory=list, description="All of the conversation.")
    _manager: CompactManager = PrivateAttr()

    @classmethod
    def class_name(cls) -> str:
        return "CompactMemory"

    @classmethod
    def from_defaults(
        cls, manager: CompactManager | None = None, session_id: str | None = None, **options: Any
    ) -> CompactMemory:
        memory = cls(session_id=session_id, messages=list(options.get("chat_history") or ()))
        memory._manager = speaking(manager if manager is not None else CompactManager(), FORMAT)
        return memory

    def get(self, input: str | None = None, **options: Any) -> list[ChatMessage]:
        return fit(*self._asked()).messages if self.messages else []

    async def aget(self, input: str | None = None, **options: Any) -> list[ChatMessage]:
        return (await afit(*self._asked())).messages if self.messages else []

    def _asked(self) -> tuple[CompactManager, str, list[ChatMessage]]:
        return self._manager, session_of(self.session_id, None, self.messages), list(self.messages)

    def get_all(self) -> list[ChatMessage]:
        return list(self.messages)

    def put(self, message: ChatMessage) -> None:
        self.messages.append(message)

    def set(self, messages: list[ChatMessage]) -> None:
        self.messages = list(messages)

    def reset(self) -> None:
        self.messages = []


def compact_llm(llm: L, manager: CompactManager, session_id: SessionId = None) -> L:
    """A copy of the model whose prompts fit; the original stays unchanged."""
    sibling, kind = speaking(manager, FORMAT), type(llm)

    def asked(messages: Sequence[ChatMessage], options: dict[str, Any]) -> tuple[Any, ...]:
        return sibling, session_of(session_id, None, messages), list(messages), options.get("tools")

    class Compacting(kind):  # type: ignore[misc, valid-type]
        def chat(self, messages: Sequence[ChatMessage], **options: Any) -> Any:
            return super().chat(fit(*asked(messages, options)).messages, **options)

        def stream_chat(self, messages: Sequence[ChatMessage], **options: Any) -> Any:
            return super().stream_chat(fit(*asked(messages, options)).messages, **options)

        async def achat(self, messages: Sequence[ChatMessage], **options: Any) -> Any:
            return await super().achat((await afit(*asked(messages, options))).messages, **options)

        async def astream_chat(self, messages: Sequence[ChatMessage], **options: Any) -> Any:
            return await super().astream_chat((await afit(*asked(messages, options))).messages, **options)

    Compacting.__name__ = Compacting.__qualname__ = kind.__name__
    copy: Any = llm.model_copy()  # type: ignore[attr-defined]
    copy.__class__ = Compacting
    return copy  # type: ignore[no-any-return]
