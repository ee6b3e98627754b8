"""Compact inside LangChain and LangGraph: a middleware for `create_agent`, and a function for graphs.

    from compact.integrations.langchain import CompactMiddleware
    agent = create_agent(model, tools, middleware=[CompactMiddleware(manager)])

The agent's state keeps every message; only what is sent to the model is compacted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from compact import CompactManager, MissingExtra
from compact.integrations._base import SessionId, afit, fit, session_of, speaking

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import BaseMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as error:
    raise MissingExtra("langchain", "langchain") from error

__all__ = ["CompactMiddleware", "compact_messages"]


class CompactMiddleware(AgentMiddleware[Any, Any]):  # type: ignore[misc]
    """Makes the agent's prompts fit. The session is identified by `session_id`, else by the thread's id."""

    def __init__(self, manager: CompactManager, session_id: SessionId = None) -> None:
        super().__init__()
        self._manager = speaking(manager, "langchain")
        self._session_id = session_id

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        fitted = fit(self._manager, *self._asked(request))
        return handler(request.override(messages=fitted.messages))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        fitted = await afit(self._manager, *self._asked(request))
        return await handler(request.override(messages=fitted.messages))

    def _asked(self, request: ModelRequest) -> tuple[str, list[Any], Any, str | None]:
        system = request.system_message
        tools = [_definition(tool) for tool in request.tools or ()] or None
        session = session_of(self._session_id, _thread(request), request.messages)
        return session, list(request.messages), tools, None if system is None else str(system.text)


def compact_messages(
    manager: CompactManager, session_id: SessionId = None
) -> Callable[[Sequence[BaseMessage]], list[BaseMessage]]:
    """For your own chains and graphs: `model.invoke(compacted(state["messages"]))`."""
    sibling = speaking(manager, "langchain")

    def compacted(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        session = session_of(session_id, _thread(None), messages)
        return fit(sibling, session, list(messages)).messages

    return compacted


def _thread(request: Any) -> dict[str, Any]:
    """Where a run's id may be: in its context, or in the configuration of the graph's thread."""
    context = getattr(getattr(request, "runtime", None), "context", None)
    named = getattr(context, "session_id", None)
    if named is None:
        try:
            named = (get_config().get("configurable") or {}).get("thread_id")
        except RuntimeError:
            named = None  # Outside a graph.
    return {"session_id": named if named is None else str(named)}


def _definition(tool: Any) -> Any:
    return tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
