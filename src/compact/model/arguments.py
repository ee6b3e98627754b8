"""The arguments of a tool call, read as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_DEEPEST = 40
_NUMBERS_AS_TEXT = json.JSONDecoder(parse_float=str, parse_int=str)


def read_arguments(text: str) -> Mapping[str, Any]:
    """The fields of a JSON object, numbers as text; anything else is the only field, without a name."""
    try:
        given = _NUMBERS_AS_TEXT.decode(text)
    except (ValueError, RecursionError):
        return {"": text} if text.strip() else {}
    return given if isinstance(given, dict) else {"": given}


def texts_in(value: Any, depth: int = _DEEPEST) -> Iterator[str]:
    """The texts and numbers of JSON data, without the names of its fields."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from texts_in(inner, depth - 1)
