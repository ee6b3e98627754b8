"""Wire formats: decode callers' messages without losing anything, encode them as the same objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

from compact.errors import FormatError
from compact.formats.fields import strip_meta
from compact.formats.recognition import recognize_name
from compact.model.message import Message
from compact.ports import Format

__all__ = ["FORMATS", "by_name", "decode_all", "recognize", "strip_meta"]

_HOMES = {
    "openai-chat": ("openai_chat", "OpenAIChat"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "anthropic": ("anthropic", "Anthropic"),
    "ai-sdk-ui": ("ai_sdk", "AISDKUI"),
    "ai-sdk-model": ("ai_sdk", "AISDKModel"),
}

FORMATS: tuple[str, ...] = tuple(_HOMES)
"""The names of the known formats; `by_name` loads one when it is first asked for."""


@cache
def _load(name: str) -> Format:
    module, cls = _HOMES[name]
    return cast(Format, getattr(import_module(f"compact.formats.{module}"), cls)())


def by_name(name: str) -> Format:
    """The format of that name; FormatError names the known ones."""
    if name not in _HOMES:
        raise FormatError(f"Unknown format {name!r}. Known formats: {', '.join(FORMATS)}.")
    return _load(name)


def recognize(messages: Sequence[Any]) -> Format:
    """The format the messages are in; FormatError says what was seen when they are mixed or unknown."""
    return _load(recognize_name(messages))


def decode_all(messages: Sequence[Any], format: Format) -> list[Message]:
    """Every message, decoded in order; raises MalformedMessage with the index of a broken one."""
    decoded: list[Message] = []
    for index, item in enumerate(messages):
        decoded.extend(format.decode(item, index))
    return decoded
