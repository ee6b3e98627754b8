"""LiteLLM with Compact: two lines. Runs offline against `model_server.py`.

pip install 'compact-context[litellm]'
python examples/litellm_minimal.py
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from compact import CompactConfig, CompactManager
from compact.integrations.litellm import CompactCallback

import litellm
from model_server import WINDOW, model_server, page

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
TOOLS: Any = [{"type": "function", "function": {"name": "read_page", "parameters": SCHEMA}}]


async def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    litellm.callbacks = [CompactCallback(manager)]
    with model_server() as url:
        messages: list[Any] = [{"role": "user", "content": "Where were we on page 3?"}]
        while True:
            answer = await litellm.acompletion(
                model="openai/gpt-4o", messages=messages, tools=TOOLS, api_base=url, api_key="none"
            )
            said = answer.choices[0].message
            if not said.tool_calls:
                break
            calls = [call.model_dump() for call in said.tool_calls]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            for call in calls:
                text = page(json.loads(call["function"]["arguments"])["number"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        print(said.content)


if __name__ == "__main__":
    asyncio.run(main())
