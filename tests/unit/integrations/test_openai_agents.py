"""The Agents SDK integration piece by piece, against the real package."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agents import (
    Agent,
    CodeInterpreterTool,
    ModelResponse,
    OpenAIConversationsSession,
    RunConfig,
    RunContextWrapper,
    Runner,
    Session,
    SessionSettings,
    SQLiteSession,
    Usage,
    function_tool,
    trace,
)
from agents.mcp import MCPServer
from agents.run import CallModelData, ModelInputData
from agents.testing import ModelStep, assistant_message
from mcp import Tool as MCPTool
from pydantic import BaseModel

from compact import InsufficientBudget, count_tokens, lint
from compact.errors import ConfigError, StoreError
from compact.integrations.openai_agents import (
    CompactHooks,
    CompactSession,
    before_model_call,
    compact_filter,
)
from compact.stores.memory import MemoryStore
from support.agents_runs import (
    INSTRUCTIONS,
    TASK,
    manager_for,
    page_text,
    read_page,
    reader,
    reading,
    scripted,
    traced_by,
)


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    with traced_by():
        yield


def asked(items: list[Any], agent: Any = None, context: Any = None, instructions: str | None = None) -> Any:
    return CallModelData(ModelInputData(items, instructions), agent or Agent("plain"), context)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def exchange(number: int, text: str | None = None) -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": f"c{number}", "name": "read_page", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": f"c{number}", "output": text or page_text(number)}
    return [call, output]


def history(pages: int) -> list[dict[str, Any]]:
    return [user(TASK), *(item for number in range(pages) for item in exchange(number))]


def sessions_of(manager: Any) -> set[str]:
    return {event.session_id for event in manager.events if event.session_id}


def estimate(manager: Any) -> Any:
    return [event.data for event in manager.events if event.name == "compact.token_estimate"][-1]


# -- the filter ------------------------------------------------------------------------------------------


async def test_what_fits_goes_out_as_the_very_same_items() -> None:
    items = [
        user("Look at this."),
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "c1",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"},
        },
        {"type": "hologram", "id": "h1", "payload": [1, 2]},
    ]
    given = asked(items, instructions=INSTRUCTIONS)
    out = await compact_filter(manager_for())(given)
    assert [id(item) for item in out.input] == [id(item) for item in items]
    assert out.input is not given.model_data.input and out.instructions == INSTRUCTIONS


@pytest.mark.parametrize(
    ("given", "context", "expected"),
    [
        ("mine", SimpleNamespace(session_id="theirs"), "mine"),
        (lambda context: context.chat, SimpleNamespace(chat="chat-7"), "chat-7"),
        (None, SimpleNamespace(session_id="from-context"), "from-context"),
        (None, {"session_id": "from-dict"}, "from-dict"),
        (None, SimpleNamespace(session_id=3), "group-1"),
        (None, None, "group-1"),
    ],
)
async def test_where_the_session_id_comes_from(given: Any, context: Any, expected: str) -> None:
    manager = manager_for()
    with trace("work", group_id="group-1"):
        await compact_filter(manager, given)(asked([user("hello")], context=context))
    assert sessions_of(manager) == {expected}


async def test_without_a_group_the_trace_names_the_session_and_without_a_trace_the_task() -> None:
    manager = manager_for()
    with trace("work") as current:
        await compact_filter(manager)(asked([user("hello")]))
    assert sessions_of(manager) == {current.trace_id}
    untraced = manager_for()
    for items in ([user("hello")], [user("hello"), user("again")], [user("another")]):
        await compact_filter(untraced)(asked(items))
    names = [event.session_id for event in untraced.events if event.name == "compact.token_estimate"]
    assert names[0] == names[1] != names[2] and names[0].startswith("run-")


@function_tool
def write_page(number: int, text: str) -> str:
    """Write one page of the log, replacing what stands there."""
    return "ok"


@function_tool(is_enabled=False)
def burn_page(number: int) -> str:
    """Burn one page of the log."""
    return "ok"


class Shelf(MCPServer):
    """A server of tools that counts how often it is asked for them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    name = "shelf"

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[MCPTool]:
        self.asked += 1
        return [MCPTool(name="fetch_book", description="Fetch a book.", inputSchema={"type": "object"})]

    async def call_tool(self, *args: Any, **kwargs: Any) -> Any: ...

    async def list_prompts(self) -> Any: ...

    async def get_prompt(self, *args: Any, **kwargs: Any) -> Any: ...


class Answer(BaseModel):
    keeper: str
    page: int


async def test_instructions_tools_handoffs_and_the_answers_schema_are_counted() -> None:
    """Each adds to the estimate what it adds to the request; a disabled tool adds nothing."""
    sizes = []
    writer = Agent("writer", handoff_description="Writes the report from what was read.")
    for options in (
        {},
        {"tools": [read_page]},
        {"tools": [read_page, burn_page]},
        {"tools": [read_page, write_page]},
        {"tools": [read_page, write_page], "handoffs": [writer]},
        {"tools": [read_page, write_page], "handoffs": [writer], "output_type": Answer},
        {
            "tools": [read_page, write_page],
            "handoffs": [writer],
            "output_type": Answer,
            "mcp_servers": [Shelf()],
        },
        {"tools": [CodeInterpreterTool({"type": "code_interpreter", "container": "auto"})]},
    ):
        manager = manager_for()
        await compact_filter(manager)(asked([user("hi")], Agent("a", **options), instructions="Be brief."))
        sizes.append(estimate(manager)["breakdown"]["tools_schema"])
    none, one, disabled, two, handed, answered, served, hosted = sizes
    assert 0 == none < one == disabled < two < handed < answered < served
    assert 0 < hosted < one
    manager = manager_for()
    await compact_filter(manager)(asked([user("hi")], instructions=INSTRUCTIONS))
    assert estimate(manager)["breakdown"]["system"] >= count_tokens(INSTRUCTIONS)


async def test_mcp_servers_are_asked_once_a_run_not_once_a_call() -> None:
    shelf, manager = Shelf(), manager_for()
    agent = Agent("a", mcp_servers=[shelf])
    fitting = compact_filter(manager)
    with trace("one run"):
        for _ in range(5):
            await fitting(asked([user("hi")], agent))
    assert shelf.asked == 1
    with trace("another"):
        await fitting(asked([user("hi")], agent))
    assert shelf.asked == 2


async def test_a_server_that_fails_to_list_its_tools_fails_no_run() -> None:
    class Broken(Shelf):
        async def list_tools(self, *args: Any, **kwargs: Any) -> Any:
            raise ConnectionError("gone")

    manager = manager_for()
    agent = Agent("a", tools=[read_page], mcp_servers=[Broken()])
    await compact_filter(manager)(asked([user("hi")], agent))
    assert estimate(manager)["breakdown"]["tools_schema"] > 0, "what stands on the agent still counts"


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_cannot_fit_is_told_with_the_sum(streamed: bool) -> None:
    manager, model = manager_for(), scripted([[assistant_message("never")]])
    agent = Agent("a", instructions="Obey. " * 9_000, model=model)
    options = RunConfig(call_model_input_filter=compact_filter(manager))
    with pytest.raises(InsufficientBudget, match="system") as refused:
        if streamed:
            running = Runner.run_streamed(agent, "hello", run_config=options)
            [event async for event in running.stream_events()]
        else:
            await Runner.run(agent, "hello", run_config=options)
    assert refused.value.needed > refused.value.budget
    assert model.calls == (), "the model was not asked"


class DownStore(MemoryStore):
    def append(self, *args: Any, **kwargs: Any) -> None:
        raise StoreError("the database is down")

    def find(self, *args: Any, **kwargs: Any) -> Any:
        raise StoreError("the database is down")


async def test_a_run_that_fits_goes_on_without_the_store() -> None:
    manager = manager_for(store=DownStore())
    model = scripted(reading(3))
    options = RunConfig(call_model_input_filter=compact_filter(manager))
    result = await Runner.run(reader(model), TASK, run_config=options)
    assert result.final_output == "Keeper-119"
    told = [event.data["message"] for event in manager.events if event.name == "compact.warning"]
    assert told and all("database is down" in message for message in told)


async def test_a_run_that_does_not_fit_tells_why_it_could_not_be_compacted() -> None:
    manager = manager_for(store=DownStore())
    with pytest.raises(StoreError, match="database is down"):
        await compact_filter(manager)(asked(history(20)))


async def test_a_summarizer_that_fails_costs_the_summary_not_the_run() -> None:
    def broken(request: Any) -> str:
        raise ConnectionError("no route to the summarizer")

    manager, model = manager_for(summarizer=broken), scripted(reading())
    options = RunConfig(call_model_input_filter=compact_filter(manager))
    result = await Runner.run(reader(model), TASK, max_turns=60, run_config=options)
    assert result.final_output == "Keeper-119"
    assert any(event.data.get("fallback") == "embedded" for event in manager.events)


# -- usage -----------------------------------------------------------------------------------------------


async def test_reported_usage_corrects_the_estimate() -> None:
    manager = manager_for(window=32_000)
    steps = [
        ModelStep(
            output=step, usage=Usage(requests=1, input_tokens=9_000, output_tokens=5, total_tokens=9_005)
        )
        for step in reading(2)
    ]
    # Long enough that the provider's count is taken at its word.
    task = TASK + " Every lamp has a keeper and every keeper has a book." * 300
    options = RunConfig(call_model_input_filter=compact_filter(manager, "s"))
    await Runner.run(
        reader(scripted(steps)), task, run_config=options, hooks=CompactHooks(manager, "s"), max_turns=9
    )
    told = [event.data["t_est"] for event in manager.events if event.name == "compact.token_estimate"]
    plain = count_tokens([user(task), *history(1)[1:]], tools=[read_page], system=INSTRUCTIONS)
    assert told[0] < 4_500, "the first prompt is measured by our own count"
    assert told[1] > 1.5 * plain, "the second prompt is measured with the provider's scale"


async def test_hooks_without_usage_or_with_a_store_that_is_down_harm_nothing() -> None:
    manager = manager_for(store=DownStore())
    hooks = CompactHooks(manager, "s")
    context: RunContextWrapper[Any] = RunContextWrapper(None)
    usage = Usage(requests=1, input_tokens=10, output_tokens=1, total_tokens=11)
    answer = ModelResponse(output=[], usage=usage, response_id=None)
    await hooks.on_llm_end(context, Agent("a"), answer)
    await hooks.on_llm_start(context, Agent("a"), None, [user("hi")])
    await hooks.on_llm_end(context, Agent("a"), answer)
    assert "not taken" in manager.events[-1].data["message"]


# -- loops of one's own ----------------------------------------------------------------------------------


@pytest.mark.spec("S4.17")
def test_before_model_call_replaces_the_messages_of_its_context() -> None:
    manager = manager_for()
    hook = before_model_call(manager)
    messages = history(20)
    ctx = SimpleNamespace(session_id="s", messages=messages, tools=[read_page])
    hook(ctx)
    assert len(ctx.messages) < len(messages) == 41
    assert "COMPACT-SUMMARY" in str(ctx.messages)
    assert estimate(manager)["breakdown"]["tools_schema"] > 0
    small = SimpleNamespace(session_id="t", messages=[user("hello")])
    hook(small)
    assert small.messages == [user("hello")]


# -- the session -----------------------------------------------------------------------------------------


WHOLE_OUTPUTS = {"output_cap_pct": 1.0, "target_pct": 1.0}
"""Kept outputs stay as they came."""


def session_over(**options: Any) -> tuple[CompactSession, SQLiteSession]:
    underlying = SQLiteSession("s", session_settings=options.pop("settings", None))
    return CompactSession(underlying, manager_for(**options)), underlying


async def test_it_is_a_session_of_the_sdks() -> None:
    session, _ = session_over()
    assert isinstance(session, Session)
    assert session.session_id == "s"
    assert await session.get_items() == [] and await session.pop_item() is None


async def test_the_view_is_compacted_and_the_originals_stay() -> None:
    session, underlying = session_over()
    items = history(20)
    await session.add_items(items[:9])
    assert await session.get_items() == items[:9]
    await session.add_items(items[9:])
    view = await session.get_items()
    assert len(view) < len(items) and "COMPACT-SUMMARY" in str(view)
    assert view[0] == items[0] and view[-1] == items[-1]
    assert await session.get_items() == view, "asking again changes nothing"
    assert await session.original_items() == await underlying.get_items() == items


async def test_a_limit_takes_the_newest_of_the_view() -> None:
    session, underlying = session_over(policy=WHOLE_OUTPUTS)
    await session.add_items(history(20))
    view = await session.get_items()
    assert await session.get_items(4) == view[-4:] == history(20)[-4:]
    assert await session.get_items(limit=10_000) == view
    assert await session.get_items(0) == [] == await underlying.get_items(0)


async def test_a_limit_never_cuts_what_belongs_together() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    (first, its_output), (second, other_output) = exchange(1, "one"), exchange(2, "two")
    parallel = [thought, first, second, its_output, other_output]
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    session, _ = session_over()
    await session.add_items([user("Hello"), *parallel, answer, user("And?"), *exchange(3, "three")])
    view = await session.get_items()
    lengths = [len(await session.get_items(limit)) for limit in range(1, len(view) + 1)]
    # The newest step whole, though it is longer than one; then only where a group begins.
    assert lengths == [2, 2, 3, 4, 4, 4, 4, 4, 9, 10]
    for limit in range(1, len(view) + 1):
        found = await session.get_items(limit)
        assert found == view[-len(found) :] and lint(found, format="openai-responses") == []


async def test_a_limit_of_the_settings_is_one_for_what_is_sent() -> None:
    session, underlying = session_over(settings=SessionSettings(limit=4), policy=WHOLE_OUTPUTS)
    await session.add_items(history(20))
    assert len(await underlying.get_items()) == 4
    assert await session.get_items() == history(20)[-4:]
    assert await session.original_items() == history(20)
    assert len(await session.get_items(limit=8)) == 8


async def test_pop_gives_the_originals_back_even_beneath_a_summary() -> None:
    session, _ = session_over()
    items = history(20)
    await session.add_items(items)
    await session.get_items()
    popped = [await session.pop_item() for _ in range(len(items) - 5)]
    assert popped == items[:4:-1]
    assert await session.get_items() == items[:5], "what is left fits again, word for word"
    await session.add_items(items[5:])
    assert await session.original_items() == items


async def test_clearing_forgets_everything_in_the_managers_store_too() -> None:
    session, underlying = session_over()
    manager = session._manager
    await session.add_items(history(20))
    await session.get_items()
    assert manager.records("s") and manager.recall("s", "Keeper-17")
    await session.clear_session()
    assert await session.get_items() == await underlying.get_items() == []
    assert not manager.records("s") and not manager.recall("s", "Keeper-17")
    await session.add_items([user("a new start")])
    assert await session.get_items() == [user("a new start")]


async def test_a_session_that_fits_needs_no_store() -> None:
    session, _ = session_over(store=DownStore())
    await session.add_items(history(2))
    assert await session.get_items() == history(2)


async def test_a_session_that_cannot_fit_says_so_and_keeps_everything() -> None:
    session, _ = session_over()
    await session.add_items([user("long " * 20_000)])
    with pytest.raises(InsufficientBudget):
        await session.get_items()
    assert len(await session.original_items()) == 1


async def test_the_runs_context_reaches_a_session_that_wants_it() -> None:
    seen = []

    class Wanting(SQLiteSession):
        async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> Any:
            seen.append(wrapper.context)
            return await super().get_items(limit)

        async def add_items(self, items: Any, *, wrapper: Any = None) -> None:
            seen.append(wrapper.context)
            await super().add_items(items)

        async def pop_item(self, *, wrapper: Any = None) -> Any:
            return await super().pop_item()

        async def clear_session(self, *, wrapper: Any = None) -> None:
            await super().clear_session()

    session = CompactSession(Wanting("s"), manager_for())
    await Runner.run(reader(scripted(reading(1))), TASK, session=session, context="tenant-9")
    assert seen and set(seen) == {"tenant-9"}


async def test_a_session_that_takes_it_only_to_read_is_given_it_nowhere() -> None:
    """Read in one tenant's scope and written in another: the SDK gives it to all methods or to none."""
    seen = []

    class Half(SQLiteSession):
        async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> Any:
            seen.append(wrapper)
            return await super().get_items(limit)

    session = CompactSession(Half("s"), manager_for())
    await Runner.run(reader(scripted(reading(1))), TASK, session=session, context="tenant-9")
    assert seen and set(seen) == {None}


async def test_a_session_without_readable_signatures_is_called_as_ever() -> None:
    class Proxy:
        session_id = "s"

        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            method = getattr(self._inner, name)

            class Bound:
                __signature__ = "broken"

                async def __call__(self, *args: Any) -> Any:
                    return await method(*args)

            return Bound() if name.endswith(("items", "item", "session")) else method

    session = CompactSession(Proxy(SQLiteSession("s")), manager_for())  # type: ignore[arg-type]
    await session.add_items([user("hello")])
    wrapper: RunContextWrapper[Any] = RunContextWrapper("tenant-9")
    assert await session.get_items(wrapper=wrapper) == [user("hello")]


async def test_the_filter_ends_the_turn_before_also_one_that_failed() -> None:
    manager = manager_for(17_000, preset="agent")
    fitting = compact_filter(manager, "s")
    await fitting(asked(history(3)))
    turns = [*history(14), user("Go on."), *exchange(14), *exchange(15)]
    await fitting(asked(turns))
    assert not any("cleared" in str(item) for item in turns)
    sent = (await fitting(asked([*turns, user("And now?")]))).input
    assert "Tool output cleared" in str(sent), "the last turn had no answer and was ended all the same"


async def test_the_hooks_end_a_turn_that_ended_and_one_that_failed() -> None:
    manager = manager_for(17_000, preset="agent")
    seen: list[int] = []
    end = manager.aend_turn

    async def counted(session: str, messages: Any, *args: Any) -> Any:
        seen.append(len(messages))
        return await end(session, messages, *args)

    manager.aend_turn = counted  # type: ignore[method-assign]
    hooks = CompactHooks(manager, "s")
    await Runner.run(reader(scripted(reading(1))), TASK, hooks=hooks)
    assert len(seen) == 1
    context: RunContextWrapper[Any] = RunContextWrapper(None)
    await hooks.on_llm_start(context, Agent("a"), None, history(2))
    again: RunContextWrapper[Any] = RunContextWrapper(None)
    await hooks.on_llm_start(again, Agent("a"), None, [*history(2), user("Try again.")])
    assert seen[1:] == [len(history(2))]


async def test_a_history_that_lives_at_the_provider_is_refused() -> None:
    with pytest.raises(ConfigError, match="SQLiteSession"):
        CompactSession(OpenAIConversationsSession(openai_client=object()), manager_for())  # type: ignore[arg-type]


# -- without the package ---------------------------------------------------------------------------------


def test_without_the_sdk_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("raise ImportError('not here')\n")
    code = "import compact.integrations.openai_agents"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "MissingExtra" in done.stderr and "compact-context[agents]" in done.stderr
