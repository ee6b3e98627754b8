"""LlamaIndex: a real agent and a real chat with a model behind HTTP that refuses over-long prompts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

from compact import CompactManager
from compact.integrations.llama_index import CompactMemory, compact_llm
from support.framework_contract import IntegrationContract, manager_for
from support.providers import CHAT, providing
from support.strict_provider import TASK, StrictProvider, page_text


def read_page(number: int) -> str:
    """Read one page."""
    return page_text(number)


def model(url: str) -> OpenAILike:
    return OpenAILike(
        model="gpt-4o",
        api_base=f"{url}/v1",
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
        context_window=1_000_000,
    )


class _Agent(IntegrationContract):
    streaming = False

    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        llm = model(server.url)
        agent = FunctionAgent(
            llm=llm if manager is None else compact_llm(llm, manager, "s"),
            tools=[FunctionTool.from_defaults(read_page)],
            system_prompt="Be exact.",
            streaming=self.streaming,
        )
        return str(await agent.run(TASK, max_iterations=100)).strip()


@pytest.mark.spec("S5.12")
class TestAgent(_Agent):
    pass


@pytest.mark.spec("S5.12")
class TestStreamingAgent(_Agent):
    streaming = True


@pytest.mark.spec("S5.12")
def test_a_chat_with_our_memory_goes_through_three_windows_and_keeps_every_message() -> None:
    window, manager = 4_000, manager_for(4_000, counter="chars4")
    asked = [f"Note this page. {page_text(number)}" for number in range(32)]

    async def talk(url: str, memory: Any) -> None:
        agent = FunctionAgent(
            llm=model(url),
            tools=[FunctionTool.from_defaults(read_page)],
            system_prompt="Be exact.",
            streaming=False,
        )
        for text in asked:
            await agent.run(text, memory=memory)

    with providing(window=window) as server:
        memory = CompactMemory.from_defaults(manager=manager, session_id="s")
        asyncio.run(talk(server.url, memory))
        assert not [one.refused for one in server.asked if one.refused]
        assert "COMPACT-SUMMARY" in str(server.asked[-1].body["messages"])
        assert len(memory.get_all()) == 2 * len(asked)
        assert "Keeper-17" in str(manager.recall("s", "Keeper-17"))
        assert all(one.path == CHAT for one in server.asked)
    with providing(window=window) as server, pytest.raises(Exception, match="maximum context length"):
        asyncio.run(talk(server.url, ChatMemoryBuffer.from_defaults(token_limit=1_000_000)))


def test_messages_come_back_as_themselves() -> None:
    memory = CompactMemory.from_defaults(manager=manager_for(4_000), session_id="s")
    assert memory.get() == []
    said = [ChatMessage(role=("user", "assistant")[n % 2], content=page_text(n)) for n in range(20)]
    memory.put_messages(said[:2])
    assert all(one is given for one, given in zip(memory.get(), said[:2], strict=True))
    memory.set(said)
    kept = memory.get()
    assert all(type(one) is ChatMessage for one in kept) and kept[-1] is said[-1] and len(kept) < len(said)
    memory.reset()
    assert memory.get_all() == []
