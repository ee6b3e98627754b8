"""Redaction of a whole event: harmless values in two fields may form a secret together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from compact.model.prose import REDACTED
from compact.ports import Redacts

_END = 2_048
"""This many characters at the end of one text are scanned together with as many of the next."""


def redacted_data(data: Mapping[str, Any], redactor: Redacts) -> Mapping[str, Any]:
    """A copy without secrets, including those that begin in one field and end in another."""
    texts = list(_texts(data))
    split = _across(texts, redactor) if len(texts) > 1 else set()
    clean: Mapping[str, Any] = redactor.value(_hide(data, iter(range(len(texts))), split) if split else data)
    return clean


def _across(texts: Sequence[str], redactor: Redacts) -> set[int]:
    """The indexes of the texts that form a secret together with the previous or the next text."""
    found: set[int] = set()
    for number, (left, right) in enumerate(pairwise(texts)):
        end = left[-_END:].encode("utf-8", "surrogatepass")
        start = right[:_END].encode("utf-8", "surrogatepass")
        if any(begin < len(end) < stop for begin, stop in redactor.spans(end + start)):
            found |= {number, number + 1}
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _hide(value: Any, numbers: Iterator[int], split: set[int]) -> Any:
    if isinstance(value, str):
        return REDACTED if next(numbers) in split else value
    if isinstance(value, Mapping):
        return {key: _hide(item, numbers, split) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hide(item, numbers, split) for item in value]
    return value
