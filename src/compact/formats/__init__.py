"""Wire formats: decode callers' messages without losing anything, and encode them as the same objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast, overload

from compact.errors import FormatError, shown
from compact.formats.fields import strip_meta
from compact.formats.recognition import ANTHROPIC, ANY, fits, narrow, preferred
from compact.model.message import Message
from compact.ports import Format

__all__ = ["FORMATS", "FORMAT_NAMES", "by_name", "decode_all", "recognize", "register", "strip_meta"]

_HOMES = {
    "openai-chat": ("openai_chat", "OpenAIChat"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "anthropic": ("anthropic", "Anthropic"),
    "ai-sdk-ui": ("ai_sdk", "AISDKUI"),
    "ai-sdk-model": ("ai_sdk", "AISDKModel"),
    "gemini": ("gemini", "Gemini"),
    "langchain": ("langchain", "LangChain"),
    "pydantic-ai": ("pydantic_ai", "PydanticAI"),
    "bedrock": ("bedrock", "Bedrock"),
    "llama-index": ("llama_index", "LlamaIndex"),
}

FORMAT_NAMES: tuple[str, ...] = tuple(_HOMES)
ENTRY_POINTS = "compact.formats"
"""The entry point group in which installed packages register formats: name = "module:FormatClass"."""
_registered: dict[str, Format] = {}


@cache
def _load(name: str) -> Format:
    module, cls = _HOMES[name]
    return cast(Format, getattr(import_module(f"compact.formats.{module}"), cls)())


class _Registry(Sequence[Format]):
    """The formats in order, each loaded when it is first used."""

    @overload
    def __getitem__(self, index: int) -> Format: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Format, ...]: ...
    def __getitem__(self, index: int | slice) -> Format | tuple[Format, ...]:
        if isinstance(index, slice):
            return tuple(_load(name) for name in FORMAT_NAMES[index])
        return _load(FORMAT_NAMES[index])

    def __len__(self) -> int:
        return len(FORMAT_NAMES)


FORMATS: Sequence[Format] = _Registry()


def by_name(name: str) -> Format:
    """The format with this name, built in or registered; FormatError lists the known ones."""
    if not isinstance(name, str):
        raise FormatError(f"format must be the name of a format, not {shown(name)}.")
    if name in _HOMES:
        return _load(name)
    if name not in _registered:
        offered = entry_points(group=ENTRY_POINTS)
        if name not in offered.names:
            known = sorted({*_registered, *offered.names})
            raise FormatError(
                f"Unknown format {name!r}. Known formats: {', '.join([*FORMAT_NAMES, *known])}."
            )
        made = offered[name].load()
        register(made() if isinstance(made, type) else made)
    return _registered[name]


def register(format: Format) -> Format:
    """Register a format under its name in this process, for stores that read messages back.

    A format of the same class replaces the earlier one. A name that another class uses is refused, because
    the messages stored under it could not be read back.
    """
    name = getattr(format, "name", None)
    if not isinstance(name, str) or not name or not isinstance(format, Format):
        raise FormatError(
            f"{type(format).__name__} is not a format: it needs name, provider, recognizes, decode, encode."
        )
    known = _load(name) if name in _HOMES else _registered.get(name)
    if known is not None and _class_name(known) != _class_name(format):
        raise FormatError(
            f"The format name {name!r} is taken by {_class_name(known)}. Give yours another name."
        )
    _registered[name] = format
    return format


def _class_name(format: Format) -> str:
    return f"{type(format).__module__}.{type(format).__qualname__}"


def recognize(messages: Sequence[Any], provider: str = "") -> Format:
    """The format of the messages; FormatError says what was seen if they are mixed or unknown.

    Plain messages fit several formats; then the `provider` they are sent to decides.
    """
    return recognized(messages, provider)[0]


def recognized(messages: Sequence[Any], provider: str = "") -> tuple[Format, frozenset[str]]:
    """The format, and the names of all formats that these messages would fit.

    The tables of `recognition` distinguish the formats that share shapes. Messages that fit none of them may
    be in a format without a table, so each of those is asked.
    """
    try:
        possible = narrow(ANY, messages, 0)
    except FormatError:
        asked = [format for format in without_table() if recognizes(format, messages[:1])]
        for format in asked:
            if recognizes(format, messages):
                return format, frozenset({format.name})
        if asked and not any(fits(messages[:1], name) for name in ANY):
            raise _misfit(messages, asked[0]) from None
        raise
    return _load(preferred(possible, ANTHROPIC if _may_go_to_anthropic(messages, provider) else "")), possible


def _may_go_to_anthropic(messages: Sequence[Any], provider: str) -> bool:
    """Whether they are sent to Anthropic; a list that begins with a system prompt is not in its format."""
    first = messages[0] if messages else None
    leading = first.get("role") if isinstance(first, Mapping) else None
    return provider == "anthropic" and leading not in ("system", "developer")


def _misfit(messages: Sequence[Any], format: Format) -> FormatError:
    index = next((at for at, item in enumerate(messages) if not recognizes(format, [item])), 0)
    return FormatError(
        f"The messages begin as {format.name}, but messages[{index}] does not fit that format. Nothing was "
        "changed; convert them to one format first."
    )


def still_in(format: Format, possible: frozenset[str], new: Sequence[Any], first: int) -> frozenset[str]:
    """The formats still possible for a conversation in this format after new messages; empty if it changed.

    `first` is the index of the first new message.
    """
    if format.name not in ANY:
        return possible if recognizes(format, new) else frozenset()
    try:
        left = narrow(possible, new, first)
    except FormatError:
        return frozenset()
    return left if format.name in left else frozenset()


def without_table() -> Iterator[Format]:
    """Formats that recognize their own messages: built in, registered, or from installed packages."""
    yield from (_load(name) for name in FORMAT_NAMES if name not in ANY)
    for name in entry_points(group=ENTRY_POINTS).names:
        # A format that fails to load reports it when someone asks for it by name.
        with suppress(Exception):
            by_name(name)
    yield from [format for name, format in _registered.items() if name not in _HOMES]


def recognizes(format: Format, messages: Sequence[Any]) -> bool:
    """What the format answers; False if it fails on messages of another format."""
    try:
        return bool(format.recognizes(messages))
    except Exception:
        return False


def decode_all(messages: Sequence[Any], format: Format) -> list[Message]:
    """All messages, decoded in order; raises MalformedMessage with the index of a broken one."""
    decoded: list[Message] = []
    for index, item in enumerate(messages):
        decoded.extend(format.decode(item, index))
    return decoded
