"""Google ADK: a real agent and runner, with a Gemini server that refuses over-long prompts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

from compact import CompactManager
from compact.formats import by_name, decode_all, recognize
from compact.integrations.google_adk import compact_callback
from compact.testing.formats import CLEARED, cleared
from support.framework_contract import IntegrationContract
from support.strict_provider import TASK, StrictProvider, page_text


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "none")


def read_page(number: int) -> str:
    """Read one page."""
    return page_text(number)


@pytest.mark.spec("S5.12")
class TestGoogleADK(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        return asyncio.run(self.work(server, manager))

    async def work(self, server: StrictProvider, manager: CompactManager | None) -> str:
        options: dict[str, Any] = (
            {} if manager is None else {"before_model_callback": compact_callback(manager)}
        )
        model = Gemini(model="gemini-2.5-flash", base_url=server.url)
        agent = LlmAgent(name="reader", model=model, instruction="Be exact.", tools=[read_page], **options)
        runner = InMemoryRunner(agent, app_name="log")
        session = await runner.session_service.create_session(app_name="log", user_id="u", session_id="s1")
        asked = types.Content(role="user", parts=[types.Part(text=TASK)])
        said, events = "", 0
        config = RunConfig(max_llm_calls=200)
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=asked, run_config=config
        ):
            events += 1
            if event.is_final_response() and event.content and event.content.parts:
                said = event.content.parts[0].text or ""
        if manager is not None and server.read > 10:
            assert events == 2 * server.pages + 1, "the session holds every event"
            assert {event.session_id for event in manager.events} == {"s1"}
        return said


def test_message_classes_come_back_as_themselves() -> None:
    call = types.Part(function_call=types.FunctionCall(name="read_page", args={"number": 1}))
    answer = types.FunctionResponse(name="read_page", response={"result": "long " * 50})
    given = [
        types.Content(role="user", parts=[types.Part(text="Go.")]),
        types.Content(role="model", parts=[types.Part(text="Reading."), call]),
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
        types.Content(role="model", parts=[types.Part(text="Done.")]),
    ]
    format = by_name("gemini")
    assert recognize(given) is format
    messages = decode_all(given, format)
    assert all(out is one for out, one in zip(format.encode(messages), given, strict=True))
    encoded = format.encode([cleared(message) if message.results else message for message in messages])
    assert all(isinstance(one, types.Content) for one in encoded)
    assert encoded[2].parts[0].function_response.response == {"output": CLEARED}
