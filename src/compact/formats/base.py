"""What all formats share: fragments of a caller's object, and returning the object or a rebuilt copy.

A format says where each decoded part is in the raw object (its place). Encoding needs no memory of the
decoding: it computes the places again from the source, compares them with what the engine kept, and rebuilds
only what differs. An object whose fragments are all present, in order and unchanged, is sent as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from compact.errors import FormatError
from compact.formats.answers import calling, own_results
from compact.formats.fields import as_mapping, described
from compact.formats.nesting import unreadable
from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
)


class Place(NamedTuple):
    """Where a part is in the raw object; `at` is None if the part is the field's whole value."""

    field: str
    at: int | None = None


class Fragment(NamedTuple):
    """One message within a caller's object; `places[i]` says where `parts[i]` was read."""

    role: Role
    parts: Sequence[Part]
    places: Sequence[Place]


def fragment(role: Role, found: Sequence[tuple[Part, Place]]) -> Fragment:
    return Fragment(role, [part for part, _ in found], [place for _, place in found])


class Kept(NamedTuple):
    """A part to send: where it came from, what was there, and what is there now."""

    place: Place
    before: Part | None
    """None for what the engine added: text right after the part at `place`, or the result of that call."""
    after: Part

    @property
    def new_result(self) -> ToolResult | None:
        """The tool result whose text replaces the source's text; None if nothing changed.

        A replaced result keeps only its text: its images and files are removed.
        """
        before, after = self.before, self.after
        if isinstance(before, ToolResult) and isinstance(after, ToolResult):
            changed = after.cleared_at is not None or after.text != before.text
            return after if changed else None
        return None

    @property
    def new_text(self) -> str | None:
        """Text that the engine added here."""
        return self.after.text if self.before is None and isinstance(self.after, Text) else None

    @property
    def added_result(self) -> ToolResult | None:
        """A result that the engine added to the call in this place."""
        return self.after if self.before is None and isinstance(self.after, ToolResult) else None


class SourceFormat(ABC):
    """Base class of the formats: it handles grouping and identity, the subclasses handle shapes."""

    name: str
    provider: str
    has_system = True
    """Whether system messages may appear among the others."""
    alternates = False
    """Whether the provider refuses two messages of one role in a row."""
    answers_in_calls = False
    """Whether a call and its result are one entry of the same object."""

    @abstractmethod
    def recognizes(self, messages: Sequence[Any]) -> bool: ...

    @abstractmethod
    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        """The messages within one object; always the same for the same object."""

    @abstractmethod
    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        """A copy of the object with only the kept parts.

        `repeated` is the first fragment's number if an earlier part of this object was already sent under
        its id, else None.
        """

    @abstractmethod
    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        """A minimal message created by Compact in this format."""

    @abstractmethod
    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        """A result created by Compact for an unanswered call; `call` is the message that makes it."""

    def settle_results(self, encoded: list[Any], created: Sequence[int]) -> list[Any]:
        """Join our results, at these positions, with the rest of their group, if the format requires it."""
        return encoded

    def distinguish(self, encoded: list[Any], created: Sequence[int]) -> None:
        """Give our messages, at these positions, unique ids, if messages of this format have ids."""
        return None

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of `Message` other than role, parts and name."""
        return described(fields)

    def fields_of(self, item: Any, index: int) -> Mapping[str, Any]:
        """The caller's object as a mapping; this also reads the classes of a framework."""
        return as_mapping(item, index)

    def restore(self, fields: dict[str, Any], like: Any) -> Any:
        """The rebuilt or created message, converted to the class of `like`, one of the caller's objects."""
        return fields

    def decode(self, item: Any, index: int) -> tuple[Message, ...]:
        try:
            return self._decoded(item, index)
        except (LookupError, AttributeError, TypeError, ValueError) as error:
            # `fragments` may rely on what its format always has.
            raise unreadable(item, index, self.name, error) from error

    def _decoded(self, item: Any, index: int) -> tuple[Message, ...]:
        fields = self.fields_of(item, index)
        fragments = self.fragments(fields, index)
        name = fields.get("name")
        name = name if isinstance(name, str) and "role" in fields else None
        extra = self.describe(fields) if len(fields) > 2 else {}
        if len(fragments) == 1:
            role, found, _ = fragments[0]
            parts = tuple(found)
            digest = digest_of(role, parts, name)
            return (Message(role, parts, digest, Origin(index, item), name=name, **extra),)
        return tuple(
            Message(
                role=role,
                parts=(parts := tuple(found)),
                digest=digest_of(role, parts, name),
                origin=Origin(index, item, number, len(fragments)),
                name=name,
                **extra,
            )
            for number, (role, found, _) in enumerate(fragments)
        )

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        encoded: list[Any] = []
        created: list[int] = []
        answers: list[int] = []
        position = 0
        seen: set[tuple[int, int]] = set()
        like = next((message.origin.source for message in messages if message.origin is not None), None)
        for group in grouped(messages):
            origin = group[0].origin
            position += len(group)
            if origin is None:
                results = own_results(group[0])
                for result in results:
                    call = messages[calling(messages, position, result.call_id)]
                    answers.append(len(encoded))
                    encoded.append(self.restore(self.create_result(result, call), like))
                if not results:
                    created.append(len(encoded))
                    made = self.create(group[0].role, own_text(group[0]), group[0])
                    encoded.append(self.restore(made, like))
                continue
            if len(group) == origin.parts and not any(message.changed for message in group):
                encoded.append(origin.source)
                continue
            fields = self.fields_of(origin.source, origin.index)
            fragments = self.fragments(fields, origin.index)
            kept = [
                part
                for message in group
                if message.origin is not None
                for part in surviving(fragments[message.origin.part], message, self.answers_in_calls)
            ]
            key = (origin.index, id(origin.source))
            rebuilt = self.rebuild(fields, kept, origin.part if key in seen else None)
            encoded.append(self.restore(rebuilt, origin.source))
            seen.add(key)
        if created:
            self.distinguish(encoded, created)
        return self.settle_results(encoded, answers) if answers else encoded


def grouped(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Runs of fragments of one object, in order; every other message is a run of its own."""
    group: list[Message] = []
    for message in messages:
        if group and _continues(group[-1].origin, message.origin):
            group.append(message)
            continue
        if group:
            yield group
        group = [message]
    if group:
        yield group


def _continues(before: Origin | None, after: Origin | None) -> bool:
    return (
        before is not None
        and after is not None
        and before.source is after.source
        and before.index == after.index
        and before.part < after.part
    )


def surviving(source: Fragment, message: Message, answers_in_calls: bool = False) -> Iterator[Kept]:
    """Which raw parts a message still holds, in order, matched with the source.

    A tool result is the same as long as its call id is the same. Text that the source does not have is new.
    """
    if not message.changed:
        yield from (Kept(place, part, part) for place, part in zip(source.places, source.parts, strict=True))
        return
    identities = [_identity(part) for part in source.parts]
    start = 0
    last = source.places[0] if source.places else Place("content")
    for part in message.parts:
        try:
            found = identities.index(_identity(part), start)
        except ValueError:
            call = ("call", part.call_id) if isinstance(part, ToolResult) else None
            if answers_in_calls and call in identities:
                yield Kept(source.places[identities.index(call)], None, part)
                continue
            if not isinstance(part, Text):
                raise FormatError(
                    f"A changed message holds a {type(part).__name__} that its source object does not have. "
                    "The messages you passed are unchanged; only parts of the source, cleared tool results "
                    "and added text can be encoded."
                ) from None
            yield Kept(last, None, part)
            continue
        start = found + 1
        last = source.places[found]
        yield Kept(last, source.parts[found], part)


def _identity(part: Part) -> tuple[object, ...]:
    match part:
        case Text(text=text):
            return ("text", text)
        case ToolCall(call_id=call_id):
            return ("call", call_id)
        case ToolResult(call_id=call_id):
            return ("result", call_id)
        case Reasoning(text=text, signature=signature):
            return ("reasoning", text, signature)
        case StepStart():
            return ("step",)
        case CompactionMarker(summary=summary):
            return ("marker", summary)
        case Image(source=source):
            return ("image", source)
        case File(source=source, name=name):
            return ("file", source, name)
        case Opaque(type=kind, text=text):
            return ("opaque", kind, text)


def rebuilt_array(
    raw: Sequence[Any],
    field: str,
    kept: Sequence[Kept],
    edit: Callable[[Any, list[Kept]], Any],
    text_entry: Callable[[str], Any],
) -> list[Any]:
    """The kept entries of a raw array, in order; `edit(entry, [Kept, …])` returns the new entry.

    Several parts may come from one entry (an AI SDK tool part is a call and its result). Text added
    next to a part of another field goes to the end.
    """
    at: dict[int, list[Kept]] = {}
    added: dict[int, list[str]] = {}
    for part in kept:
        inside = part.place.field == field and part.place.at is not None
        index = part.place.at if inside and part.place.at is not None else len(raw)
        if part.new_text is not None:
            added.setdefault(index, []).append(part.new_text)
        elif inside:
            at.setdefault(index, []).append(part)
    array: list[Any] = []
    for index in sorted(at.keys() | added.keys()):
        if index in at:
            array.append(edit(raw[index], at[index]))
        array.extend(text_entry(text) for text in added.get(index, ()))
    return array


def own_text(message: Message) -> str:
    """The text of a message that Compact created without results; it can hold only text and markers."""
    for part in message.parts:
        if not isinstance(part, Text | CompactionMarker):
            raise FormatError(
                f"A message without a source object holds a {type(part).__name__}; only text or results "
                "can be created. The messages you passed are unchanged."
            )
    return message.text
