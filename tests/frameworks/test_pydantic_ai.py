"""Pydantic AI: a real agent, real message classes, and a model behind HTTP that refuses over-long prompts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from compact import CompactManager
from compact.formats import by_name, decode_all, recognize
from compact.integrations.pydantic_ai import CompactHistory
from compact.stores.sql import SqlStore
from compact.testing.formats import CLEARED, cleared
from support.framework_contract import IntegrationContract, manager_for
from support.strict_provider import TASK, StrictProvider, page_text


@pytest.mark.spec("S5.12")
class TestPydanticAI(IntegrationContract):
    model: Any = OpenAIChatModel

    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
            return await self.read(client, server, manager)

    async def read(self, client: AsyncOpenAI, server: StrictProvider, manager: CompactManager | None) -> str:
        model = self.model("gpt-4o", provider=OpenAIProvider(openai_client=client))
        capabilities = [] if manager is None else [CompactHistory(manager)]
        agent = Agent(model, instructions="Be exact.", capabilities=capabilities)

        @agent.tool_plain
        def read_page(number: int) -> str:
            """Read one page."""
            return page_text(number)

        result = await agent.run(TASK, usage_limits=UsageLimits(request_limit=100))
        if manager is not None and server.read > 10:
            assert len(result.all_messages()) == 2 * server.pages + 2, "the run holds every message"
        return str(result.output)


class TestResponsesModel(TestPydanticAI):
    model = OpenAIResponsesModel


def test_message_classes_come_back_as_themselves() -> None:
    call = ToolCallPart("read_page", {"number": 1}, tool_call_id="c1")
    given = [
        ModelRequest([SystemPromptPart("Be exact."), UserPromptPart("Go.")], instructions="Be brief."),
        ModelResponse([TextPart("Reading."), call], model_name="m"),
        ModelRequest([ToolReturnPart("read_page", {"text": "long " * 50}, tool_call_id="c1")]),
        ModelResponse([TextPart("Done.")]),
    ]
    format = by_name("pydantic-ai")
    assert recognize(given) is format
    messages = decode_all(given, format)
    assert [message.role.value for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert all(out is one for out, one in zip(format.encode(messages), given, strict=True))
    encoded = format.encode([cleared(message) if message.results else message for message in messages])
    assert [type(one) for one in encoded] == [type(one) for one in given]
    assert encoded[2].parts[0].content == CLEARED and encoded[2].timestamp == given[2].timestamp
    assert given[2].parts[0].content != CLEARED
    dumped = ModelMessagesTypeAdapter.dump_python(given, mode="json")
    assert [one.digest for one in decode_all(dumped, format)] == [one.digest for one in messages]


def test_a_summary_that_stands_first_is_of_the_framework_too() -> None:
    """In a chat nothing of the caller's stands before it."""
    given: list[Any] = []
    for number in range(10):
        given.append(ModelRequest([UserPromptPart(page_text(number))]))
        given.append(ModelResponse([TextPart(page_text(number + 100))]))
    sent = manager_for().preflight("s", given)
    assert "COMPACT-SUMMARY" in str(sent[:2])
    assert all(isinstance(one, ModelRequest | ModelResponse) for one in sent)


def test_a_database_holds_them_and_gives_them_back(tmp_path: Path) -> None:
    given: list[Any] = [ModelRequest([UserPromptPart(TASK)])]
    for number in range(12):
        given.append(
            ModelResponse([ToolCallPart("read_page", {"number": number}, tool_call_id=f"c{number}")])
        )
        given.append(
            ModelRequest([ToolReturnPart("read_page", page_text(number), tool_call_id=f"c{number}")])
        )
    sent = []
    for _ in range(2):
        manager = manager_for(store=SqlStore(f"sqlite:///{tmp_path}/c.db"))
        prepared = manager.prepare("s", given)
        sent.append(
            [[part.content for part in one.parts if hasattr(part, "content")] for one in prepared.messages]
        )
        assert "Keeper-17" in str(manager.recall("s", "Keeper-17"))
        assert len(manager.records("s")) == 1
        manager.close()
    assert sent[0] == sent[1]
