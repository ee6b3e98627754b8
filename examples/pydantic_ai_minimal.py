"""A Pydantic AI agent with Compact: two lines. Runs offline against `model_server.py`.

python examples/pydantic_ai_minimal.py
"""

from __future__ import annotations

from compact import CompactConfig, CompactManager
from compact.integrations.pydantic_ai import CompactHistory

from model_server import WINDOW, model_server, page
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    with model_server() as url:
        model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=url, api_key="none"))
        agent = Agent(model, capabilities=[CompactHistory(manager)])

        @agent.tool_plain
        def read_page(number: int) -> str:
            """Read one page of the ship's log."""
            return page(number)

        result = agent.run_sync("Where were we on page 3?")
        print(result.output)
        print(f"The run holds all {len(result.all_messages())} messages.")


if __name__ == "__main__":
    main()
