"""The caller's list as it was read: copies that reveal later edits, and the originals that it shows."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import is_dataclass
from typing import Any

from compact.core.boundaries import is_beside_results
from compact.core.view import START
from compact.model.message import Message, Role
from compact.ports import Format

_USER = Role.USER
Remembered = dict[int, tuple[Any, tuple[Message, ...]]]
_UNKNOWN: tuple[Any, tuple[Message, ...]] = (None, ())
_LEAVES = frozenset({str, int, float, bool, bytes, type(None)})
_REPLACED_AT_A_TIME = 32
REPLACED_AT_A_COMPACTION = 1_024
"""Few enough not to slow down a preflight."""


def container_copy(value: Any) -> Any:
    """A copy of the containers that shares every leaf: equal to the original until that is edited."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is dict:
        copied = value.copy()
        for key, item in value.items():
            if type(item) not in _LEAVES:
                copied[key] = container_copy(item)
        return copied
    if kind is list:
        return [container_copy(item) for item in value]
    if isinstance(value, Mapping):
        return {key: container_copy(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(container_copy(item) for item in value)
    copy = getattr(value, "model_copy", None)
    if copy is not None:
        return copy(deep=True)
    # A copy that does not equal its original could never show that the original is unchanged.
    compares = is_dataclass(value) and type(value).__eq__ is not object.__eq__
    return deepcopy(value) if compares else value


def same(one: Any, other: Any) -> bool:
    """Whether they are equal; what cannot be compared, such as an array of numbers inside, is not."""
    try:
        return bool(one == other)
    except Exception:
        return False


class CallerList:
    """The objects of one list, without its leading system messages, and the messages they became.

    What a record has replaced is no longer sent, so it is watched less closely: `replaced`, below, names
    those messages by identity.
    """

    def __init__(self) -> None:
        self.copies: list[Any] = []
        self.ends = array("L")
        """How many messages there are up to each of the caller's objects."""
        self.messages: list[Message] = []
        self._watched: list[Any] | None = None
        """What a list that continues from here begins with, head included; see `begins_watched`."""
        self._watched_head = 0
        self._left_out = self._looked_at = 0
        """How far that has objects that a record replaced, and how many of them were checked last."""
        self._replaced_since: set[int] = set()
        """Identities of messages to leave out of `_watched` when it is compared next: whoever continues with
        the returned list never compares it. The history keeps these messages, so no identity is reused."""

    def repeat(self, other: CallerList, count: int) -> Sequence[Message]:
        """Begin with the first `count` objects of another list; returns what they were decoded to."""
        self.copies = other.copies[:count]
        self.ends = other.ends[:count]
        return other.messages[: other.ends[count - 1] if count else 0]

    def read(
        self, items: Sequence[Any], format: Format, first_index: int, known: Remembered | None = None
    ) -> list[Message]:
        """Copy and decode new objects; the history takes the messages in."""
        fresh: list[Message] = []
        for index, item in enumerate(items, first_index):
            # Each only once: an object that occurs twice is two messages, and they are found by identity.
            copy, decoded = known.pop(id(item), _UNKNOWN) if known else _UNKNOWN
            if not decoded or not same(copy, item):
                copy, decoded = container_copy(item), format.decode(item, index)
            fresh.extend(decoded)
            self.copies.append(copy)
            self.ends.append(len(self.messages) + len(fresh))
        if self._watched is not None:
            self._watched[first_index:] = self.copies[first_index - self._watched_head :]
        return fresh

    def remembered(self) -> Remembered:
        """What was decoded, by the identity of the caller's object: a returned list is mostly known."""
        found: Remembered = {}
        start = 0
        for copy, end in zip(self.copies, self.ends, strict=True):
            decoded = tuple(self.messages[start:end])
            start = end
            if decoded and decoded[0].origin is not None:
                found[id(decoded[0].origin.source)] = (copy, decoded)
        return found

    def index_of(self, message: Message) -> int | None:
        """Which object this message begins."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index] is message:
                at = bisect_right(self.ends, index)
                return at if index == (self.ends[at - 1] if at else 0) else None
        return None

    def begins(self, messages: list[Any], head: int) -> bool:
        """Whether a list, minus its `head`, begins with this one, edits in place included."""
        known = head + len(self.copies)
        return known <= len(messages) and same(messages[head:known], self.copies)

    def begins_watched(
        self,
        messages: list[Any],
        head: int,
        replaced: Callable[[], set[int]],
        at_a_time: int = _REPLACED_AT_A_TIME,
    ) -> bool:
        """The same, but only `at_a_time` of the replaced objects are compared, in turn.

        For the rest only the identity of the object is checked.
        """
        known = head + len(self.copies)
        if known > len(messages):
            return False
        watched = self._watched
        if watched is None or self._watched_head != head:
            watched = self._watched = messages[:head] + self.copies
            self._watched_head = head
            self._left_out = 0
            self._replaced_since = replaced()
        if self._replaced_since:
            self._leave_out_replaced(watched)
        # With the new part filled in, comparing two lists once is enough: no message is touched in between.
        watched[:head] = messages[:head]
        watched[known:] = messages[known:]
        return (same(watched, messages) and self._is_as_replaced(messages, head, at_a_time)) or (
            same(messages[head:known], self.copies)
        )

    def _is_as_replaced(self, messages: list[Any], head: int, at_a_time: int) -> bool:
        """Whether the next few messages that a record replaced still say what was replaced."""
        if not self._left_out:
            return True
        first = self._looked_at if at_a_time < self._left_out and self._looked_at < self._left_out else 0
        stop = min(first + at_a_time, self._left_out)
        self._looked_at = stop
        return same(messages[head + first : head + stop], self.copies[first:stop])

    def watch_anew(self) -> None:
        """Something else is replaced now."""
        self._watched = None

    def note_replaced(self, replaced: set[int]) -> None:
        """These messages were replaced, too."""
        self._replaced_since |= replaced

    def _leave_out_replaced(self, watched: list[Any]) -> None:
        """Put the caller's own object back in place of the copy where messages were replaced."""
        replaced, self._replaced_since = self._replaced_since, set()
        left, at = len(replaced), len(self.ends)
        # Backward: what a compaction replaces mostly comes after what earlier ones replaced.
        while left > 0 and at > 0:
            at -= 1
            start, end = self.ends[at - 1] if at else 0, self.ends[at]
            gone = len(replaced.intersection(map(id, self.messages[start:end])))
            left -= gone
            origin = self.messages[start].origin if gone == end - start > 0 else None
            if origin is not None:
                watched[self._watched_head + at] = origin.source
                self._left_out = max(self._left_out, at + 1)


def objects_of(messages: Iterable[Message]) -> list[Any]:
    """The callers' objects that these messages were decoded from. One that grew is returned as it last
    was."""
    objects: list[Any] = []
    for message in messages:
        origin = message.origin
        if origin is None:
            continue
        if origin.part == 0 or not objects:
            objects.append(origin.source)
        else:
            objects[-1] = origin.source
    return objects


class Originals:
    """From position `first` on it has every original; before that, only those that a record kept."""

    def __init__(self, first: int = 0, source: bytes = START) -> None:
        self.first = first
        """More than 0 if the list begins with what a record put in place of the originals before."""
        self.messages: list[Message] = []
        """The originals from `first` on, in order."""
        self._keys = [source]
        """The chain hash of all originals up to `first`, then after each message."""
        self._kept: dict[int, Message] = {}
        self.newest_task: int | None = None
        """Position of the newest message in which a user said something."""

    @property
    def length(self) -> int:
        """How many originals the conversation has, replaced ones included."""
        return self.first + len(self.messages)

    @property
    def end(self) -> bytes:
        """The chain hash of all of them."""
        return self._keys[-1]

    def source_at(self, length: int) -> bytes:
        """The chain hash of the first `length` originals."""
        return self._keys[length - self.first]

    def at(self, position: int) -> Message | None:
        if position < self.first:
            return self._kept.get(position)
        index = position - self.first
        return self.messages[index] if index < len(self.messages) else None

    def before(self, length: int) -> Sequence[Message]:
        """Those among the first `length`, from `first` on."""
        return self.messages[: max(0, length - self.first)]

    def after(self, length: int) -> Sequence[Message]:
        """Those after the first `length`."""
        return self.messages[max(0, length - self.first) :]

    def keys_from(self, length: int) -> Sequence[bytes]:
        """The chain hash of the first `length`, then after each that follows."""
        return self._keys[max(0, length - self.first) :]

    def append(self, message: Message, key: bytes) -> int:
        """Add the next original; returns its position."""
        position = self.first + len(self.messages)
        if message.role is _USER and _is_task(message, self.messages[-1] if self.messages else None):
            self.newest_task = position
        self.messages.append(message)
        self._keys.append(key)
        return position

    def keep(self, position: int, message: Message, before: Message | None) -> None:
        """An original that the record kept, and the message before it in the list."""
        self._kept[position] = message
        if message.role is _USER and _is_task(message, before):
            self.newest_task = position


def _is_task(message: Message, before: Message | None) -> bool:
    """Whether a user said it separately, not next to the tool results right before it."""
    return before is None or not is_beside_results(message, before)
