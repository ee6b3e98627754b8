"""Compact inside CrewAI: a hook before each model call.

    from compact.integrations.crewai import compact_hook
    register_before_llm_call_hook(compact_hook(manager))

CrewAI's hooks change an agent's messages in place, so its list becomes what fits; the manager's store has the
originals. Turn off CrewAI's own summarizing with `respect_context_window=False`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from compact import CompactManager, MissingExtra
from compact.integrations._base import SessionId, fit, session_of, speaking

if find_spec("crewai") is None:
    raise MissingExtra("crewai", "crewai")

__all__ = ["compact_hook"]


def compact_hook(manager: CompactManager, session_id: SessionId = None) -> Callable[[Any], None]:
    """For `register_before_llm_call_hook`, or a crew's own `@before_llm_call`.

    The session is identified by `session_id`, else by the task's id, else by the first message.
    """
    sibling = speaking(manager, "openai-chat")

    def before_llm_call(context: Any) -> None:
        messages = context.messages
        named = getattr(context.task, "id", None)
        session = session_of(session_id, {"session_id": None if named is None else str(named)}, messages)
        fitted = fit(sibling, session, list(messages), _tools(context))
        if fitted.messages != messages:
            messages[:] = fitted.messages

    return before_llm_call


def _tools(context: Any) -> list[Any] | None:
    """The definitions that are sent with the messages; none if the model reads about them in the prompt."""
    return list(getattr(context.executor, "_openai_tools", None) or ()) or None
