"""Shared by the rules that check a provider's own objects: reading and reporting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compact.core.lint.types import ViolationCode

Found = tuple[ViolationCode, str]
"""A broken rule of one object: which one, and what to do."""

NAME = re.compile(r"[a-zA-Z0-9_-]+")
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAGIC = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def fields_of(value: Any) -> Mapping[str, Any]:
    """A caller's object as a mapping; empty if it is none."""
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    fields = dump(by_alias=True, exclude_unset=True) if callable(dump) else None
    return fields if isinstance(fields, Mapping) else {}


def parts_of(value: Any) -> list[Mapping[str, Any]]:
    """The entries of an array; none if it is a string or something else."""
    return [fields_of(part) for part in value] if isinstance(value, list | tuple) else []


def kind_of(value: Any) -> str:
    kind = fields_of(value).get("type")
    return kind if isinstance(kind, str) else ""


def sniffed(data: str) -> str | None:
    """The media type that the first bytes of base64 data show."""
    import binascii
    from base64 import b64decode

    try:
        head = b64decode(data[:16] + "=" * (-len(data[:16]) % 4))
    except (binascii.Error, ValueError):
        return None
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def is_base64(data: str) -> bool:
    return len(data) % 4 == 0 and _BASE64.fullmatch(data) is not None


def wrong_name(value: Any, longest: int, what: str) -> Iterator[Found]:
    """Names of tools: letters, digits, underscore, dash."""
    if not isinstance(value, str) or not value:
        return
    if NAME.fullmatch(value) is None:
        text = f"{what} {value[:60]!r} may hold only letters, digits, '_' and '-'; rename it."
        yield ViolationCode.NAME_PATTERN, text
    elif len(value) > longest:
        text = f"{what} has {len(value)} characters, {longest} allowed; shorten it."
        yield ViolationCode.NAME_LENGTH, text


def unknown_fields(
    fields: Mapping[str, Any], known: Sequence[str] | frozenset[str], what: str
) -> Iterator[Found]:
    extra = sorted(str(key) for key in fields if key not in known and key not in ("type", "meta"))
    if extra:
        named = ", ".join(extra[:5])
        yield (
            ViolationCode.UNKNOWN_FIELD,
            f"{what} has fields that the API does not take: {named}; drop them.",
        )


def missing_fields(fields: Mapping[str, Any], needed: Sequence[str], what: str) -> Iterator[Found]:
    gone = [key for key in needed if fields.get(key) is None]
    if gone:
        yield ViolationCode.MISSING_FIELD, f"{what} lacks {', '.join(gone)}; add it."


Check = Callable[[Mapping[str, Any]], Iterator[Found]]
