"""LangChain: a real agent, real message classes, and a model behind HTTP that refuses over-long prompts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from compact import CompactManager
from compact.formats import by_name, decode_all, recognize
from compact.integrations.langchain import CompactMiddleware, compact_messages
from compact.stores.sql import SqlStore
from compact.testing.formats import CLEARED, cleared
from support.framework_contract import IntegrationContract, manager_for
from support.strict_provider import TASK, StrictProvider, page_text


@tool
def read_page(number: int) -> str:
    """Read one page."""
    return page_text(number)


def agent_for(model: Any, manager: CompactManager | None) -> Any:
    middleware = [] if manager is None else [CompactMiddleware(manager)]
    return create_agent(model, [read_page], system_prompt="Be exact.", middleware=middleware)


def chat_model(server: StrictProvider) -> Any:
    return ChatOpenAI(model="gpt-4o", api_key="none", base_url=f"{server.url}/v1", max_retries=0)


RUN: Any = {"recursion_limit": 200, "configurable": {"thread_id": "t1"}}


@pytest.mark.spec("S5.12")
class TestLangChain(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        model = chat_model(server)
        try:
            result = agent_for(model, manager).invoke({"messages": [HumanMessage(TASK)]}, RUN)
        finally:
            model.root_client.close()
        if manager is not None and server.read > 10:
            assert len(result["messages"]) == 2 * server.pages + 2, "the state holds every message"
            assert {event.session_id for event in manager.events} == {"t1"}
        return str(result["messages"][-1].text)


class TestAsync(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        model = chat_model(server)
        try:
            result = await agent_for(model, manager).ainvoke({"messages": [HumanMessage(TASK)]}, RUN)
        finally:
            await model.root_async_client.close()
        return str(result["messages"][-1].text)


class TestAnthropicModel(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        model = ChatAnthropic(model="claude-opus-4-7", api_key="none", base_url=server.url, max_retries=0)
        try:
            result = agent_for(model, manager).invoke({"messages": [HumanMessage(TASK)]}, RUN)
        finally:
            model._client.close()
        return str(result["messages"][-1].text)


def test_message_classes_come_back_as_themselves() -> None:
    call = {"name": "read_page", "args": {"number": 1}, "id": "c1", "type": "tool_call"}
    given = [
        SystemMessage("Be exact."),
        HumanMessage("Go.", name="ada"),
        AIMessage("", tool_calls=[call], response_metadata={"x": 1}),
        ToolMessage("long " * 50, tool_call_id="c1", artifact={"kept": True}),
        AIMessage("Done."),
    ]
    format = by_name("langchain")
    assert recognize(given) is format
    messages = decode_all(given, format)
    assert all(out is one for out, one in zip(format.encode(messages), given, strict=True))
    encoded = format.encode([cleared(message) if message.results else message for message in messages])
    assert [type(one) for one in encoded] == [type(one) for one in given]
    assert encoded[3].content == CLEARED and encoded[3].artifact == {"kept": True}
    assert given[3].content != CLEARED


def test_a_function_for_graphs_of_your_own() -> None:
    given: list[Any] = [HumanMessage(TASK)]
    for number in range(12):
        call = {"name": "read_page", "args": {"number": number}, "id": f"c{number}", "type": "tool_call"}
        given += [AIMessage("", tool_calls=[call]), ToolMessage(page_text(number), tool_call_id=f"c{number}")]
    sent = compact_messages(manager_for(), "s")(given)
    assert len(sent) < len(given) and "COMPACT-SUMMARY" in str(sent)
    assert all(isinstance(one, HumanMessage | AIMessage | ToolMessage) for one in sent)


def test_a_summary_that_stands_first_is_of_the_framework_too() -> None:
    """In a chat nothing of the caller's stands before it."""
    kinds = (HumanMessage, AIMessage)
    sent = compact_messages(manager_for(), "s")([kinds[n % 2](page_text(n)) for n in range(20)])
    assert "COMPACT-SUMMARY" in str(sent[:2]) and all(isinstance(one, kinds) for one in sent)


def test_a_database_holds_them_and_gives_them_back(tmp_path: Path) -> None:
    given: list[Any] = [HumanMessage(TASK)]
    for number in range(12):
        call = {"name": "read_page", "args": {"number": number}, "id": f"c{number}", "type": "tool_call"}
        given += [AIMessage("", tool_calls=[call]), ToolMessage(page_text(number), tool_call_id=f"c{number}")]
    sent = []
    for _ in range(2):
        manager = manager_for(store=SqlStore(f"sqlite:///{tmp_path}/c.db"))
        sent.append([one.content for one in compact_messages(manager, "s")(given)])
        assert "Keeper-17" in str(manager.recall("s", "Keeper-17"))
        assert len(manager.records("s")) == 1
        manager.close()
    assert sent[0] == sent[1]


def test_a_leading_system_message_stays_first_when_the_list_is_a_dump() -> None:
    """A dump has a type and no role; the system prompt is found in it all the same."""
    given: list[Any] = [{"type": "system", "content": "Be exact."}]
    given += [{"type": ("human", "ai")[n % 2], "content": page_text(n)} for n in range(20)]
    sent = manager_for().preflight("s", given)
    assert sent[0] is given[0] and "COMPACT-SUMMARY" in str(sent[1:3])
