"""The Agents SDK with a wrapped model: over HTTP in both of its formats, whole and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from compact import CompactManager
from compact.integrations.openai_agents import CompactModel
from support.framework_contract import IntegrationContract
from support.strict_provider import TASK, StrictProvider, page_text

# Not the switch for the whole process: the tests of tracing run in the same one.
QUIET = RunConfig(tracing_disabled=True)


@function_tool
def read_page(number: int) -> str:
    """Read one page."""
    return page_text(number)


@pytest.mark.spec("S5.12", "S4.17")
class TestResponsesModel(IntegrationContract):
    kind: Any = OpenAIResponsesModel

    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.connected(server, manager))

    async def connected(self, server: StrictProvider, manager: CompactManager | None) -> str:
        async with AsyncOpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as client:
            model = self.kind("gpt-4o", client)
            wrapped = model if manager is None else CompactModel(model, manager, "s")
            agent = Agent("reader", instructions="Be exact.", tools=[read_page], model=wrapped)
            return await self.work(agent)

    async def work(self, agent: Any) -> str:
        return str((await Runner.run(agent, TASK, max_turns=100, run_config=QUIET)).final_output)


class TestChatModel(TestResponsesModel):
    kind = OpenAIChatCompletionsModel


class TestStreamed(TestResponsesModel):
    async def work(self, agent: Any) -> str:
        running = Runner.run_streamed(agent, TASK, max_turns=100, run_config=QUIET)
        async for _ in running.stream_events():
            pass
        return str(running.final_output)
