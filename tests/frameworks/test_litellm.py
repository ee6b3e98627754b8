"""LiteLLM: its callback and its `completion`, with a model behind HTTP that refuses over-long prompts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import litellm
import pytest

from compact import CompactManager
from compact.integrations.litellm import CompactCallback, wrap_completion
from support.framework_contract import IntegrationContract
from support.strict_provider import TASK, StrictProvider, page_text

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
FUNCTION = {"name": "read_page", "description": "Read one page.", "parameters": SCHEMA}
TOOLS: Any = [{"type": "function", "function": FUNCTION}]


def options(server: StrictProvider, messages: list[Any]) -> dict[str, Any]:
    where = {"api_base": f"{server.url}/v1", "api_key": "none", "max_retries": 0}
    return {"model": "openai/gpt-4o", "messages": messages, "tools": TOOLS, **where}


def took(messages: list[Any], answer: Any) -> str | None:
    """Append what the model said and what its tools returned; the text where it called none."""
    said = answer.choices[0].message
    if not said.tool_calls:
        return str(said.content)
    calls = [call.model_dump() for call in said.tool_calls]
    messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    for call in said.tool_calls:
        text = page_text(json.loads(call.function.arguments)["number"])
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return None


@pytest.mark.spec("S5.12")
class TestCallback(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        litellm.callbacks = [] if manager is None else [CompactCallback(manager)]
        try:
            return asyncio.run(self.work(server))
        finally:
            litellm.callbacks = []

    async def work(self, server: StrictProvider) -> str:
        messages: list[Any] = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": TASK}]
        while True:
            answer = await litellm.acompletion(**options(server, messages))
            if (said := took(messages, answer)) is not None:
                return said


class TestCompletion(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        completion = litellm.completion if manager is None else wrap_completion(litellm.completion, manager)
        messages: list[Any] = [{"role": "user", "content": TASK}]
        while True:
            if (said := took(messages, completion(**options(server, messages)))) is not None:
                return said
