"""How many tokens messages, tool schemas and system prompts take in a prompt. The text counter is passed
in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    arguments_text,
    canonical_json,
)

Count = Callable[[str], int]

ROLE_OVERHEAD = 4
STEP_START = 4
NAME_OVERHEAD = 1
PRIMING = 3
"""Tokens that open the reply; once per prompt."""

_IMAGE_BASE = 85
_IMAGE_TILE = 170
_TILE_PIXELS = 512
_LONGEST_SIDE = 2048
_SHORTEST_SIDE = 768
# Six tiles: the size of a tall or wide screenshot.
IMAGE_OF_UNKNOWN_SIZE = _IMAGE_BASE + 6 * _IMAGE_TILE

FILE_BY_REFERENCE = 3_000
_SMALLEST_DOCUMENT = 1_500
# Bytes per token. A PDF page is about 35 kB and up to 1,500 tokens; audio is 32 tokens a second.
_BYTES_PER_TOKEN = {"text": 3, "document": 24, "recording": 500}
_TEXT_LIKE = ("text/", "application/json", "application/xml", "application/yaml", "application/javascript")
_BARE_DATA_LENGTH = 1_024

_FUNCTION = 7
_PROPERTIES = 3
_PROPERTY_KEY = 3
_ENUM = -3
_ENUM_ITEM = 3
_TOOLS_END = 12
_SCHEMA_DEPTH = 16

_ENCODED_RUN = re.compile(r"[A-Za-z0-9+/_-]{1024,}={0,2}")


def measure_message(message: Message, count: Count) -> int:
    """Tokens of one message with its role overhead. Counts stored in its parts are not trusted."""
    total = ROLE_OVERHEAD
    if message.name:
        total += NAME_OVERHEAD + count(message.name)
    for part in message.parts:
        # Plain texts and outputs first: nearly all are, and every new message is measured.
        if type(part) is Text or (type(part) is ToolResult and not part.media):
            total += count(part.text)
        else:
            total += measure_part(part, count)
    return total


def measure_part(part: Part, count: Count) -> int:
    """Tokens of one part. Encoded data (images, files, ciphertext) is never counted as text."""
    match part:
        case ToolCall():
            return count(part.name) + count(arguments_text(part.arguments))
        case Text():
            return count(part.text)
        case ToolResult():
            # A cleared result holds its placeholder as text, so that is what is counted.
            return count(part.text) + sum(measure_part(item, count) for item in part.media)
        case Reasoning():
            # Redacted reasoning, and some that is only signed, comes as ciphertext of the real text.
            if part.text and not part.redacted:
                return count(part.text)
            return _ciphertext_tokens(len(part.text) + len(part.signature or ""))
        case StepStart():
            return STEP_START
        case CompactionMarker():
            return count(part.summary)
        case Image():
            return _image_tokens(part)
        case File():
            return _file_tokens(part)
        case Opaque():
            return _opaque_tokens(part.text, count)


def measure_system(system: str | Sequence[Any] | None, count: Count) -> int:
    """Tokens of a system prompt passed separately from the messages: text, or a list of text blocks."""
    if not system:
        return 0
    if isinstance(system, str):
        return ROLE_OVERHEAD + count(system)
    return ROLE_OVERHEAD + sum(count(_block_text(block)) for block in system)


def measure_tools(tools: Sequence[tuple[str, str, Any]], count: Count) -> int:
    """Tokens of tool definitions, each (name, description, JSON schema), as OpenAI lays them out."""
    if not tools:
        return 0
    total = _TOOLS_END
    for name, description, schema in tools:
        total += _FUNCTION + count(f"{name}:{description}")
        total += _schema_tokens(schema, count, _SCHEMA_DEPTH)
    return total


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None)
    return text if isinstance(text, str) else canonical_json(block)


def _schema_tokens(schema: Any, count: Count, depth: int) -> int:
    """A schema's named properties at every level, their enums, and everything else that constrains them."""
    if not isinstance(schema, Mapping):
        return count(canonical_json(schema)) if schema else 0
    if depth == 0:
        return count(canonical_json(schema))
    total = 0
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, Mapping):
            total += _PROPERTIES if value else 0
            for name, inner in value.items():
                total += _PROPERTY_KEY + count(_property_line(str(name), inner))
                total += _schema_tokens(inner, count, depth - 1)
        elif key == "enum" and isinstance(value, Sequence) and not isinstance(value, str):
            total += _ENUM + sum(_ENUM_ITEM + count(str(item)) for item in value)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, Sequence):
            total += sum(_schema_tokens(inner, count, depth - 1) for inner in value)
        elif key in ("items", "additionalProperties", "not") and isinstance(value, Mapping):
            total += _schema_tokens(value, count, depth - 1)
        elif key not in ("type", "description", "required", "additionalProperties", "strict"):
            total += count(f"{key}:{value if isinstance(value, str) else canonical_json(value)}")
    return total


def _property_line(name: str, schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return name
    kind = schema.get("type", "")
    kind_text = kind if isinstance(kind, str) else "|".join(str(item) for item in kind)
    return f"{name}:{kind_text}:{schema.get('description') or ''}"


def _image_tokens(image: Image) -> int:
    if image.detail == "low":
        return _IMAGE_BASE
    if not image.width or not image.height or image.width < 0 or image.height < 0:
        return IMAGE_OF_UNKNOWN_SIZE
    shrink = min(1.0, _LONGEST_SIDE / max(image.width, image.height))
    shrink *= min(1.0, _SHORTEST_SIDE / (min(image.width, image.height) * shrink))
    # Rounded so that 1024 * (768 / 1024) is 768 and not slightly more.
    across = ceil(round(image.width * shrink, 3) / _TILE_PIXELS)
    down = ceil(round(image.height * shrink, 3) / _TILE_PIXELS)
    return _IMAGE_BASE + _IMAGE_TILE * across * down


def _file_tokens(file: File) -> int:
    source = file.source
    media_type = (file.media_type or "").lower()
    if source.startswith("data:"):
        header, _, data = source.partition(",")
        media_type = media_type or header[len("data:") :].partition(";")[0].lower()
        size = len(data) * 3 // 4 if header.endswith(";base64") else len(data)
    elif len(source) >= _BARE_DATA_LENGTH and "://" not in source[:32]:
        size = len(source) * 3 // 4
    else:
        return FILE_BY_REFERENCE
    if media_type.startswith("image/"):
        return IMAGE_OF_UNKNOWN_SIZE
    if media_type.startswith(("audio/", "video/")):
        return ceil(size / _BYTES_PER_TOKEN["recording"])
    if media_type.startswith(_TEXT_LIKE):
        return ceil(size / _BYTES_PER_TOKEN["text"])
    return max(_SMALLEST_DOCUMENT, ceil(size / _BYTES_PER_TOKEN["document"]))


def _ciphertext_tokens(length: int) -> int:
    """Four base64 characters encode three bytes, and four bytes of prose are about a token."""
    return ceil(length * 3 / 16)


def _opaque_tokens(text: str, count: Count) -> int:
    if len(text) < _BARE_DATA_LENGTH:
        return count(text)
    total = 0
    end = 0
    readable: list[str] = []
    for run in _ENCODED_RUN.finditer(text):
        before = text[end : run.start()]
        readable.append(before)
        is_image = "data:image/" in before[-64:] or '"image/' in before[-256:]
        total += IMAGE_OF_UNKNOWN_SIZE if is_image else _ciphertext_tokens(len(run[0]))
        end = run.end()
    readable.append(text[end:])
    return total + count("".join(readable))
