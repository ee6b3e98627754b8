"""The strings of JSON data, each under the label that says what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from compact.core.evidence.lexicon import classify
from compact.model.summary import EvidenceKind

_GENERIC_LABELS = frozenset(
    {"id", "ids", "name", "value", "values", "key", "item", "items", "data", "result"}
)
_TEXT_KEYS = re.compile(
    r"command|cmd|code|script|content|text|input|query|message|thought|str(?:ing)?$|^old|^new|body|diff|"
    r"patch",
    re.I,
)
"""Keys whose values are prose or code: they say nothing of what stands in them."""


class _Key(Enum):
    """What a key is to the data under it."""

    LABEL = auto()
    GENERIC = auto()
    """A label only with that of the data it stands in, such as "id"."""
    VALUE = auto()


class _Keys(dict[str, _Key]):
    """Keys are the tool's vocabulary, no values, unless they hold digits as ids do (`{"card_123": {...}}`) or
    name a file."""

    def __missing__(self, key: str) -> _Key:
        role = _Key.GENERIC if key.lower() in _GENERIC_LABELS else _Key.LABEL
        kind = classify(key) if not key.isalpha() else None
        if kind is EvidenceKind.PATH or (kind is not None and sum(map(str.isdigit, key)) > 2):
            role = _Key.VALUE
        self[key] = role
        return role


class Labels(dict[str, str]):
    """A label as it is told beside a value; empty for one that tells nothing."""

    def __missing__(self, label: str) -> str:
        self[label] = told = "" if _TEXT_KEYS.search(label.partition(" of ")[0]) else label
        return told


_OWNERS = ("name", "title", "product", "label")
_LONGEST_OWNER = 40


def _owner(data: dict[str, Any]) -> str:
    """What an object calls itself, so that its amounts are told as its own: "price of Kettle"."""
    return next(
        (
            name
            for key in _OWNERS
            if isinstance(name := data.get(key), str)
            and 1 < len(name) <= _LONGEST_OWNER
            and name[0].isalpha()
        ),
        "",
    )


def _is_amount(value: Any) -> bool:
    """True for a number with a fraction, as a text or not."""
    if isinstance(value, str):
        return value.count(".") == 1 and value.replace(".", "").isdigit()
    return isinstance(value, float)


class Leaves:
    """Remembers what each key is, since the same keys come again and again."""

    def __init__(self) -> None:
        self._keys = _Keys()

    def of(self, data: Any) -> Iterator[tuple[str, str]]:
        """Labels and strings, in order; numbers as strings."""
        keys = self._keys
        pending: list[tuple[str, Any]] = [("", data)]
        while pending:
            label, value = pending.pop()
            if isinstance(value, str):
                yield label, value
            elif isinstance(value, dict):
                owner = _owner(value)
                for key, inner in reversed(value.items()):
                    role = keys[key]
                    if owner and _is_amount(inner):
                        pending.append((f"{key} of {owner}", inner))
                        continue
                    if role is _Key.LABEL:
                        pending.append((key, inner))
                    elif role is _Key.GENERIC:
                        pending.append((f"{label} {key}".strip(), inner))
                    else:
                        pending += ((label, inner), (label, key))
            elif isinstance(value, list):
                pending += [(label, inner) for inner in reversed(value)]
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield label, str(value)  # arguments that came as data, not as a text
