"""A CrewAI agent with Compact: two lines. Runs offline against `model_server.py`.

pip install 'compact-context[crewai]'
python examples/crewai_minimal.py
"""

from __future__ import annotations

from compact import CompactConfig, CompactManager
from compact.integrations.crewai import compact_hook

from crewai import LLM, Agent, Crew, Task
from crewai.hooks import register_before_llm_call_hook
from crewai.tools import tool
from model_server import WINDOW, model_server, page


@tool("read_page")
def read_page(number: int) -> str:
    """Read one page of the ship's log."""
    return page(number)


def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    register_before_llm_call_hook(compact_hook(manager))
    with model_server() as url:
        agent = Agent(
            role="reader",
            goal="Read the ship's log.",
            backstory="You are exact.",
            llm=LLM(model="openai/gpt-4o", base_url=url, api_key="none"),
            tools=[read_page],
            max_iter=100,
            respect_context_window=False,
        )
        task = Task(description="Where were we on page 3?", expected_output="a position", agent=agent)
        print(Crew(agents=[agent], tasks=[task]).kickoff())


if __name__ == "__main__":
    main()
