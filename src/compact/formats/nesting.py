"""Errors for values that JSON cannot hold: too deep, self-referencing, odd keys, huge numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from compact.errors import FormatError, MalformedMessage
from compact.model.message import canonical_json

DEEPEST = 200
"""The depth that is always readable. Real messages and tool outputs have about ten levels."""
UNREADABLE = (RecursionError, TypeError, ValueError)
"""What Python raises if it cannot write a value as JSON."""


@contextmanager
def refusing_deep_nesting(messages: Any, tools: Any = None, system: Any = None) -> Iterator[None]:
    """If reading these fails because of a value that JSON cannot hold, say which one."""
    try:
        yield
    except UNREADABLE:
        refusal = nesting_refusal(messages, tools, system)
        if refusal is None:
            raise
        raise refusal from None


def nesting_refusal(messages: Any, tools: Any = None, system: Any = None) -> FormatError | None:
    """The error for the first value that JSON cannot hold; None if there is none."""
    for index, message in enumerate(messages if isinstance(messages, list | tuple) else ()):
        if problem := _problem(message):
            return MalformedMessage(index, f"it {problem}")
    for name, value in (("tools", tools), ("system", system)):
        if problem := _problem(value):
            return FormatError(f"{name}: something in it {problem}. Nothing was changed.")
    return None


def unreadable(item: Any, index: int, format: str, error: Exception) -> MalformedMessage:
    """The error for a message that a format failed to read."""
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
        # Keys of several types, or a number with more digits than Python writes.
        return f"cannot be written as JSON: {error}"
    return ""


def is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
        # A container seen twice on one level adds nothing; one that contains itself would never end.
        level = list({id(one): one for one in level}.values())
    return True


def _inside(value: Any) -> Iterable[Any]:
    found: Iterable[Any] = ()
    if isinstance(value, Mapping):
        found = value.values()
    elif isinstance(value, list | tuple):
        found = value
    return [one for one in found if isinstance(one, Mapping | list | tuple)]
