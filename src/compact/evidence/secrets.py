"""Keep secrets out of the ledger. They are searched once per text, and by the name of their field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMES_A_SECRET = re.compile(
    r"(?:^|[\s._:/-])(?:api[_-]?keys?|pass(?:words?|wd|phrase|code)|pwd|secrets?|(?:access|refresh|auth|bearer|"
    r"id|session|security|oauth|csrf|api|bot|app|personal_access)[_-]token|(?:secret|access|private|signing|"
    r"encryption|master|account|auth)[_-]key|(?:proxy[_-])?authorization|(?:set[_-])?cookies?|credentials?|"
    r"connection[_-]string|secret[_-](?:value|access[_-]key))(?:_?\d+)?$",
    re.IGNORECASE,
)
_SHORTEST = 6  # shorter values occur in too many places to be identified as the secret
_LONG_WORD, _DEEPEST = 12, 40
_SINGLE = frozenset({str, int, float, bool, type(None)})
_MANY, _AT_ONCE = 64, 4_096
_JSON_WEB_KEY = frozenset("d p q dp dq qi k".split())  # its private fields
Find = Callable[[str], Sequence[tuple[int, int]]]  # where the secrets of a text are, by character


class Hiding:
    """Leaves secrets out of texts and of the data of calls and results.

    `secrets_in` finds them in a text; without it nothing is hidden. Values that a field's name revealed are
    remembered in `values`, since they may be said again without that name.
    """

    def __init__(self, secrets_in: Find | None) -> None:
        self._find = secrets_in
        self.values: set[str] = set()
        self._cleaned: dict[int, tuple[object, Any]] = {}
        self._texts: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text with a mark for each secret; the same object if it has none."""
        if not text or self._find is None:
            return text
        clean = self._texts.get(text)
        if clean is None:
            clean = text
            for start, end in reversed(self._find(text)):
                clean = f"{clean[:start]}…{clean[end:]}"
            self._texts[text] = clean
        return clean

    def data(self, value: Any) -> Any:
        """A copy of JSON-like data without the fields that hold secrets."""
        return value if self._find is None else self._data(value, "", _DEEPEST)

    def once(self, owner: object, data: Callable[[], Any]) -> Any:
        """`data` without its secrets, searched once per owner."""
        known = self._cleaned.get(id(owner))
        if known is None:
            known = self._cleaned[id(owner)] = (owner, self.data(data()))
        return known[1]

    def holds(self, text: str) -> bool:
        """True if the text contains, or is a piece of, a value that a field's name revealed."""
        return any(value in text or (len(text) >= _SHORTEST and text in value) for value in self.values)

    def _data(self, value: Any, key: str, depth: int) -> Any:
        if not depth:
            return None
        if isinstance(value, str):
            return self._string(value, key)
        if isinstance(value, dict | Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            if len(value) > _MANY and self._is_innocent(value, key):
                return list(value)
            line = " ".join(inner for inner in value[:_MANY] if isinstance(inner, str))
            if (
                len(value) <= _MANY and (shown := self.text(line)) is not line
            ):  # `["login", "--password", "…"]`
                value = [shown, *(inner for inner in value if not isinstance(inner, str))]
            return [self._data(inner, key, depth - 1) for inner in value]
        return value

    def _string(self, value: str, key: str) -> str:
        if self._find is None or not key or not value or "\n" in value:
            return self.text(value)
        labeled = f"{key}: {value}"
        if not self._find(f"{value}\n{labeled}"):  # With its name and without: one search for both.
            return value
        if self._find(labeled):
            self._remember(value)
            return ""
        return self.text(value)

    def _is_innocent(self, values: Sequence[Any], key: str) -> bool:
        """Whether a long array of scalars holds no secret: checked all at once, not one by one."""
        if self._find is None or not _SINGLE.issuperset(map(type, values)):
            return False
        label = f"{key}: " if key else ""
        for start in range(0, len(values), _AT_ONCE):
            lines = [f"{label}{value}" for value in values[start : start + _AT_ONCE]]
            if self._find("\n".join(lines)):
                return False
        return True

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        # {"name": "Authorization", "value": "…"}, as in lists of headers.
        label = value.get("name", value.get("key"))
        named = isinstance(label, str) and _names_a_secret(label)
        clean: dict[Any, Any] = {}
        for inner_key, inner in value.items():
            name = str(inner_key)
            secret = (
                _names_a_secret(name)
                or (named and name == "value")
                or ("kty" in value and name in _JSON_WEB_KEY)
            )
            if secret and inner not in (None, True, False):
                self._remember(inner)
            else:
                clean[inner_key] = self._data(inner, name, depth - 1)
        return clean

    def _remember(self, value: Any) -> None:
        for text in _texts(value, _DEEPEST):
            # A plain word under such a name ("default", "enabled") occurs elsewhere innocently.
            if len(text) >= (_LONG_WORD if text.isalpha() else _SHORTEST):
                self.values.add(text)


def _names_a_secret(key: str) -> bool:
    return len(key) <= 128 and _is_secrets_name(key)


@lru_cache(maxsize=1_000)
def _is_secrets_name(key: str) -> bool:
    """Cached: the calls of a session have the same few fields."""
    return _NAMES_A_SECRET.search(_CAMEL.sub("_", key)) is not None


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, depth - 1)
