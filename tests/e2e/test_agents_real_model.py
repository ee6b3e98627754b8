"""The Agents SDK before a real server that refuses what does not fit its window of 8,192 tokens.

The server reads every prompt with the model's own tokenizer and refuses those that are too long; what the
agent does next is scripted, because so small a model cannot work. It reads some 130 tokens a second: in the
suite most of the history is there when it is asked first, and `make test-model` lets it read all of it, some
31,000 tokens: some minutes where it has a core to itself.
"""

from __future__ import annotations

import os
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
    Tool,
    function_tool,
)
from agents.testing import assistant_message, function_call
from openai import AsyncOpenAI, BadRequestError

from compact import count_tokens
from compact.integrations.openai_agents import CompactHooks, compact_filter
from compact.models.local import WINDOW, LocalChatModel
from support.agents_runs import TASK, manager_for, traced_by

REPLY_TOKENS = 2
INSTRUCTIONS = "You read logs."
LONG = 36
"""From this page on they are short: a test waits for every token that the server has to read."""
VOLUMES = 6
"""Few and large: two do not fit, so that after each compaction only what is new has to be read."""


def page_text(number: int, sentences: int = 0) -> str:
    weather = "A ship with grey sails passed the harbor on its way to the north, and the lamp turned slowly. "
    sentences = sentences or (34 if number < LONG else 1)
    return f"Page {number}: the keeper was Keeper-{number * 17}. " + weather * sentences


@function_tool
def read_page(number: int) -> str:
    """Read one page of the log."""
    return page_text(number)


@function_tool
def read_volume(number: int) -> str:
    """Read one volume of the log."""
    return page_text(number, sentences=200)


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    with traced_by():
        yield


@pytest.fixture
async def client(local_model: LocalChatModel) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(
        base_url=f"{local_model.url}/v1", api_key="none", max_retries=0, timeout=900
    ) as found:
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


def reads(first: int, last: int, tool: str = "read_page") -> list[list[Any]]:
    numbers = range(first, last)
    steps = [[function_call(tool, {"number": n}, call_id=f"call_{n}")] for n in numbers]
    return [*steps, [assistant_message("Keeper-119")]]


def agent_for(model: ReadByTheServer) -> Agent[Any]:
    settings = ModelSettings(max_tokens=REPLY_TOKENS, temperature=0.0)
    tools: list[Tool] = [read_page, read_volume]
    return Agent("reader", instructions=INSTRUCTIONS, tools=tools, model=model, model_settings=settings)


def already_read(pages: int) -> list[Any]:
    items: list[Any] = [{"role": "user", "content": TASK}]
    for n in range(pages):
        call = {"type": "function_call", "call_id": f"call_{n}", "name": "read_page"}
        items.append({**call, "arguments": f'{{"number":{n}}}'})
        items.append({"type": "function_call_output", "call_id": f"call_{n}", "output": page_text(n)})
    return items


def compacting(**policy: Any) -> tuple[Any, dict[str, Any]]:
    manager = manager_for(WINDOW, policy={"keep_tool_io_pairs": 1, **policy})
    options = RunConfig(call_model_input_filter=compact_filter(manager, "s"))
    return manager, {"run_config": options, "hooks": CompactHooks(manager, "s"), "max_turns": 60}


async def test_a_history_of_three_windows_is_refused_without_compact_and_read_with_it(
    client: AsyncOpenAI,
) -> None:
    history = already_read(38)
    assert count_tokens(history) >= 3 * WINDOW
    with pytest.raises(BadRequestError, match="exceed") as refused:
        await Runner.run(agent_for(ReadByTheServer(client, reads(38, 40))), history)
    assert refused.value.status_code == 400

    model = ReadByTheServer(client, reads(38, 40))
    manager, options = compacting(summary_max_tokens=300)
    result = await Runner.run(agent_for(model), history, **options)
    assert result.final_output == "Keeper-119" and model.steps == []
    assert len(model.prompts) == 3 and max(model.prompts) + REPLY_TOKENS <= WINDOW
    assert sum(event.name == "compaction-complete" for event in manager.events) == 1


@pytest.mark.skipif(not os.environ.get("COMPACT_TEST_MODEL"), reason="minutes of reading: make test-model")
async def test_a_run_from_its_first_page_through_three_windows(client: AsyncOpenAI) -> None:
    plan = reads(0, VOLUMES, "read_volume")
    alone = ReadByTheServer(client, plan)
    with pytest.raises(BadRequestError, match="exceed"):
        await Runner.run(agent_for(alone), TASK)
    assert len(alone.prompts) == 2, "without Compact it does not get past the second volume"

    model = ReadByTheServer(client, plan)
    manager, options = compacting()
    result = await Runner.run(agent_for(model), TASK, **options)
    assert result.final_output == "Keeper-119" and model.steps == []
    assert max(model.prompts) + REPLY_TOKENS <= WINDOW
    assert count_tokens(result.to_input_list()) >= 3 * WINDOW
    assert sum(event.name == "compaction-complete" for event in manager.events) >= 3
