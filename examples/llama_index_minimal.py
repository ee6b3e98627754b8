"""A LlamaIndex agent with Compact: two lines. Runs offline against `model_server.py`.

pip install 'compact-context[llama-index]' llama-index-llms-openai-like
python examples/llama_index_minimal.py
"""

from __future__ import annotations

import asyncio

from compact import CompactConfig, CompactManager
from compact.integrations.llama_index import compact_llm

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from model_server import WINDOW, model_server, page


def read_page(number: int) -> str:
    """Read one page of the ship's log."""
    return page(number)


async def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    with model_server() as url:
        model = OpenAILike(
            model="gpt-4o", api_base=url, api_key="none", is_chat_model=True, is_function_calling_model=True
        )
        tools = [FunctionTool.from_defaults(read_page)]
        agent = FunctionAgent(llm=compact_llm(model, manager), tools=tools, streaming=False)
        print(await agent.run("Where were we on page 3?", max_iterations=100))


if __name__ == "__main__":
    asyncio.run(main())
