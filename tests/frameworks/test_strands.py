"""Strands: a real agent with a model behind HTTP that refuses over-long prompts."""

from __future__ import annotations

from typing import Any

import pytest
from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models.openai import OpenAIModel

from compact import CompactManager
from compact.integrations.strands import CompactConversationManager
from support.framework_contract import IntegrationContract
from support.strict_provider import TASK, StrictProvider, page_text


@tool
def read_page(number: int) -> str:
    """Read one page.

    Args:
        number: which one
    """
    return page_text(number)


@pytest.mark.spec("S5.12")
class TestStrands(IntegrationContract):
    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        where = {"api_key": "none", "base_url": f"{server.url}/v1", "max_retries": 0}
        kept: Any = NullConversationManager() if manager is None else CompactConversationManager(manager, "s")
        agent = Agent(
            OpenAIModel(client_args=where, model_id="gpt-4o"),
            tools=[read_page],
            system_prompt="Be exact.",
            conversation_manager=kept,
            callback_handler=None,
        )
        said = str(agent(TASK)).strip()
        if manager is not None and server.read > 10:
            assert "Keeper-17" in str(manager.recall("s", "Keeper-17")), "the store has what went"
        return said
