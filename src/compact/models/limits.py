"""A model's window and longest output: from the user, a bundled registry, the family, or a safe default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compact.config import ModelLimits

DEFAULT_WINDOW = 16_000
DEFAULT_MAX_OUTPUT = 4_096


class LimitsSource(StrEnum):
    OVERRIDE = "override"
    REGISTRY = "registry"
    FAMILY = "family"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class LimitsResult:
    window: int
    max_output: int
    source: LimitsSource
    warning: str | None = None
    """A warning for the user if the limits are a guess."""


# Window and longest output by the start of a model's name; the longest matching start decides. The registry
# has no output limits, so these also apply to the models it knows.
_FAMILIES: dict[str, tuple[int, int]] = {
    "compact-demo": (20_000, 1_024),
    "gpt-3.5-turbo": (16_385, 4_096),
    "gpt-35-turbo": (16_385, 4_096),
    "gpt-4": (8_192, 4_096),
    "gpt-4-32k": (32_000, 4_096),
    "gpt-4-turbo": (128_000, 4_096),
    "gpt-4-vision": (128_000, 4_096),
    "gpt-4-1106": (128_000, 4_096),
    "gpt-4-0125": (128_000, 4_096),
    "gpt-4o": (128_000, 16_384),
    "gpt-4o-2024-05-13": (128_000, 4_096),
    "gpt-4o-realtime": (32_000, 4_096),
    "gpt-4o-mini-realtime": (16_000, 4_096),
    "chatgpt-4o": (128_000, 16_384),
    "gpt-4.1": (1_000_000, 32_768),
    "gpt-4.5": (128_000, 16_384),
    "gpt-5": (400_000, 128_000),
    "gpt-5-chat": (128_000, 16_384),
    "gpt-6": (400_000, 128_000),
    "gpt-oss": (131_072, 32_768),
    "o1": (200_000, 100_000),
    "o1-mini": (128_000, 65_536),
    "o1-preview": (128_000, 32_768),
    "o3": (200_000, 100_000),
    "o4": (200_000, 100_000),
    "codex": (200_000, 100_000),
    "claude": (200_000, 8_192),
    "claude-instant": (100_000, 4_096),
    "claude-2": (100_000, 4_096),
    "claude-2-1": (200_000, 4_096),
    "claude-3": (200_000, 4_096),
    "claude-3-5": (200_000, 8_192),
    "claude-3-7": (200_000, 64_000),
    "claude-opus": (200_000, 32_000),
    "claude-sonnet": (200_000, 64_000),
    "claude-haiku": (200_000, 64_000),
    "claude-4-opus": (200_000, 32_000),
    "claude-4-sonnet": (200_000, 64_000),
    "gemini": (1_000_000, 8_192),
    "gemini-pro": (32_000, 8_192),
    "gemini-1.0": (32_000, 8_192),
    "gemini-1.5": (1_000_000, 8_192),
    "gemini-2.0": (1_000_000, 8_192),
    "gemini-2.5": (1_000_000, 65_536),
    "gemini-3": (1_000_000, 65_536),
    "gemma": (8_192, 4_096),
    "gemma-3": (128_000, 8_192),
    "llama-3": (8_192, 4_096),
    "llama3": (8_192, 4_096),
    "llama-3.1": (128_000, 4_096),
    "llama3.1": (128_000, 4_096),
    "llama-3.2": (128_000, 4_096),
    "llama3.2": (128_000, 4_096),
    "llama-3.3": (128_000, 4_096),
    "llama3.3": (128_000, 4_096),
    "llama-4": (128_000, 8_192),
    "mistral": (32_000, 4_096),
    "mistral-large": (128_000, 4_096),
    "mistral-medium": (128_000, 4_096),
    "mistral-small": (32_000, 4_096),
    "mixtral": (32_000, 4_096),
    "codestral": (256_000, 4_096),
    "deepseek": (64_000, 8_192),
    "qwen": (32_000, 8_192),
    "qwen3": (32_000, 8_192),
    "grok": (131_072, 8_192),
    "grok-2": (32_768, 8_192),
    "command-r": (128_000, 4_096),
    "kimi": (131_072, 8_192),
    "glm-4": (128_000, 8_192),
    "smollm2": (8_192, 1_024),
}

# Importing the registry takes hundreds of milliseconds. For these names the family above has the registry's
# own value (a test compares them), so the order "registry before family" holds without the import.
_AGREED = frozenset(
    {
        "gpt-3.5-turbo", "gpt-4", "gpt-4-turbo", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini",
        "gpt-5", "gpt-5-mini", "gpt-5-nano", "o1", "o3", "o3-mini", "o4-mini",
        "claude-3-5-sonnet", "claude-3-5-haiku", "claude-3-7-sonnet", "claude-3-opus", "claude-3-haiku",
        "claude-haiku-4-5", "claude-opus-4-5", "claude-sonnet-4-5", "gemini-1.5-pro", "gemini-2.0-flash",
    }
)  # fmt: skip
_FIRST_PARTY = frozenset({"", "openai", "anthropic", "google"})
_PREFIX_END = re.compile(r"[-.:@_]|$")


def limits_for(model: str, overrides: Mapping[str, ModelLimits] | None = None) -> LimitsResult:
    """Limits of a bare or `provider/model` id; the first source that knows the window decides."""
    provider, name = _split(model)
    family = _family(name)
    own_output = family[1] if family else DEFAULT_MAX_OUTPUT
    override = _override(model, overrides or {})
    if override is not None:
        # If the user raises only the window, the output must still leave room for a prompt.
        output = override.max_output or min(own_output, max(1, override.window // 2))
        return LimitsResult(override.window, output, LimitsSource.OVERRIDE)
    if family and provider in _FIRST_PARTY and name in _AGREED:
        return LimitsResult(*family, LimitsSource.REGISTRY)
    window = _registry_window(provider, name, model.strip().lower())
    if window is not None:
        return LimitsResult(window, min(own_output, max(1, window // 2)), LimitsSource.REGISTRY)
    if family:
        return LimitsResult(*family, LimitsSource.FAMILY)
    return LimitsResult(
        DEFAULT_WINDOW,
        DEFAULT_MAX_OUTPUT,
        LimitsSource.DEFAULT,
        f"The model {model!r} is not known, so a window of {DEFAULT_WINDOW:,} tokens and an output of "
        f"{DEFAULT_MAX_OUTPUT:,} are assumed. Set its limits under models, or max_context_tokens.",
    )


def _split(model: str) -> tuple[str, str]:
    """Provider (or "") and the model's own name, with one spelling for each Claude."""
    provider, _, name = model.strip().lower().rpartition("/")
    if name.startswith("ft:"):
        name = name.split(":")[1]
    head, _, tail = name.partition(":")
    if head.isalpha() and tail and not tail[0].isdigit():
        provider, name = provider or head, tail
    if "claude" in name:
        name = name[name.rindex("claude") :].replace(".", "-")
    return provider, name


def _override(model: str, overrides: Mapping[str, ModelLimits]) -> ModelLimits | None:
    if model in overrides:
        return overrides[model]
    provider, name = _split(model)
    for key, limits in overrides.items():
        key_provider, key_name = _split(key)
        same_provider = key_provider == provider or not key_provider or not provider
        if key_name == name and same_provider:
            return limits
    return None


def _family(name: str) -> tuple[int, int] | None:
    for length in range(len(name), 0, -1):
        # "gpt-4" matches "gpt-4-0613" but not "gpt-45"; "qwen" still matches "qwen2.5".
        found = _FAMILIES.get(name[:length])
        if found and (_PREFIX_END.match(name, length) or name[length - 1].isalpha()):
            return found
    return None


@cache
def _registry_window(provider: str, name: str, full: str) -> int | None:
    """The window in `genai-prices`, which is plain data and never uses the network."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    snapshot = get_snapshot()
    # Look under its provider first: the same model may have a different window elsewhere.
    first_provider, _, rest = full.partition("/")
    questions: list[tuple[str | None, str]] = [(first_provider, rest)] if rest else []
    questions += [(provider, name)] if provider else []
    questions += [(None, name)]
    for asked_provider, asked_name in questions:
        try:
            _, found = snapshot.find_provider_model(asked_name, None, asked_provider, None)
        except LookupError:
            continue
        if found.context_window:
            return int(found.context_window)
    return None
