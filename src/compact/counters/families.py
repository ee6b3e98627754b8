"""Which tokenizer a model id implies: the vendor and, for Claude, the version."""

from __future__ import annotations

import re
from enum import StrEnum


class Vendor(StrEnum):
    OPENAI = "openai"
    CLAUDE_TO_4_6 = "claude-to-4.6"
    CLAUDE_FROM_4_7 = "claude-from-4.7"
    GEMINI = "gemini"
    SMOLLM2 = "smollm2"
    OTHER = "other"


_OPENAI_NAME = re.compile(
    r"(?:gpt-?[2-9]|gpt-oss|gpt-audio|gpt-realtime|chatgpt-|o[1-9](?:$|[-.])|codex-|computer-use-"
    r"|davinci|babbage|text-(?:embedding|davinci))"
)
# One or two numbers, not the date at the end of an id: "3-5", "4.7", "4" (of "4-20250514").
_CLAUDE_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def bare_name(model: str) -> str:
    """The model's own name: "openai/gpt-4o", "openai:gpt-4o" and "ft:gpt-4o:org::id" are all "gpt-4o"."""
    name = model.strip().lower().rsplit("/", 1)[-1]
    if name.startswith("ft:"):
        return name.split(":")[1]
    head, _, tail = name.partition(":")
    # "openai:gpt-4o" begins with a provider; "claude-…-v2:0" and "llama3:8b" end with a version or size.
    return tail if head.isalpha() and not tail[:1].isdigit() and tail else head


def provider_of(model: str) -> str:
    """The provider whose message format a model usually takes: "openai", "anthropic", or "" if unknown."""
    vendor = vendor_of(model)
    if vendor in (Vendor.CLAUDE_TO_4_6, Vendor.CLAUDE_FROM_4_7):
        return "anthropic"
    return "openai" if vendor is Vendor.OPENAI else ""


def vendor_of(model: str) -> Vendor:
    """The vendor by name, else by provider prefix; a Claude without a version counts as a new one."""
    lowered = model.strip().lower()
    name = bare_name(model)
    if "claude" in lowered:
        version = _CLAUDE_VERSION.search(lowered, lowered.rindex("claude"))
        numbers = (int(version[1]), int(version[2] or 0)) if version else (99, 0)
        return Vendor.CLAUDE_FROM_4_7 if numbers >= (4, 7) else Vendor.CLAUDE_TO_4_6
    if "gemini" in name or "gemma" in name:
        return Vendor.GEMINI
    if _OPENAI_NAME.match(name) or lowered.startswith(("openai/", "openai:")):
        return Vendor.OPENAI
    return Vendor.SMOLLM2 if name.startswith("smollm2") else Vendor.OTHER
