"""The real Agents SDK through three times its window: what reaches the model is sound and fits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
)
from agents.testing import ModelCall, assistant_message, function_call
from openai import AsyncOpenAI

from compact import CompactManager, count_tokens, lint
from compact.integrations.openai_agents import CompactSession, compact_filter
from support.agents_runs import (
    BUDGET,
    INSTRUCTIONS,
    PAGES,
    TASK,
    WINDOW,
    chat_answer,
    manager_for,
    page_text,
    prompt_problems,
    read_page,
    reader,
    reading,
    refused,
    responses_answer,
    scripted,
    traced_by,
)
from support.wire_servers import OpenAIWire, Server, serving

pytestmark = pytest.mark.usefixtures("untraced")


@pytest.fixture
def untraced() -> Any:
    with traced_by():
        yield


def config(manager: CompactManager, **options: Any) -> RunConfig:
    return RunConfig(call_model_input_filter=compact_filter(manager), **options)


def check(calls: tuple[ModelCall, ...], manager: CompactManager) -> None:
    assert [problem for call in calls for problem in prompt_problems(call)] == []
    compactions = [event for event in manager.events if event.name == "compaction-complete"]
    assert 2 <= len(compactions) <= 12, "several rounds, but far fewer than calls"
    assert "COMPACT-SUMMARY" in str(calls[-1].input)
    assert calls[-1].input[0] == {"role": "user", "content": TASK}, "the task stays word for word"


@pytest.mark.spec("S4.17")
async def test_a_run_through_three_windows_ends_without_an_error() -> None:
    manager, model = manager_for(), scripted(reading(reasoning=True))
    result = await Runner.run(reader(model), TASK, max_turns=60, run_config=config(manager))
    assert result.final_output == "Keeper-119"
    everything = result.to_input_list()
    assert count_tokens(everything) >= 3 * WINDOW and len(everything) > PAGES * 2, "the run keeps it all"
    check(model.calls, manager)


async def test_the_same_streamed() -> None:
    manager, model = manager_for(), scripted(reading(reasoning=True))
    streamed = Runner.run_streamed(reader(model), TASK, max_turns=60, run_config=config(manager))
    events = [event.type async for event in streamed.stream_events()]
    assert streamed.final_output == "Keeper-119" and "raw_response_event" in events
    check(model.calls, manager)


async def test_without_compact_the_same_run_goes_far_over() -> None:
    model = scripted(reading())
    await Runner.run(reader(model), TASK, max_turns=60)
    assert max(count_tokens(call.input) for call in model.calls) > 2 * WINDOW


async def test_what_was_read_before_a_handoff_reaches_the_next_agent() -> None:
    manager = manager_for()
    first, second = scripted(reading()[:-1]), scripted(reading(12))
    first.enqueue([function_call("transfer_to_writer", {}, call_id="call_handoff")])
    writer = Agent("writer", instructions="Write.", tools=[read_page], model=second)
    agent = reader(first, handoffs=[writer])
    result = await Runner.run(agent, TASK, max_turns=80, run_config=config(manager))
    assert result.last_agent is writer and result.final_output == "Keeper-119"
    check((*first.calls, *second.calls), manager)
    assert {tool["name"] for tool in _tools_told(manager)} == {"read_page"}
    assert "COMPACT-SUMMARY" in str(second.calls[0].input)


def _tools_told(manager: CompactManager) -> Any:
    """The tools that were last counted."""
    (session,) = manager._engine.reader._sessions.values()
    return session.prompt.tools[0]


async def test_a_conversation_of_many_runs_over_a_session() -> None:
    """A session for what lies between runs, the filter for what happens in them; one manager for both."""
    manager = manager_for()
    session = CompactSession(SQLiteSession("log"), manager)
    calls: list[ModelCall] = []
    for run in range(12):
        steps = [
            [function_call("read_page", {"number": run * 3 + n}, call_id=f"call_{run}_{n}")] for n in range(3)
        ]
        model = scripted([*steps, [assistant_message(f"Done with round {run}.", item_id=f"msg_{run}")]])
        options = RunConfig(call_model_input_filter=compact_filter(manager, "log"))
        await Runner.run(reader(model), f"Round {run}, please.", session=session, run_config=options)
        calls += model.calls
    assert [problem for call in calls for problem in prompt_problems(call)] == []
    originals = await session.original_items()
    assert count_tokens(originals) >= 3 * WINDOW and len(originals) == 12 * (1 + 3 * 2 + 1)
    assert len(await session.get_items()) < len(originals) / 3
    assert all(page_text(number) in str(originals) for number in range(36))
    rounds = [event for event in manager.events if event.name == "compaction-complete"]
    assert 3 <= len(rounds) <= 8, "session and filter go on from each other's compactions"
    changes = [event.data["message"] for event in manager.events if event.name == "compact.warning"]
    assert changes == [], "neither the tools nor the instructions changed"


async def test_agents_as_tools_wait_for_each_others_compactions() -> None:
    """Five helpers at once, each through more than a window, all in their caller's session."""

    async def slow(request: Any) -> str:
        await asyncio.sleep(0.2)
        return "Pages were read, keepers were noted, nothing else happened so far. " * 4

    manager = manager_for(summarizer=slow)
    manager._engine._busy_wait = 0.01
    helpers = [scripted(reading(14)) for _ in range(5)]
    tools = [
        reader(model).as_tool(f"helper_{n}", "Reads pages.", max_turns=30) for n, model in enumerate(helpers)
    ]
    calls = [function_call(f"helper_{n}", {"input": f"Part {n}"}, call_id=f"h{n}") for n in range(5)]
    chief = scripted([calls, [assistant_message("All parts are read.")]])
    options = RunConfig(call_model_input_filter=compact_filter(manager, "team"))
    result = await Runner.run(reader(chief, tools=tools), TASK, run_config=options)
    assert result.final_output == "All parts are read."
    outputs = [item for item in chief.calls[-1].input if item.get("type") == "function_call_output"]
    assert [item["output"] for item in outputs] == ["Keeper-119"] * 5, "no helper failed"
    prompts = [call for model in helpers for call in model.calls]
    assert [problem for call in prompts for problem in prompt_problems(call)] == []
    assert sum(event.name == "compaction-complete" for event in manager.events) >= 5


def check_chat(server: Server) -> None:
    for request in server.received:
        messages, tools = request.body["messages"], request.body["tools"]
        assert lint(messages, "openai") == []
        assert count_tokens(messages, tools=tools) <= BUDGET
        assert messages[:2] == [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": TASK},
        ]


def check_responses(server: Server) -> None:
    for request in server.received:
        body = request.body
        assert refused(body["input"]) == []
        assert count_tokens(body["input"], tools=body["tools"], system=body["instructions"]) <= BUDGET
        assert body["instructions"] == INSTRUCTIONS and body["input"][0]["content"] == TASK


@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_over_http_in_both_of_the_sdks_formats(wire: str) -> None:
    answer = chat_answer(OpenAIWire()) if wire == "chat" else responses_answer
    steps = reading(reasoning=wire == "responses")
    with serving(*(answer(step) for step in steps)) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
            kind = OpenAIChatCompletionsModel if wire == "chat" else OpenAIResponsesModel
            agent = reader(kind("gpt-4o", client))
            result = await Runner.run(agent, TASK, max_turns=60, run_config=config(manager_for()))
    assert result.final_output == "Keeper-119"
    assert len(server.received) == len(steps)
    (check_chat if wire == "chat" else check_responses)(server)
