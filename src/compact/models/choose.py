"""Which chat model a name refers to, and which ones the available keys and packages allow."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compact.errors import ChatError, ConfigError, MissingExtra
from compact.models import demo, local

if TYPE_CHECKING:
    from compact.ports import ChatModel

_OPENAI_NAME = re.compile(r"gpt-|chatgpt-|o[1-9](?:$|-)|codex")


@dataclass(frozen=True, slots=True)
class Source:
    """A place that models come from. `problem` says what is missing; None if its models are usable now."""

    name: str
    models: tuple[str, ...]
    """The ones to suggest; others of the same source work as well."""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Vendor:
    key: str
    address_variable: str | None
    base_url: str | None
    models: tuple[str, ...]


_VENDORS = {
    "openai": _Vendor(
        "OPENAI_API_KEY", "OPENAI_BASE_URL", None, ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5-mini")
    ),
    "anthropic": _Vendor(
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        None,
        ("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5"),
    ),
    "openrouter": _Vendor(
        "OPENROUTER_API_KEY",
        None,
        "https://openrouter.ai/api/v1",
        ("openrouter/openai/gpt-4o", "openrouter/anthropic/claude-sonnet-4.5"),
    ),
}
_OLLAMA = "http://127.0.0.1:11434/v1"


def sources(environ: Mapping[str, str]) -> list[Source]:
    """Every known source, usable or not; contacts no server."""
    found = []
    for name, vendor in _VENDORS.items():
        problem = None
        if not _has_key(vendor, environ):
            problem = f"{vendor.key} is not set"
        elif importlib.util.find_spec("httpx2") is None:
            problem = str(MissingExtra("httpx2", "anthropic" if name == "anthropic" else "openai"))
        found.append(Source(name, vendor.models, problem))
    absent = local.missing()
    own = Source(local.NAME, (local.NAME,), str(absent) if absent else None)
    return [*found, own, Source(demo.NAME, (demo.NAME,))]


def available(environ: Mapping[str, str]) -> list[str]:
    """Names to offer: all sources that can be used now, with the local model and the demo last."""
    return [model for source in sources(environ) if source.problem is None for model in source.models]


def default_model(environ: Mapping[str, str]) -> str:
    """The first model that can be used now. If there is none, MissingExtra says what to install.

    The demo is not a model, and is used only on request.
    """
    if usable := [name for name in available(environ) if name != demo.NAME]:
        return usable[0]
    for vendor in _VENDORS.values():
        if _has_key(vendor, environ):
            # Its client names the missing extra.
            return vendor.models[0]
    keys = ", ".join(vendor.key for vendor in _VENDORS.values())
    problem = local.missing(f"No model is named, none of {keys} is set, and the local demo model")
    assert problem is not None, "else it could be used"
    raise problem


def chat_model(
    name: str,
    environ: Mapping[str, str],
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    on_wait: Callable[[float, ChatError], None] | None = None,
) -> ChatModel:
    """The model that `name` refers to.

    `local`; `demo`; a vendor's own name (`gpt-4o`, `claude-sonnet-4-5`); or `openai/…`, `anthropic/…`,
    `openrouter/…`, `ollama/…`. With `base_url` any name is sent there, in OpenAI's format, or in Anthropic's
    if the URL is theirs or ends in /anthropic. `api_key_env` is the variable that holds the key. Raises
    ConfigError if no source has the name or its key is not set; contacts no server.
    """
    from compact.models.anthropic_chat import AnthropicChatModel
    from compact.models.openai_chat import OpenAIChatModel

    if base_url is None and name.split("/")[0] == local.NAME:
        return local.LocalChatModel()
    if base_url is None and name == demo.NAME:
        return demo.DemoChatModel()
    if api_key_env and not environ.get(api_key_env):
        raise ConfigError(f"the variable {api_key_env} is not set; it must hold the key for {name}")
    if base_url is not None:
        key = environ.get(api_key_env) if api_key_env else None
        theirs = "anthropic.com" in base_url or base_url.rstrip("/").endswith("/anthropic")
        client = AnthropicChatModel if theirs else OpenAIChatModel
        return client(name, base_url, key, on_wait=on_wait)
    source, model = _source_of(name, environ)
    if source == "ollama":
        return OpenAIChatModel(model, environ.get("OLLAMA_BASE_URL") or _OLLAMA, label=name, on_wait=on_wait)
    vendor = _VENDORS[source]
    if not api_key_env and not _has_key(vendor, environ):
        raise ConfigError(
            f"{name} needs {vendor.key}, which is not set. Set it, or choose another model: "
            f"{', '.join(available(environ)) or 'none can be used now'}."
        )
    address = environ.get(vendor.address_variable) if vendor.address_variable else None
    client = AnthropicChatModel if source == "anthropic" else OpenAIChatModel
    key = environ.get(api_key_env or vendor.key)
    return client(model, address or vendor.base_url, key, on_wait=on_wait)


def _has_key(vendor: _Vendor, environ: Mapping[str, str]) -> bool:
    # A self-hosted server often needs no key.
    own_server = vendor.address_variable and environ.get(vendor.address_variable)
    return bool(environ.get(vendor.key) or own_server)


def _source_of(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Who serves it, and its name there."""
    vendor, _, model = name.partition("/")
    if vendor in ("openrouter", "ollama") and model:
        return vendor, model
    if vendor in _VENDORS and model:
        # OpenRouter offers the others' models under exactly these names.
        if not _has_key(_VENDORS[vendor], environ) and _has_key(_VENDORS["openrouter"], environ):
            return "openrouter", name
        return vendor, model
    if not model and "claude" in name:
        return "anthropic", name
    if not model and _OPENAI_NAME.match(name):
        return "openai", name
    if model and _has_key(_VENDORS["openrouter"], environ):
        return "openrouter", name
    if environ.get("OPENAI_BASE_URL"):
        return "openai", name
    raise ConfigError(
        f"no model is called {name!r} here. Choose one of: {', '.join(available(environ)) or 'none'}; "
        "or give the address of its server."
    )
