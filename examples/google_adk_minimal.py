"""A Google ADK agent with Compact: two lines. Its model is scripted, so that it runs offline.

pip install 'compact-context[adk]'
python examples/google_adk_minimal.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from compact import CompactConfig, CompactManager, count_tokens
from compact.integrations.google_adk import compact_callback

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from model_server import PAGES, WINDOW, page


class Scripted(BaseLlm):
    """Reads page after page, then answers; notes how large the prompts were."""

    asked: int = 0
    largest: int = 0

    async def generate_content_async(
        self, request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.largest = max(self.largest, count_tokens(request.contents, format="gemini"))
        number, self.asked = self.asked, self.asked + 1
        part = types.Part(text="All read. Page 3 was at POS-339.")
        if number < PAGES:
            part = types.Part(function_call=types.FunctionCall(name="read_page", args={"number": number}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def read_page(number: int) -> str:
    """Read one page of the ship's log."""
    return page(number)


async def main() -> None:
    manager = CompactManager(
        CompactConfig(model="gpt-4o", max_context_tokens=WINDOW, archive={"adapter": "none"})
    )
    model = Scripted(model="scripted")
    callback = compact_callback(manager)
    agent = LlmAgent(name="navigator", model=model, tools=[read_page], before_model_callback=callback)
    runner = InMemoryRunner(agent, app_name="log")
    session = await runner.session_service.create_session(app_name="log", user_id="u")
    question = types.Content(role="user", parts=[types.Part(text="Where were we on page 3?")])
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=question):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)
    print(f"{model.asked} requests through a window of {WINDOW:,}, the largest of {model.largest:,} tokens.")


if __name__ == "__main__":
    asyncio.run(main())
