"""Reading callers' objects: mappings of any kind, their metadata, canonical text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeGuard

from compact.errors import MalformedMessage
from compact.model.message import File, Image, Opaque, Text, Usage, canonical_json, json_kind

CACHE_MARKS = frozenset({"cache_control", "cacheControl", "prompt_cache_breakpoint"})
"""Marks that the model does not see, anywhere in an object. Nulls are skipped as well."""

_CREATED = ("created_at", "createdAt", "timestamp", "created")
_FINISH = ("finish_reason", "stop_reason", "finishReason")
_DESCRIBED = frozenset({"id", "model", "error", "usage", "meta", *_CREATED, *_FINISH})
# Larger epoch values are milliseconds, as JavaScript writes them (seconds reach this in the year 5138).
_MILLISECONDS = 1e11


def as_mapping(item: Any, index: int) -> Mapping[str, Any]:
    """The caller's object as a mapping: itself, or the dump of an SDK object."""
    # `type() is dict` comes first, here and below: an abstract class check costs as much as the rest.
    if type(item) is dict or isinstance(item, Mapping):
        return item
    if (fields := _dumped(item)) is not None:
        return fields
    raise MalformedMessage(index, f"expected a mapping or an SDK object, got {json_kind(item)}")


def part_mapping(part: Any, index: int, where: str) -> Mapping[str, Any]:
    """One entry of a part array; the error gives its position if it is not a mapping."""
    if type(part) is dict or isinstance(part, Mapping):
        return part
    if (fields := _dumped(part)) is not None:
        return fields
    raise MalformedMessage(index, f"{where} must be an object, got {json_kind(part)}")


def _dumped(item: Any) -> Mapping[str, Any] | None:
    dump = getattr(item, "model_dump", None)
    fields = dump(by_alias=True, exclude_unset=True) if callable(dump) else None
    return fields if isinstance(fields, Mapping) else None


def part_type(part: Mapping[str, Any], index: int, where: str) -> str:
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        raise MalformedMessage(index, f"{where} has no type")
    return kind


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    return type(value) is list or (
        isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
    )


def required_text(fields: Mapping[str, Any], key: str, index: int, where: str) -> str:
    """A field that must be a string, possibly empty."""
    value = fields.get(key)
    if isinstance(value, str):
        return value
    raise MalformedMessage(index, _wrong_field(where, key, value, "a string"))


def required_id(fields: Mapping[str, Any], key: str, index: int, where: str) -> str:
    """A field that must be a nonempty string."""
    value = required_text(fields, key, index, where)
    if not value:
        raise MalformedMessage(index, f"{where} has an empty {key}")
    return value


def call_arguments(fields: Mapping[str, Any], key: str, index: int, where: str) -> Any:
    """The arguments of a call: a JSON string or a JSON object, nothing else."""
    value = fields.get(key)
    if isinstance(value, (str, dict, Mapping)):
        return value
    raise MalformedMessage(index, _wrong_field(where, key, value, "a string or an object"))


def _wrong_field(where: str, key: str, value: Any, expected: str) -> str:
    if value is None:
        return f"{where} has no {key}"
    return f"{where}.{key} must be {expected}, got {json_kind(value)}"


def wrong_content(index: int, value: Any, expected: str) -> MalformedMessage:
    got = "but is missing or null" if value is None else f"got {json_kind(value)}"
    return MalformedMessage(index, f"content must be {expected}, {got}")


def opaque(fields: Mapping[str, Any], kind: str, volatile: frozenset[str] = frozenset()) -> Opaque:
    """A part kept as it is; `volatile` names top-level fields that are not part of its content."""
    kept = {key: value for key, value in fields.items() if key not in volatile}
    return Opaque(kind, canonical_json(_without_marks(kept)))


def plain_text(value: Any) -> str:
    """A tool's output as text: the caller's own string, or canonical JSON."""
    return value if isinstance(value, str) else canonical_json(value)


def text_and_media(
    found: Sequence[Text | Image | File | Opaque],
) -> tuple[str, tuple[Image | File | Opaque, ...]]:
    """The text of a tool result given as an array, and its other parts."""
    texts = [part.text for part in found if isinstance(part, Text)]
    return joined(texts), tuple(part for part in found if not isinstance(part, Text))


def joined(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def is_protected(fields: Mapping[str, Any]) -> bool:
    """Whether the flag is set, in any spelling a database may use; keeping too much is the lesser mistake."""
    meta = fields.get("meta")
    return isinstance(meta, Mapping) and bool(meta.get("protected"))


def strip_meta(obj: Any) -> Any:
    """The object itself if it has no `meta`, else a copy without it."""
    if isinstance(obj, Mapping):
        return {key: value for key, value in obj.items() if key != "meta"} if "meta" in obj else obj
    if callable(getattr(obj, "model_dump", None)) and getattr(obj, "meta", None) is not None:
        return {key: value for key, value in as_mapping(obj, 0).items() if key != "meta"}
    return obj


def described(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message's metadata, apart from its content, as fields of `Message`."""
    if _DESCRIBED.isdisjoint(fields):
        return {}
    found: dict[str, Any] = {}
    if isinstance(identity := fields.get("id"), str):
        found["id"] = identity
    if isinstance(model := fields.get("model"), str):
        found["model"] = model
    for key in _CREATED:
        if key in fields and (created := epoch(fields[key])) is not None:
            found["created"] = created
            break
    for key in _FINISH:
        if isinstance(reason := fields.get(key), str):
            found["finish_reason"] = reason
            break
    if error := fields.get("error"):
        found["error"] = _error_text(error)
    if isinstance(usage := fields.get("usage"), Mapping):
        found["usage"] = read_usage(usage)
    if is_protected(fields):
        found["protected"] = True
    return found


def epoch(value: Any) -> float | None:
    """Seconds since 1970 from a number, an ISO date or a datetime; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value / 1000 if value > _MILLISECONDS else float(value)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        # A date without a time zone is read as UTC, so that a history decodes the same on every machine.
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return None


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """A provider's usage report in any of the known spellings.

    Anthropic reports cached tokens separately from `input_tokens`, the others include them. `input` is the
    total.
    """
    anthropic = _number(usage, "cache_read_input_tokens") + _number(usage, "cache_creation_input_tokens")
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    return Usage(
        input=_number(usage, "prompt_tokens", "input_tokens", "inputTokens", "promptTokens") + anthropic,
        output=_number(usage, "completion_tokens", "output_tokens", "outputTokens", "completionTokens"),
        cache_read=_number(usage, "cache_read_input_tokens", "cachedInputTokens")
        or _number(details, "cached_tokens"),
        cache_write=_number(usage, "cache_creation_input_tokens"),
    )


def _number(fields: Mapping[str, Any], *keys: str) -> int:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0


def _error_text(error: Any) -> str:
    if isinstance(error, Mapping) and isinstance(message := error.get("message"), str):
        return message
    return error if isinstance(error, str) else canonical_json(error)


def _without_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_marks(inner)
            for key, inner in value.items()
            if inner is not None and key not in CACHE_MARKS
        }
    if is_array(value):
        return [_without_marks(inner) for inner in value]
    return value
