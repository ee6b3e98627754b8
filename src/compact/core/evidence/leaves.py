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
        self[label] = told = "" if _TEXT_KEYS.search(label) else label
        return told


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
                for key, inner in reversed(value.items()):
                    role = keys[key]
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
