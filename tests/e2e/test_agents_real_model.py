"""The Agents SDK through three windows of a real server that refuses what does not fit.

The server reads every prompt with the model's own tokenizer; what the agent does next is scripted, because so
small a model cannot work. It reads some 130 tokens a second, so its window is small.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from agents import (
    Agent,
    ModelResponse,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    function_tool,
)
from agents.testing import assistant_message, function_call
from openai import AsyncOpenAI, BadRequestError

from compact import count_tokens
from compact.integrations.openai_agents import CompactHooks, compact_filter
from compact.models.local import LocalChatModel
from support.agents_runs import TASK, manager_for, traced_by

WINDOW = 256
REPLY_TOKENS = 2
INSTRUCTIONS = "You read logs."
PAGES = 14
"""Three fit, four do not."""


@function_tool
def read_page(number: int) -> str:
    """Read one page of the log."""
    weather = "A ship with grey sails passed the harbor on its way to the north, and the lamp turned slowly. "
    return f"Page {number}: the keeper was Keeper-{number * 17}. " + weather * 2


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    with traced_by():
        yield


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    with LocalChatModel(window=WINDOW) as server:
        server.wait()
        url = f"{server.url}/v1"
        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=900) as found:
            yield found


class ReadByTheServer(OpenAIChatCompletionsModel):
    """Every prompt goes to the server; the answers come from a script."""

    def __init__(self, client: AsyncOpenAI, steps: list[list[Any]]) -> None:
        super().__init__("smollm2", client)
        self.steps = list(steps)
        self.prompts: list[int] = []

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        response = await super().get_response(*args, **options)
        self.prompts.append(response.usage.input_tokens)
        return replace(response, output=self.steps.pop(0))


def reading() -> list[list[Any]]:
    steps = [[function_call("read_page", {"number": n}, call_id=f"call_{n}")] for n in range(PAGES)]
    return [*steps, [assistant_message("Keeper-119")]]


def agent_for(model: ReadByTheServer) -> Agent[Any]:
    settings = ModelSettings(max_tokens=REPLY_TOKENS, temperature=0.0)
    return Agent("reader", instructions=INSTRUCTIONS, tools=[read_page], model=model, model_settings=settings)


async def test_a_run_from_its_first_page_through_three_windows(client: AsyncOpenAI) -> None:
    alone = ReadByTheServer(client, reading())
    with pytest.raises(BadRequestError, match="exceed") as refused:
        await Runner.run(agent_for(alone), TASK, max_turns=60)
    assert refused.value.status_code == 400
    assert len(alone.prompts) == 4, "without Compact it does not get past the third page"

    model = ReadByTheServer(client, reading())
    manager = manager_for(WINDOW, policy={"keep_tool_io_pairs": 1, "summary_max_tokens": 64})
    options = RunConfig(call_model_input_filter=compact_filter(manager, "s"))
    hooks = CompactHooks(manager, "s")
    result = await Runner.run(agent_for(model), TASK, max_turns=60, run_config=options, hooks=hooks)
    assert result.final_output == "Keeper-119" and model.steps == []
    assert len(model.prompts) == PAGES + 1 and max(model.prompts) + REPLY_TOKENS <= WINDOW
    assert count_tokens(result.to_input_list()) >= 3 * WINDOW
    assert sum(event.name == "compaction-complete" for event in manager.events) >= 3
