"""Make text valid for every reader: models do send lone surrogates, which UTF-8 cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def sound_text(text: str) -> str:
    """The text, with a replacement character for each lone surrogate."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def with_sound_texts(value: Any) -> Any:
    """The same for all texts in dictionaries and lists."""
    if isinstance(value, str):
        return sound_text(value)
    if isinstance(value, Mapping):
        return {with_sound_texts(key): with_sound_texts(item) for key, item in value.items()}
    return [with_sound_texts(item) for item in value] if isinstance(value, list) else value
