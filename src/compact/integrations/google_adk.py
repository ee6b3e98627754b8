"""Compact inside Google's Agent Development Kit: a callback before each model call.

    from compact.integrations.google_adk import compact_callback
    agent = LlmAgent(…, before_model_callback=compact_callback(manager))

The session keeps every event; only the request is compacted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

from compact import CompactManager, MissingExtra
from compact.integrations._base import SessionId, afit, session_of, speaking

if find_spec("google") is None or find_spec("google.adk") is None:
    raise MissingExtra("google-adk", "adk")

__all__ = ["compact_callback"]


def compact_callback(manager: CompactManager, session_id: SessionId = None) -> Callable[..., Awaitable[None]]:
    """For `before_model_callback` of an agent or a plugin. ADK's own id identifies the session."""
    sibling = speaking(manager, "gemini")

    async def before_model_callback(callback_context: Any, llm_request: Any) -> None:
        contents = list(llm_request.contents)
        known = {"session_id": getattr(getattr(callback_context, "session", None), "id", None)}
        session = session_of(session_id, known, contents)
        config = llm_request.config
        fitted = await afit(sibling, session, contents, _tools(config), _system(config))
        llm_request.contents = fitted.messages

    return before_model_callback


def _tools(config: Any) -> list[Any] | None:
    declared = [
        one for tool in config.tools or () for one in getattr(tool, "function_declarations", None) or ()
    ]
    return [
        {
            "name": one.name,
            "description": one.description,
            "parameters": one.parameters_json_schema
            or (one.parameters.model_dump(exclude_none=True, mode="json") if one.parameters else {}),
        }
        for one in declared
    ] or None


def _system(config: Any) -> str | None:
    given = config.system_instruction
    return given if isinstance(given, str) or given is None else str(given)
