"""A Strands agent with Compact: two lines. Runs offline against `model_server.py`.

pip install 'compact-context[strands]' 'openai>=2'
python examples/strands_minimal.py
"""

from __future__ import annotations

from compact import CompactConfig, CompactManager
from compact.integrations.strands import CompactConversationManager

from model_server import WINDOW, model_server, page
from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool
def read_page(number: int) -> str:
    """Read one page of the ship's log.

    Args:
        number: which one
    """
    return page(number)


def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    with model_server() as url:
        model = OpenAIModel(client_args={"api_key": "none", "base_url": url}, model_id="gpt-4o")
        kept = CompactConversationManager(manager)
        agent = Agent(model, tools=[read_page], conversation_manager=kept, callback_handler=None)
        print(str(agent("Where were we on page 3?")).strip())


if __name__ == "__main__":
    main()
