"""CrewAI: a real agent with a model behind HTTP that refuses over-long prompts."""

from __future__ import annotations

import pytest
from crewai import LLM, Agent, Crew, Task
from crewai.hooks import register_before_llm_call_hook, unregister_before_llm_call_hook
from crewai.tools import tool

from compact import CompactManager
from compact.integrations.crewai import compact_hook
from support.framework_contract import IntegrationContract
from support.strict_provider import TASK, StrictProvider, page_text


@tool("read_page")
def read_page(number: int) -> str:
    """Read one page."""
    return page_text(number)


@pytest.mark.spec("S5.12")
class TestCrewAI(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        llm = LLM(model="openai/gpt-4o", base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        agent = Agent(
            role="reader",
            goal="Be exact.",
            backstory="You read logs.",
            llm=llm,
            tools=[read_page],
            max_iter=100,
            respect_context_window=False,
            cache=False,
        )
        crew = Crew(agents=[agent], tasks=[Task(description=TASK, expected_output="a name", agent=agent)])
        hook = None if manager is None else compact_hook(manager, "s")
        if hook is not None:
            register_before_llm_call_hook(hook)
        try:
            said = str(crew.kickoff())
        except SystemExit as error:  # how it ends when a prompt is too long
            raise RuntimeError(str(error)) from error
        finally:
            if hook is not None:
                unregister_before_llm_call_hook(hook)
        if manager is not None and server.read > 10:
            assert "Keeper-17" in str(manager.recall("s", "Keeper-17")), "the store has what went"
        return said
