"""Compact inside LiteLLM: a callback for `acompletion`, router and proxy, a wrapper for `completion`.

from compact.integrations.litellm import CompactCallback
litellm.callbacks = [CompactCallback(manager)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from compact import CompactManager, MissingExtra
from compact.integrations._base import SessionId, afit, compact_hard, fit, is_overflow, session_of, speaking

try:
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise MissingExtra("litellm", "litellm") from error

__all__ = ["CompactCallback", "wrap_completion"]


class CompactCallback(CustomLogger):  # type: ignore[misc]
    """Makes every prompt of LiteLLM's asynchronous calls fit.

    The session is identified by `session_id`, else by the call's `metadata["session_id"]`, else by its first
    message.
    """

    def __init__(self, manager: CompactManager, session_id: SessionId = None) -> None:
        super().__init__()
        self._manager = speaking(manager, "openai-chat")
        self._session_id = session_id

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Called by `acompletion` and by the router, right before the request is sent."""
        return await self._fitted(kwargs)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Called by the proxy when a request arrives."""
        return await self._fitted(data)

    async def _fitted(self, call: dict[str, Any]) -> dict[str, Any] | None:
        messages = call.get("messages")
        if not isinstance(messages, list) or not messages:
            return None
        session = _session(self._session_id, call)
        fitted = await afit(self._manager, session, messages, call.get("tools"))
        return {**call, "messages": fitted.messages}


def wrap_completion(
    completion: Callable[..., Any], manager: CompactManager, session_id: SessionId = None
) -> Callable[..., Any]:
    """`litellm.completion`, which calls no callback before it sends; after an overflow it sends once more."""
    sibling = speaking(manager, "openai-chat")

    @wraps(completion)
    def compacted(*args: Any, **call: Any) -> Any:
        messages = call.get("messages")
        if not isinstance(messages, list) or not messages:
            return completion(*args, **call)
        session, tools = _session(session_id, call), call.get("tools")
        try:
            return completion(*args, **{**call, "messages": fit(sibling, session, messages, tools).messages})
        except Exception as error:
            if not is_overflow(error):
                raise
            again = compact_hard(sibling, session, messages, tools, None, error)
            return completion(*args, **{**call, "messages": again.messages})

    return compacted


def _session(given: SessionId, call: Mapping[str, Any]) -> str:
    metadata = call.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    # The proxy puts the hash of the caller's key there.
    owner = call.get("user") or known.get("user_api_key_hash") or known.get("user_api_key") or ""
    return session_of(given, known, call["messages"], str(owner))
