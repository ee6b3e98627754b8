"""Compact inside Pydantic AI: a capability that sees every request before it is sent to the model.

    from compact.integrations.pydantic_ai import CompactHistory
    agent = Agent(model, capabilities=[CompactHistory(manager)])

The run's messages stay complete; only the request is compacted. Instructions and tools are counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compact import CompactManager, MissingExtra
from compact.integrations._base import SessionId, afit, aobserve, session_of, speaking

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelRequest
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai") from error

__all__ = ["CompactHistory", "compact_history"]


class CompactHistory(AbstractCapability[Any]):  # type: ignore[misc]
    """Makes the agent's requests fit. The session is `session_id`, else the conversation's id."""

    def __init__(self, manager: CompactManager, session_id: SessionId = None) -> None:
        self._manager = speaking(manager, "pydantic-ai")
        self._session_id = session_id

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        asked = request_context.model_request_parameters
        tools = [*getattr(asked, "function_tools", ()), *getattr(asked, "output_tools", ())]
        schemas = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in tools
        ]
        messages = list(request_context.messages)
        session = _session(self._session_id, ctx, messages)
        fitted = await afit(self._manager, session, messages, schemas or None, _instructions(messages))
        return replace(request_context, messages=fitted.messages)

    async def after_model_request(self, ctx: RunContext[Any], *, request_context: Any, response: Any) -> Any:
        messages, usage = list(request_context.messages), getattr(response, "usage", None)
        if getattr(usage, "input_tokens", None):
            session = _session(self._session_id, ctx, messages)
            await aobserve(self._manager, session, messages, usage, _instructions(messages))
        return response


def compact_history(manager: CompactManager, session_id: SessionId = None) -> Any:
    """A history processor, for versions and agents that accept one: it sees the messages, not the tools."""
    sibling = speaking(manager, "pydantic-ai")

    async def compacted(ctx: RunContext[Any], messages: list[Any]) -> list[Any]:
        session = _session(session_id, ctx, messages)
        return (await afit(sibling, session, messages, None, _instructions(messages))).messages

    return compacted


def _session(given: SessionId, ctx: Any, messages: list[Any]) -> str:
    named = session_of(given, getattr(ctx, "deps", None), ())
    if named != session_of(None):
        return named
    found = getattr(ctx, "conversation_id", None) or getattr(ctx, "run_id", None)
    return str(found) if found else session_of(None, None, messages)


def _instructions(messages: list[Any]) -> str | None:
    """Instructions are on the newest request, next to its parts."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            return str(message.instructions) if message.instructions else None
    return None
