"""Compact inside Strands: a conversation manager.

    from compact.integrations.strands import CompactConversationManager
    agent = Agent(model, tools=tools, conversation_manager=CompactConversationManager(manager))

As with Strands' own managers, the agent's messages become what fits; the manager's store has the originals.
"""

from __future__ import annotations

from typing import Any

from compact import CompactManager, MissingExtra
from compact.integrations._base import Fitted, SessionId, compact_hard, fit, session_of, speaking

try:
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import BeforeModelCallEvent
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = ["CompactConversationManager"]


class CompactConversationManager(ConversationManager):  # type: ignore[misc]
    """Checks before each model call; compacts hard after an overflow that the model reports.

    The session is identified by `session_id`, else by the agent's session manager, else by the first message.
    """

    def __init__(self, manager: CompactManager, session_id: SessionId = None) -> None:
        super().__init__()
        self._manager = speaking(manager, "bedrock")
        self._session_id = session_id

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """Does nothing after a model call: only the next prompt matters."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        asked = self._asked(agent)
        refused = e if e is not None else ValueError("too long")
        self._take(agent, compact_hard(self._manager, *asked, refused))

    def _before_model_call(self, event: Any) -> None:
        self._take(event.agent, fit(self._manager, *self._asked(event.agent)))

    def _asked(self, agent: Any) -> tuple[str, list[Any], Any, Any]:
        tools = agent.tool_registry.get_all_tool_specs()
        known = {"session_id": getattr(getattr(agent, "_session_manager", None), "session_id", None)}
        session = session_of(self._session_id, known, agent.messages)
        return session, list(agent.messages), tools or None, agent.system_prompt

    def _take(self, agent: Any, fitted: Fitted) -> None:
        if fitted.messages != agent.messages:
            self.removed_message_count += len(agent.messages) - len(fitted.messages)
            agent.messages[:] = fitted.messages
