"""A LangChain agent with Compact: two lines. Runs offline against `model_server.py`.

python examples/langchain_minimal.py
"""

from __future__ import annotations

from compact import CompactConfig, CompactManager
from compact.integrations.langchain import CompactMiddleware

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from model_server import WINDOW, model_server, page


@tool
def read_page(number: int) -> str:
    """Read one page of the ship's log."""
    return page(number)


def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    with model_server() as url:
        model = ChatOpenAI(model="gpt-4o", api_key="none", base_url=url)
        agent = create_agent(model, [read_page], middleware=[CompactMiddleware(manager)])
        asked = {"messages": [{"role": "user", "content": "Where were we on page 3?"}]}
        result = agent.invoke(asked, {"recursion_limit": 100})
        print(result["messages"][-1].text)
        print(f"The agent's state holds all {len(result['messages'])} messages.")


if __name__ == "__main__":
    main()
