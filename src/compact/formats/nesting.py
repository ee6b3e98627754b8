"""What a value that JSON cannot hold is answered with: too deep, holding itself, odd keys, huge numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from compact.errors import FormatError, MalformedMessage
from compact.model.message import canonical_json

DEEPEST = 200
"""Levels that are read for sure. What providers take and what tools say has some ten."""
UNREADABLE = (RecursionError, TypeError, ValueError)
"""What Python raises where it cannot write a value as JSON."""


@contextmanager
def refusing_deep_nesting(messages: Any, tools: Any = None, system: Any = None) -> Iterator[None]:
    """Where reading these fails for what they hold, say which of them it is."""
    try:
        yield
    except UNREADABLE:
        refusal = nesting_refusal(messages, tools, system)
        if refusal is None:
            raise
        raise refusal from None


def nesting_refusal(messages: Any, tools: Any = None, system: Any = None) -> FormatError | None:
    """The refusal of the first that JSON cannot hold; None where there is none."""
    for index, message in enumerate(messages if isinstance(messages, list | tuple) else ()):
        if problem := _problem(message):
            return MalformedMessage(index, f"it {problem}")
    for name, value in (("tools", tools), ("system", system)):
        if problem := _problem(value):
            return FormatError(f"{name}: something in it {problem}. Nothing was changed.")
    return None


def unreadable(item: Any, index: int, format: str, error: Exception) -> MalformedMessage:
    """The refusal of a message that a format failed to read with this error."""
    if isinstance(item, Mapping) and (problem := _problem(item)):
        return MalformedMessage(index, f"it {problem}")
    said = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)
    return MalformedMessage(index, f"it cannot be read as {format}: {said or type(error).__name__}")


def _problem(value: Any) -> str:
    if is_too_deep(value):
        return f"is nested more than {DEEPEST} levels deep, or it holds itself"
    try:
        canonical_json(value)
    except UNREADABLE as error:
        # Keys of several kinds, or a number of more digits than Python writes.
        return f"cannot be written as JSON: {error}"
    return ""


def is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
        # A container met again on its level says nothing new; one that holds itself goes on and on.
        level = list({id(one): one for one in level}.values())
    return True


def _inside(value: Any) -> Iterable[Any]:
    found: Iterable[Any] = ()
    if isinstance(value, Mapping):
        found = value.values()
    elif isinstance(value, list | tuple):
        found = value
    return [one for one in found if isinstance(one, Mapping | list | tuple)]
