"""Messages as the engine sees them: a role and typed parts, wrapped around the caller's own object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from compact.model.value import entity, value

if TYPE_CHECKING:
    from json import JSONEncoder


class Role(StrEnum):
    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageKind(StrEnum):
    """Why a message is in the prompt. Only `ORIGINAL` ones came from the caller."""

    ORIGINAL = "original"
    SUMMARY_TRIGGER = "summary-trigger"
    SUMMARY = "summary"
    MARKER = "marker"
    BRIDGE = "bridge"
    CONTEXT = "context"


_ORIGINAL = MessageKind.ORIGINAL


@value
class Text:
    text: str
    tokens: int | None = None


@value
class ToolCall:
    call_id: str
    name: str
    arguments: Any
    """The caller's own value: a JSON string (OpenAI) or a JSON object (Anthropic, AI SDK)."""
    tokens: int | None = None


@value
class ToolResult:
    call_id: str
    text: str
    name: str | None = None
    is_error: bool = False
    media: tuple[Image | File | Opaque, ...] = ()
    cleared_at: float | None = None
    original_tokens: int | None = None
    tokens: int | None = None


@value
class Reasoning:
    text: str
    signature: str | None = None
    """The provider's signature. Signed reasoning must stay right before its tool call."""
    redacted: bool = False
    tokens: int | None = None


@value
class StepStart:
    tokens: int | None = None


@value
class CompactionMarker:
    summary: str
    compacted_at: float
    messages_replaced: int
    tokens_replaced: int
    tokens: int | None = None


@value
class Image:
    """`source` is the caller's own url, data url or reference; sizes are None if unknown."""

    source: str
    media_type: str | None = None
    width: int | None = None
    height: int | None = None
    detail: str | None = None
    tokens: int | None = None


@value
class File:
    source: str
    name: str | None = None
    media_type: str | None = None
    tokens: int | None = None


@value
class Opaque:
    """An unknown part type; `text` is its canonical JSON without volatile fields."""

    type: str
    text: str
    tokens: int | None = None


Part = Text | ToolCall | ToolResult | Reasoning | StepStart | CompactionMarker | Image | File | Opaque


@value
class Usage:
    """What a provider reported for one call; `input` is the whole prompt, cached tokens included."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@value
class Origin:
    """The caller's object this message was decoded from.

    One object may hold several messages (an AI SDK message with ten tool steps); then each is fragment `part`
    of `parts`. If all fragments of an object are unchanged, the object itself is sent.
    """

    index: int
    source: Any
    part: int = 0
    parts: int = 1


@entity
class Message:
    role: Role
    parts: tuple[Part, ...]
    digest: bytes
    """Identity of the content: role, name and parts, without meta, cache marks, timestamps and nulls."""
    origin: Origin | None = None
    """None for messages that Compact made."""
    kind: MessageKind = MessageKind.ORIGINAL
    protected: bool = False
    changed: bool = False
    """True if `parts` differ from what `origin.source` holds, so it must be rebuilt on encode."""
    name: str | None = None
    id: str | None = None
    session: str | None = None
    created: float | None = None
    tokens: int | None = None
    parent: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    usage: Usage | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if type(part) is ToolCall])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple([part for part in self.parts if type(part) is ToolResult])

    @property
    def text(self) -> str:
        """The prose of the message: text parts and marker summaries, joined by newlines."""
        if len(self.parts) == 1 and type(self.parts[0]) is Text:
            return self.parts[0].text
        found = [part.text for part in self.parts if isinstance(part, Text)]
        found += [part.summary for part in self.parts if isinstance(part, CompactionMarker)]
        return found[0] if len(found) == 1 else "\n".join(found)

    @property
    def is_ours(self) -> bool:
        return self.kind is not _ORIGINAL


_HASH = blake2b(digest_size=16)


def hashed(data: bytes) -> bytes:
    # A copy of a new hash costs half of making one, and every new message is hashed three times.
    made = _HASH.copy()
    made.update(data)
    return made.digest()


def digest_of(role: Role, parts: tuple[Part, ...], name: str | None = None) -> bytes:
    """Hash what a message says. Two messages with equal digests are the same to the engine."""
    fields: list[str] = [role, name or ""]
    for part in parts:
        _describe(part, fields)
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    fields.append(",".join(map(str, map(len, fields))))
    return hashed("\0".join(fields).encode("utf-8", "surrogatepass"))


# The same for the three most common messages, with one part and no name: every new message is hashed.


def text_digest(role: str, text: str) -> bytes:
    said = f"{role}\0\0text\0{text}\0{len(role)},0,4,{len(text)}"
    return hashed(said.encode("utf-8", "surrogatepass"))


def result_digest(call_id: str, text: str) -> bytes:
    said = f"tool\0\0result\0{call_id}\0\0{text}\0004,0,6,{len(call_id)},0,{len(text)}"
    return hashed(said.encode("utf-8", "surrogatepass"))


def call_digest(call_id: str, name: str, arguments: str) -> bytes:
    sizes = f"9,0,4,{len(call_id)},{len(name)},{len(arguments)}"
    said = f"assistant\0\0call\0{call_id}\0{name}\0{arguments}\0{sizes}"
    return hashed(said.encode("utf-8", "surrogatepass"))


def _describe(part: Part, fields: list[str]) -> None:
    # Plain type tests: this runs for every new message, and structural matching costs five times as much.
    if isinstance(part, Text):
        fields += ("text", part.text)
    elif isinstance(part, ToolResult):
        fields += ("result", part.call_id, "error" if part.is_error else "", part.text)
        for item in part.media:
            _describe(item, fields)
    elif isinstance(part, ToolCall):
        fields += ("call", part.call_id, part.name, arguments_text(part.arguments))
    elif isinstance(part, Reasoning):
        fields += ("reasoning", part.text, part.signature or "", "redacted" if part.redacted else "")
    elif isinstance(part, StepStart):
        fields.append("step-start")
    elif isinstance(part, CompactionMarker):
        fields += ("marker", part.summary)
    elif isinstance(part, Image):
        # Anything that affects a size is content: sizes are cached by digest.
        size = f"{part.width}x{part.height}"
        fields += ("image", part.source, part.media_type or "", size, part.detail or "")
    elif isinstance(part, File):
        fields += ("file", part.source, part.name or "", part.media_type or "")
    elif isinstance(part, Opaque):
        fields += ("opaque", part.type, part.text)


def arguments_text(arguments: Any) -> str:
    """A call's arguments, as the text that is sent and counted."""
    return arguments if isinstance(arguments, str) else canonical_json(arguments)


def canonical_json(value: Any) -> str:
    return _encoder().encode(value)


@cache
def _encoder() -> JSONEncoder:
    # `json.dumps` would create one per call, at twice the cost of encoding a call's arguments.
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def json_kind(value: Any) -> str:
    """The JSON name for a value of this type; for anything else, its class."""
    for kinds, name in (((bool,), "boolean"), ((int, float), "number"), ((str,), "string")):
        if isinstance(value, kinds):
            return name
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else "null" if value is None else type(value).__name__


def make(kind: MessageKind, role: Role, text: str) -> Message:
    """One of our own messages, such as a summary or a bridge line."""
    parts: tuple[Part, ...] = (Text(text),)
    return Message(role=role, parts=parts, digest=digest_of(role, parts), kind=kind)


def with_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    """The same message with other parts; its source object must be rebuilt on encode."""
    digest = digest_of(message.role, parts, message.name)
    return replace(message, parts=parts, digest=digest, changed=True)
