"""Redaction of everything that leaves the process: copies with secrets replaced, originals untouched."""

from __future__ import annotations

import dataclasses
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from compact.model.prose import REDACTED
from compact.redaction.decode import characters
from compact.redaction.engine import Span
from compact.redaction.keys import PIN, strength
from compact.redaction.memo import SpanMemo
from compact.redaction.plausible import is_random
from compact.redaction.scan import Scanner, compile_user, pii_kinds

if TYPE_CHECKING:
    from compact.redaction.stream import StreamRedactor

_REDACTED_BYTES = REDACTED.encode()
_MAX_DEPTH = 64
_BLANK = re.compile(r"\s")
# A long list of these is a measurement or a picture; checking each one would take seconds.
_NUMBERS = frozenset({int, float, bool, type(None)})
_JSON_SCHEMA_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_DESCRIBING = frozenset({"kty", "value"})  # Fields that make others secret, or are made so by them.
_PRIVATE_JWK = ("d", "p", "q", "dp", "dq", "qi", "k")


class Redactor:
    """Replaces secrets with `<REDACTED>` in copies of what leaves the process.

    `patterns` are users' own regular expressions, on the same linear-time engine. `pii` names the kinds
    of personal data to redact too ("email", "phone", "card"; True: all of them). With `enabled=False` nothing
    is redacted, `is_secret` still works, and exporters must warn first: see `warning_when_disabled`.
    """

    def __init__(
        self, patterns: Sequence[str] = (), pii: bool | Collection[str] = False, enabled: bool = True
    ) -> None:
        self.enabled = enabled
        self.pii = pii_kinds(pii)
        self.has_user_patterns = bool(patterns)
        self._scanner = Scanner(self.pii, compile_user(patterns))
        self._memo = SpanMemo(self._scanner.search)

    def warning_when_disabled(self) -> str | None:
        """The high-severity warning to emit before the first unredacted export, or None."""
        if self.enabled:
            return None
        return (
            "Redaction is disabled: archives, events, traces, logs and exports will hold secrets in clear "
            "text. Set redaction.enabled to true unless every reader of them may see these secrets."
        )

    def is_secret(self, text: str) -> bool:
        """True if `text` contains a secret, even while redaction is disabled."""
        return bool(self._memo.spans(_encode(text)))

    def looks_random(self, text: str) -> bool:
        """True if `text` is mixed like a key: long, of letters and digits, and neither code nor a path."""
        return is_random(_encode(text))

    def secret_spans(self, text: str) -> list[Span]:
        """Where secrets are in `text`, by character, in order, not overlapping; works while disabled, too.

        One pass over the text: call this once and compare positions instead of calling `is_secret` for each
        value.
        """
        data = _encode(text)
        spans = self._memo.spans(data)
        return spans if text.isascii() else by_character(data, spans)

    def text(self, text: str) -> str:
        """`text` with its secrets replaced; the same object if it has none."""
        if not self.enabled or not text:
            return text
        data = _encode(text)
        spans = self._memo.spans(data)
        return decoded(replaced(data, spans)) if spans else text

    def spans(self, data: bytes) -> list[Span]:
        """The byte ranges of secrets in UTF-8 `data`, in order, not overlapping."""
        return self._scanner.spans(data) if self.enabled else []

    def stream(self) -> StreamRedactor:
        """A redactor for text that arrives in chunks."""
        from compact.redaction.stream import StreamRedactor

        return StreamRedactor(self)

    def value(self, value: Any) -> Any:
        """A redacted copy of JSON-like data; objects of other types become their data or their text."""
        return self._value(value, 0, frozenset()) if self.enabled else value

    def message(self, message: Message) -> Message:
        """A redacted copy of a message, including its source object; the digest stays the original's."""
        if not self.enabled:
            return message
        origin = message.origin
        return replace(
            message,
            parts=tuple(self._part(part) for part in message.parts),
            origin=None if origin is None else replace(origin, source=self.value(origin.source)),
            name=None if message.name is None else self.text(message.name),
            error=None if message.error is None else self.text(message.error),
        )

    def _part(self, part: Part) -> Part:
        match part:
            case Text(text=text):
                return replace(part, text=self._string(text))
            case ToolCall(arguments=arguments):
                return replace(part, arguments=self.value(arguments))
            case ToolResult(text=text, media=media):
                clean = tuple(self._medium(item) for item in media)
                return replace(part, text=self._string(text), media=clean)
            case Reasoning(text=text):
                return replace(part, text=self._string(text))
            case CompactionMarker(summary=summary):
                return replace(part, summary=self.text(summary))
            case Image() | File() | Opaque():
                return self._medium(part)
            case _:
                return part

    def _medium(self, part: Image | File | Opaque) -> Image | File | Opaque:
        if isinstance(part, Opaque):
            return replace(part, text=self._string(part.text))
        return replace(part, source=self.text(part.source))

    def _value(self, value: Any, depth: int, above: frozenset[int]) -> Any:
        if type(value) is str:
            return self._string(value, depth)
        if isinstance(value, Enum):
            value = value.value
        if isinstance(value, str):
            return self._string(value, depth)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return REDACTED if self.pii and self.text(str(value)) != str(value) else value
        if isinstance(value, bytes | bytearray):
            spans = self.spans(bytes(value))
            return replaced(bytes(value), spans) if spans else bytes(value)
        if id(value) in above or depth >= _MAX_DEPTH:
            return REDACTED  # A cycle, or deeper than any honest message: nothing in it may leak.
        above = above | {id(value)}
        if isinstance(value, Mapping):
            return self._mapping(value, depth, above)
        if isinstance(value, list | tuple | set | frozenset):
            if not self.pii and _NUMBERS.issuperset(map(type, value)):
                return tuple(value) if isinstance(value, tuple) else list(value)
            items = [self._value(item, depth + 1, above) for item in value]
            for place in self._secret_together(value):
                items[place] = REDACTED
            return tuple(items) if isinstance(value, tuple) else items
        plain = _plain(value)
        return self._value(plain, depth + 1, above) if plain is not None else self.text(str(value))

    def _secret_together(self, items: Iterable[Any]) -> Iterator[int]:
        """Places of what is a secret only next to others: `["login", "--password", "…"]`.

        A word goes on with the next item; a text of several words is a line of its own. What a text reveals
        by itself was taken out of it before, and the rest of it stays.
        """
        for run in _runs(items):
            joined = "".join([text + ("\n" if _BLANK.search(text) else " ") for _, text in run])
            spans = self.secret_spans(joined)
            starts = list(accumulate([len(text) + 1 for _, text in run], initial=0)) if spans else []
            known: dict[int, list[Span]] = {}
            for start, end in spans:
                for number in range(bisect_right(starts, start) - 1, bisect_left(starts, end)):
                    place, text = run[number]
                    alone = (
                        known[number]
                        if number in known
                        else known.setdefault(number, self.secret_spans(text))
                    )
                    first, last = max(0, start - starts[number]), min(len(text), end - starts[number])
                    nearest = bisect_right(alone, first, key=itemgetter(0)) - 1
                    if nearest < 0 or alone[nearest][1] < last:
                        yield place

    def _mapping(self, mapping: Mapping[Any, Any], depth: int, above: frozenset[int]) -> dict[Any, Any]:
        # {"name": "Authorization", "value": "..."}, as in header lists.
        label = mapping.get("name", mapping.get("key"))
        named = strength(label) if isinstance(label, str) else 0
        is_jwk = "kty" in mapping
        result: dict[Any, Any] = {}
        for key, item in mapping.items():
            level = strength(key) if isinstance(key, str) else 0
            if key == "value" and named:
                level = named
            elif is_jwk and key in _PRIVATE_JWK:
                level = 2
            clean_key = self._key(key, result)
            if level == 2:
                result[clean_key] = self._hidden(item, depth, above)
            elif (level == 1 and isinstance(item, str) and is_random(_encode(item))) or (
                level == PIN and _is_pin(item)
            ):
                result[clean_key] = REDACTED
            else:
                result[clean_key] = self._value(item, depth + 1, above)
        return result

    def _key(self, key: Any, taken: Mapping[Any, Any]) -> Any:
        clean = self.text(key) if isinstance(key, str) else key
        if clean is key or clean not in taken:
            return clean
        return f"{clean}#{len(taken)}"

    def _hidden(self, value: Any, depth: int, above: frozenset[int]) -> Any:
        """The value under a secret's name: every text and number in it is redacted, its shape stays."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return REDACTED if value and not _names_a_variable(value) else value
        if depth >= _MAX_DEPTH or id(value) in above:
            return REDACTED
        inner = above | {id(value)}
        if isinstance(value, Mapping):
            if value.get("type") in _JSON_SCHEMA_TYPES:
                return self._value(value, depth, above)  # A tool schema that declares such a field.
            return {self._key(key, {}): self._hidden(item, depth + 1, inner) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._hidden(item, depth + 1, inner) for item in value]
        return REDACTED

    def _string(self, text: str, depth: int = 0) -> str:
        """Text, or JSON in text (tool arguments, results), where field names count as well."""
        if not self.enabled or len(text) < 6:
            return self.text(text)
        data = _encode(text)
        found = self._memo.found(data)
        if depth < _MAX_DEPTH and _may_be_json(text):
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                return decoded(replaced(data, found)) if found else text
            # Without escapes, every text of the JSON is a part of this one.
            if found is None and "\\" not in text and not _reveals_more(parsed, depth + 1):
                return text
            if isinstance(parsed, dict | list | str):
                clean = self._value(parsed, depth + 1, frozenset())
                if clean != parsed:
                    compact = ": " not in text and ", " not in text
                    return json.dumps(
                        clean, ensure_ascii=text.isascii(), separators=(",", ":") if compact else None
                    )
        return decoded(replaced(data, found)) if found else text


def _may_be_json(text: str) -> bool:
    head = text.lstrip()[:1] if text[0].isspace() else text[0]
    return head != "" and head in '{["'


def _reveals_more(value: Any, depth: int) -> bool:
    """Whether the names of fields, or items next to each other, may reveal what no text in it does alone."""
    if isinstance(value, str):
        return value != "" and _may_be_json(value)
    if not isinstance(value, dict | list):
        return False
    if depth >= _MAX_DEPTH:
        return True
    if isinstance(value, dict):
        if not _DESCRIBING.isdisjoint(value) or any(map(strength, value)):
            return True
        return any([_reveals_more(item, depth + 1) for item in value.values()])
    if _NUMBERS.issuperset(map(type, value)):
        return False
    return any(_runs(value)) or any([_reveals_more(item, depth + 1) for item in value])


def _runs(items: Iterable[Any]) -> Iterator[list[tuple[int, str]]]:
    """The items that may be read together, each with its place: texts, and a number behind a text.

    What follows an object, a missing value or a series of numbers does not go on from what was before it.
    """
    run: list[tuple[int, str]] = []
    behind_text = False
    for place, item in enumerate(items):
        is_text = isinstance(item, str)
        text = item if is_text else _digits(item) if behind_text else None
        if text is not None:
            run.append((place, text))
        else:
            if len(run) > 1:
                yield run
            run = []
        behind_text = is_text
    if len(run) > 1:
        yield run


def _digits(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return str(value)
    except ValueError:  # Python writes out no integers of more than 4,300 digits.
        return None


def replaced(data: bytes, spans: Sequence[Span]) -> bytes:
    pieces, last = [], 0
    for start, end in spans:
        pieces.append(data[last:start])
        last = end
    pieces.append(data[last:])
    return _REDACTED_BYTES.join(pieces)


def by_character(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Byte ranges of UTF-8 `data` as character ranges; a split character belongs to the secret."""
    result, seen, last = [], 0, 0
    for start, end in spans:
        seen += characters(data[last:start])
        begin = seen - 1 if data[start] & 0xC0 == 0x80 else seen
        seen += characters(data[start:end])
        result.append((begin, seen))
        last = end
    return result


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _names_a_variable(text: str) -> bool:
    """`${OPENAI_API_KEY}` says where a secret is, not what it is."""
    name = text.removeprefix("${").removesuffix("}")
    return (
        len(name) == len(text) - 3 and name.isascii() and name.isupper() and name.replace("_", "").isalnum()
    )


def _is_pin(value: Any) -> bool:
    text = str(value) if isinstance(value, str | int) else ""
    return text.isdigit() and 4 <= len(text) <= 8


def _plain(value: Any) -> Any | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return None
