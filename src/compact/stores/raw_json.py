"""A caller's object as JSON text that any database accepts, and back to an equal object.

Three things have no JSON of their own and are marked: bytes, text with two halves of a surrogate pair side by
side (a reader of JSON joins them), and a mapping that looks like one of these marks.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from compact.errors import StoreError

_BYTES, _TEXT, _ITEMS = "$bytes", "$text", "$items"
_MARKS = frozenset({_BYTES, _TEXT, _ITEMS})
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def raw_json(source: Any) -> str:
    try:
        text = dumped(source, _plain)
        # Something like one of our marks, or half of a pair, which is escaped: a closer look.
        return dumped(_marked(source)) if '{"$' in text or "\\ud" in text else text
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"A message cannot be stored as JSON: {error}. Nothing was stored. Give it text keys, shorter "
            "numbers and no object that holds itself."
        ) from error


def raw_object(text: str) -> Any:
    return json.loads(text, object_hook=_unmarked)


def as_plain(source: Any) -> Any:
    """The object as plain JSON values, SDK objects included; a copy."""
    return json.loads(json.dumps(source, ensure_ascii=False, default=_plain))


def dumped(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Letters unescaped: escaped, those of most scripts would take twice the space."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=default)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, which UTF-8 cannot hold.
        return json.dumps(value, separators=(",", ":"), default=default)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return {_BYTES: base64.b64encode(bytes(value)).decode()}
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        # As the formats read SDK objects: what was never set does not exist, except the type.
        kind = getattr(value, "type", None)
        named = {"type": kind} if isinstance(kind, str) else {}
        return {**named, **dump(by_alias=True, exclude_unset=True)}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    if isinstance(value, set | frozenset | Sequence):
        return list(value)
    return str(value)


def _marked(value: Any) -> Any:
    """The value with everything marked that needs it; seldom needed, so it may take its time."""
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return {_TEXT: base64.b64encode(data).decode()} if _HALVES.search(value) else value
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple):
        return [_marked(item) for item in value]
    if isinstance(value, dict):
        if _is_ambiguous(value):
            return {_ITEMS: [[_marked(key), _marked(item)] for key, item in value.items()]}
        return {key: _marked(item) for key, item in value.items()}
    plain = _plain(value)
    return plain if isinstance(value, bytes | bytearray) else _marked(plain)


def _is_ambiguous(value: Mapping[Any, Any]) -> bool:
    """Whether its keys would not come back, or it would come back as something else."""
    return (len(value) == 1 and _MARKS.issuperset(value)) or any(
        isinstance(key, str) and _HALVES.search(key) for key in value
    )


def _unmarked(value: dict[str, Any]) -> Any:
    """What a mark stands for. One that we would not have written is the caller's own, stored before we
    marked such mappings."""
    if len(value) != 1:
        return value
    match value:
        case {"$bytes": str(data)}:
            found = _decoded(data)
            return value if found is None else found
        case {"$text": str(data)}:
            text = _text_in(data)
            return text if _HALVES.search(text) else value
        case {"$items": list(items)} if all(map(_is_item, items)):
            pairs = dict(items)
            return pairs if _is_ambiguous(pairs) else value
        case _:
            return value


def _text_in(data: str) -> str:
    try:
        return (_decoded(data) or b"").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return ""


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return None


def _is_item(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and not isinstance(item[0], list | dict)
