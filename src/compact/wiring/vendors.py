"""The vendors whose models write summaries: which one the settings name, its address, its key."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from compact.config import CompactConfig, SummarizerSettings
from compact.model.summary import EMBEDDED

if TYPE_CHECKING:
    from compact.summarizers._model import ModelSummarizer


def _anthropic() -> type[ModelSummarizer]:
    from compact.summarizers.anthropic import AnthropicSummarizer

    return AnthropicSummarizer


def _openai() -> type[ModelSummarizer]:
    from compact.summarizers.openai import OpenAISummarizer

    return OpenAISummarizer


@dataclass(frozen=True)
class Vendor:
    fast_model: str
    """The model that writes summaries if the settings name none."""
    key_variable: str
    address_variable: str
    client: Callable[[], type[ModelSummarizer]]
    """Loads its class."""


VENDORS: Mapping[str, Vendor] = {
    "anthropic": Vendor("claude-haiku-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", _anthropic),
    "openai": Vendor("gpt-4o-mini", "OPENAI_API_KEY", "OPENAI_BASE_URL", _openai),
}


def vendor_of(settings: SummarizerSettings, preset: str, environ: Mapping[str, str]) -> str:
    """The one that is set; with `auto`, the vendor whose key is there, else the embedded one.

    `agent` asks OpenAI first, as its seed does (S0.2, S2.10).
    """
    if settings.name != "auto":
        return settings.name
    first = "openai" if preset == "agent" else "anthropic"
    order = sorted(VENDORS, key=lambda name: name != first)
    return next((name for name in order if environ.get(VENDORS[name].key_variable)), EMBEDDED)


def summarizing_model(config: CompactConfig, environ: Mapping[str, str] = os.environ) -> str | None:
    """The model that is called first for summaries; None if the embedded summarizer writes them."""
    vendor = VENDORS.get(vendor_of(config.summarizer, config.preset, environ))
    return (config.summarizer.model or vendor.fast_model) if vendor is not None else None


def address_of(settings: SummarizerSettings, vendor: str, environ: Mapping[str, str]) -> str | None:
    """Where the summarizer sends conversations: the user's own address, else the vendor's (None)."""
    return settings.base_url or environ.get(VENDORS[vendor].address_variable) or None


def summarizer_address(settings: SummarizerSettings, vendor: str, environ: Mapping[str, str]) -> str:
    """The address that a summarizer of this vendor talks to, for people to check."""
    own = address_of(settings, vendor, environ)
    return (own or VENDORS[vendor].client().default_base_url).rstrip("/")


def missing_key(settings: SummarizerSettings, preset: str, environ: Mapping[str, str]) -> str | None:
    """The variable that this summarizer requires; a user's own server may need no key."""
    vendor = vendor_of(settings, preset, environ)
    if vendor not in VENDORS:
        return None
    # Hosts, not texts: case, port, scheme and path do not make the vendor's server the user's own.
    vendors_host = _host_of(VENDORS[vendor].client().default_base_url)
    own_server = _host_of(summarizer_address(settings, vendor, environ)) != vendors_host
    variable = settings.api_key_env or ("" if own_server else VENDORS[vendor].key_variable)
    return variable if variable and not environ.get(variable) else None


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""  # What is no address is refused when its client is made.
