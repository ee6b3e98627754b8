"""What a value nested beyond measure, or one that holds itself, is answered with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from compact.errors import FormatError, MalformedMessage

DEEPEST = 200
"""Levels that are read for sure. What providers take and what tools say has some ten."""


@contextmanager
def nesting_told(messages: Any, tools: Any = None, system: Any = None) -> Iterator[None]:
    """Where reading these fails for their depth, say which of them it is."""
    try:
        yield
    except (RecursionError, ValueError) as problem:
        refusal = nesting_refusal(messages, tools, system)
        if refusal is None or isinstance(problem, FormatError):
            raise
        raise refusal from None


def nesting_refusal(messages: Any, tools: Any = None, system: Any = None) -> FormatError | None:
    """The refusal of the first that is nested too deeply; None where none is."""
    told = f"nested more than {DEEPEST} levels deep, or it holds itself"
    for index, message in enumerate(messages if isinstance(messages, list | tuple) else ()):
        if is_too_deep(message):
            return MalformedMessage(index, f"it is {told}")
    for name, value in (("tools", tools), ("system", system)):
        if is_too_deep(value):
            return FormatError(f"{name}: something in it is {told}. Nothing was changed.")
    return None


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
