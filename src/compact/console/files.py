"""Reads conversations from a file or standard input, and writes them back in the same shape.

Known shapes: an array of messages; one message per line (JSONL); a request body, which is an object with
`messages` (or `input`, `contents`) and optionally `system` (or `instructions`), `tools` and `model`; several
such objects, as lines or as an array; a session file of Claude Code or Codex. All may be gzipped.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, Any, TextIO

from compact.console.context import to_json
from compact.errors import FormatError
from compact.formats.recognition import list_to_pass
from compact.formats.session_files import read_session_file
from compact.model.message import json_kind

MAX_BYTES = 512 * 1024 * 1024
"""Larger files are rejected, also after decompression: a small gzip file can fill a disk."""

_EXPECTED = 'Expected an array of messages, an object with "messages", or one JSON object per line.'
_MESSAGES = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")


class Shape(StrEnum):
    ARRAY = "array"
    LINES = "lines"
    OBJECT = "object"
    OBJECTS = "objects"
    OBJECT_LINES = "object-lines"


@dataclass(frozen=True)
class Conversation:
    messages: list[Any]
    system: Any = None
    tools: list[Any] | None = None
    body: dict[str, Any] | None = None
    """The request body that contained it, if any."""
    label: str = ""
    """Its id, or its number in the file; empty if it is the only one."""
    model: str | None = None
    """The model that the body or the session file names."""

    def with_messages(self, messages: Sequence[Any]) -> Any:
        """What replaces it in the file: the messages, or the body with new messages."""
        if self.body is None:
            return list(messages)
        key = next(key for key in _MESSAGES if key in self.body)
        return {**self.body, key: list(messages)}


@dataclass(frozen=True)
class Transcript:
    name: str
    shape: Shape
    conversations: tuple[Conversation, ...]
    indent: int | None = None

    @property
    def model(self) -> str | None:
        """The model that all conversations name; None if they differ or one names none."""
        named = {conversation.model for conversation in self.conversations}
        return named.pop() if len(named) == 1 else None

    def picked(self, wanted: str) -> Transcript:
        """Only the conversation with that id, or that number, counted from 1."""
        for number, conversation in enumerate(self.conversations, start=1):
            if wanted in (conversation.label, str(number)):
                return replace(self, conversations=(conversation,))
        labels = ", ".join(conversation.label for conversation in self.conversations[:5])
        more = ", ..." if len(self.conversations) > 5 else ""
        raise FormatError(f"{self.name} has no conversation {wanted!r}; it has: {labels or '1'}{more}.")

    def render(self, results: Sequence[Sequence[Any]]) -> str:
        """The file with each conversation's messages replaced, in the same shape."""
        values = [
            conversation.with_messages(messages)
            for conversation, messages in zip(self.conversations, results, strict=True)
        ]
        match self.shape:
            case Shape.ARRAY | Shape.OBJECT:
                return to_json(values[0], self.indent) + "\n"
            case Shape.OBJECTS:
                return to_json(values, self.indent) + "\n"
            case Shape.LINES:
                return "".join(to_json(message) + "\n" for message in values[0])
            case Shape.OBJECT_LINES:
                return "".join(to_json(value) + "\n" for value in values)


def read(path: str, stdin: TextIO | None = None) -> Transcript:
    """Read a transcript; `-` is standard input, if there is one to read. Raises FormatError with the place
    and the problem."""
    piped = stdin if path == "-" else None
    name = "standard input" if piped is not None else path
    try:
        if piped is not None:
            data = _read_all(getattr(piped, "buffer", piped), name)
        else:
            with Path(path).open("rb") as stream:
                data = _read_all(stream, name)
    except OSError as error:
        other = ", or pipe one in." if stdin is not None else "."
        raise FormatError(
            f"{name} could not be read: {error.strerror or error}. Name a file that holds "
            f"a conversation{other}"
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name} is not UTF-8 text (byte {error.start}); convert it first.") from None
    try:
        return parse(text, name)
    except RecursionError:
        raise FormatError(f"{name} is nested deeper than any conversation; it was not read.") from None


def _read_all(stream: IO[Any], name: str) -> bytes:
    raw = stream.read(MAX_BYTES + 1)
    data: bytes = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    if data[:2] == b"\x1f\x8b":
        data = _unpack(data, name)
    if len(data) > MAX_BYTES:
        raise FormatError(f"{name} is larger than {MAX_BYTES >> 20} MiB; split it first.")
    return data


def _unpack(data: bytes, name: str) -> bytes:
    chunks, size = [], 0
    while data[:2] == b"\x1f\x8b" and size <= MAX_BYTES:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            chunks.append(unpacker.decompress(data, MAX_BYTES + 1 - size))
        except zlib.error as error:
            raise FormatError(f"{name} is a damaged gzip file ({error}); compress it again.") from None
        size += len(chunks[-1])
        if not unpacker.eof and size <= MAX_BYTES:
            raise FormatError(f"{name} is a gzip file that ends too soon; compress it again.")
        data = unpacker.unused_data
    return b"".join(chunks)


def parse(text: str, name: str) -> Transcript:
    stripped = text.strip()
    if not stripped:
        raise FormatError(f"{name} is empty; there is no conversation in it. {_EXPECTED}")
    try:
        value = json.loads(stripped, object_pairs_hook=partial(_object, name))
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise FormatError(
                f"{name} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}."
            ) from None
        return _from_lines(_parse_lines(text, name), name)
    indent = 2 if "\n" in stripped[:200] else None
    if isinstance(value, dict) and not _is_body(value) and ("role" in value or "type" in value):
        return _from_lines([value], name)
    if isinstance(value, dict):
        return Transcript(name, Shape.OBJECT, (_from_body(value, "", name),), indent)
    if not isinstance(value, list):
        raise FormatError(f"{name} holds a JSON {json_kind(value)}, not a conversation. {_EXPECTED}")
    if value and all(_is_body(item) for item in value):
        return Transcript(name, Shape.OBJECTS, _bodies(value, name), indent)
    return Transcript(name, Shape.ARRAY, (_from_array(value),), indent)


def _object(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise FormatError(f"{name}: the key {twice!r} appears twice in one object. Leave one of them out.")
    return found


def _parse_lines(text: str, name: str) -> list[Any]:
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                values.append(json.loads(line, object_pairs_hook=partial(_object, f"{name}, line {number}")))
            except json.JSONDecodeError as error:
                raise FormatError(
                    f"{name} is not valid JSON: line {number}, column {error.colno}: {error.msg}. {_EXPECTED}"
                ) from None
    return values


def _from_lines(values: list[Any], name: str) -> Transcript:
    if all(_is_body(value) for value in values):
        return Transcript(name, Shape.OBJECT_LINES, _bodies(values, name))
    return Transcript(name, Shape.LINES, (_from_array(values),))


def _from_array(values: list[Any]) -> Conversation:
    found = read_session_file(values)
    if found is None:
        return Conversation(values)
    return Conversation(found.messages, found.system, model=found.model)


def _is_body(value: Any) -> bool:
    return isinstance(value, dict) and "role" not in value and any(key in value for key in _MESSAGES)


def _bodies(values: list[Any], name: str) -> tuple[Conversation, ...]:
    return tuple(
        _from_body(value, str(value.get("id") or number), name)
        for number, value in enumerate(values, start=1)
    )


def _from_body(body: dict[str, Any], label: str, name: str) -> Conversation:
    key = next((key for key in _MESSAGES if key in body), None)
    where = f"{name}, conversation {label}" if label else name
    if key is None:
        raise FormatError(
            f'{where} is an object without "messages"; found: {", ".join(list(body)[:8]) or "nothing"}. '
            f"{list_to_pass(body)}".rstrip()
        )
    messages = body[key]
    if key == "input" and isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        raise FormatError(f'{where}: "{key}" must be an array of messages (got {json_kind(messages)}).')
    system = next((body[found] for found in _SYSTEM if body.get(found)), None)
    if isinstance(system, dict) and isinstance(system.get("parts"), list):
        system = system["parts"]
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise FormatError(f'{where}: "tools" must be an array (got {json_kind(tools)}).')
    model = body.get("model")
    return Conversation(
        messages, system, tools or None, body, label, model if isinstance(model, str) and model else None
    )
