"""What is no manager is refused when an integration is set up, not at the first call of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, ConfigError
from compact.integrations._base import fit, speaking


def _client(manager: Any) -> Any:
    openai = pytest.importorskip("openai")
    from compact.integrations.clients import wrap

    return wrap(openai.OpenAI(api_key="none"), manager)


def _agents(name: str, *first: Any) -> Callable[[Any], Any]:
    def made(manager: Any) -> Any:
        return getattr(pytest.importorskip("compact.integrations.openai_agents"), name)(*first, manager)

    return made


def _session(manager: Any) -> Any:
    agents = pytest.importorskip("agents")
    return _agents("CompactSession", agents.SQLiteSession("s"))(manager)


def _of(module: str, name: str) -> Callable[[Any], Any]:
    return lambda manager: getattr(pytest.importorskip(f"compact.integrations.{module}"), name)(manager)


INTEGRATIONS: dict[str, Callable[[Any], Any]] = {
    "wrap": _client,
    "compact_filter": _agents("compact_filter"),
    "before_model_call": _agents("before_model_call"),
    "CompactHooks": _agents("CompactHooks"),
    "CompactModel": _agents("CompactModel", object()),
    "CompactSession": _session,
    "CompactMiddleware": _of("langchain", "CompactMiddleware"),
    "compact_messages": _of("langchain", "compact_messages"),
    "CompactHistory": _of("pydantic_ai", "CompactHistory"),
    "server_for": _of("mcp", "server_for"),
    "CompactCallback": _of("litellm", "CompactCallback"),
    "CompactConversationManager": _of("strands", "CompactConversationManager"),
    "compact_callback": _of("google_adk", "compact_callback"),
    "compact_hook": _of("crewai", "compact_hook"),
}


@pytest.mark.parametrize("name", INTEGRATIONS)
@pytest.mark.parametrize(
    "wrong", ["session-1", CompactConfig(), CompactManager], ids=["a session id", "settings", "the class"]
)
def test_what_is_no_manager_is_refused_at_once(name: str, wrong: Any) -> None:
    kinds = r"manager must be a CompactManager, not (str|CompactConfig|the class CompactManager)\. Settings"
    with pytest.raises(ConfigError, match=kinds):
        INTEGRATIONS[name](wrong)


class Proxy:
    """As programs write them, to count or log calls: not one of our classes."""

    def __init__(self, manager: CompactManager) -> None:
        self._manager = manager
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self._manager, name)


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_a_proxy_of_a_manager_is_taken(name: str) -> None:
    manager = CompactManager(CompactConfig(counter="chars4", archive={"adapter": "none"}))
    assert INTEGRATIONS[name](Proxy(manager)) is not None


def test_a_proxy_is_asked_for_what_fits() -> None:
    manager = CompactManager(CompactConfig(counter="chars4", archive={"adapter": "none"}))
    proxy: Any = Proxy(manager)
    messages = [{"role": "user", "content": "hello"}]
    assert fit(proxy, "s", messages).messages == messages
    assert proxy.asked == ["prepare"]
    assert fit(speaking(proxy, "openai-chat"), "s", messages).messages == messages
