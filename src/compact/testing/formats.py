"""The contract of a wire format: subclass `FormatContract` to run it against your own format."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compact.errors import CompactError, MalformedMessage
from compact.model.message import (
    CompactionMarker,
    Message,
    MessageKind,
    Role,
    ToolResult,
    digest_of,
    make,
    with_parts,
)
from compact.ports import Format

CLEARED = "[Tool output cleared - see conversation summary]"
INTERRUPTED = "[No result: the call was interrupted]"


def decode(format: Format, items: Sequence[Any]) -> list[Message]:
    return [message for index, item in enumerate(items) for message in format.decode(item, index)]


def cleared(message: Message, text: str = CLEARED) -> Message:
    """The message with all its tool outputs cleared, as pruning does."""
    return with_parts(
        message,
        tuple(
            replace(part, text=text, media=(), cleared_at=1.0) if isinstance(part, ToolResult) else part
            for part in message.parts
        ),
    )


def interrupted(messages: Sequence[Message], call_ids: set[str]) -> list[Message]:
    """The messages with our own results for these calls in place of theirs, as a repair creates them."""
    left: list[Message] = []
    for message in messages:
        kept = tuple(
            part for part in message.parts if not (isinstance(part, ToolResult) and part.call_id in call_ids)
        )
        if kept or not message.parts:
            left.append(message if kept == message.parts else with_parts(message, kept))
        for call in message.calls:
            if call.call_id in call_ids:
                parts = (ToolResult(call.call_id, INTERRUPTED, call.name, is_error=True),)
                digest = digest_of(Role.TOOL, parts)
                left.append(Message(Role.TOOL, parts, digest, kind=MessageKind.BRIDGE))
    return left


def without_steps(messages: Sequence[Message], call_ids: set[str]) -> list[Message]:
    """The messages without those that make or answer these calls."""
    left = []
    for message in messages:
        touched = {call.call_id for call in message.calls} | {result.call_id for result in message.results}
        if not call_ids & touched:
            left.append(message)
    return left


def _broken(value: Any) -> Iterator[Any]:
    """Copies of a message with one field missing, or with a value of another type."""
    if isinstance(value, Mapping):
        for key in value:
            yield {name: held for name, held in value.items() if name != key}
            for other in (*_broken(value[key]), None, 7, "x", ["x"], {"x": 1}):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at, held in enumerate(value):
            for other in (*_broken(held), None, 7, "x"):
                yield [*value[:at], other, *value[at + 1 :]]


class FormatContract:
    """What every format must guarantee. `sample` returns a rich conversation, a new one for each call."""

    def make_format(self) -> Format:
        raise NotImplementedError

    def sample(self) -> list[Any]:
        raise NotImplementedError

    def test_recognizes_its_own_messages(self) -> None:
        assert self.make_format().recognizes(self.sample())

    def test_recognizes_nothing_else(self) -> None:
        format = self.make_format()
        for other in (None, 7, "text", {}, ["x"], {"role": ["nobody"]}, {"role": "nobody", "content": "x"}):
            assert not format.recognizes([other]), f"{other!r} was taken for a message"
            assert not format.recognizes([*self.sample(), other]), f"{other!r} was taken for a message"

    def test_untouched_messages_come_back_as_the_same_objects(self) -> None:
        format, items = self.make_format(), self.sample()
        encoded = format.encode(decode(format, items))
        assert len(encoded) == len(items)
        assert all(out is given for out, given in zip(encoded, items, strict=True))

    def test_nothing_given_is_mutated(self) -> None:
        format, items = self.make_format(), self.sample()
        before = copy.deepcopy(items)
        messages = decode(format, items)
        format.encode([cleared(message) if message.results else message for message in messages])
        format.encode(messages[1::2])
        assert items == before

    def test_one_object_decodes_alike_alone_and_in_its_list(self) -> None:
        format, items = self.make_format(), self.sample()
        together = [message.digest for message in decode(format, items)]
        alone = [message.digest for item in items for message in format.decode(item, 0)]
        assert together == alone

    def test_fragments_are_numbered_within_their_object(self) -> None:
        format, items = self.make_format(), self.sample()
        for index, item in enumerate(items):
            found = format.decode(item, index)
            origins = [message.origin for message in found]
            assert all(origin is not None and origin.source is item for origin in origins)
            assert [(o.index, o.part, o.parts) for o in origins if o] == [
                (index, part, len(found)) for part in range(len(found))
            ]

    def test_digests_cover_role_parts_and_name(self) -> None:
        format = self.make_format()
        for message in decode(format, self.sample()):
            assert message.digest == digest_of(message.role, message.parts, message.name)

    def test_every_call_of_the_sample_has_its_result(self) -> None:
        messages = decode(self.make_format(), self.sample())
        calls = {call.call_id for message in messages for call in message.calls}
        results = {result.call_id for message in messages for result in message.results}
        assert calls and calls == results

    def test_cleared_results_read_back_as_they_were_meant(self) -> None:
        format, items = self.make_format(), self.sample()
        pruned = [cleared(message) if message.results else message for message in decode(format, items)]
        encoded = format.encode(pruned)
        again = decode(format, encoded)
        assert [message.digest for message in again] == [message.digest for message in pruned]
        assert all(result.text == CLEARED for message in again for result in message.results)

    def test_clearing_one_result_rebuilds_one_object(self) -> None:
        format, items = self.make_format(), self.sample()
        messages = decode(format, items)
        at = next(at for at, message in enumerate(messages) if message.results)
        origin = messages[at].origin
        assert origin is not None
        messages[at] = cleared(messages[at])
        encoded = format.encode(messages)
        differing = [index for index, (a, b) in enumerate(zip(encoded, items, strict=True)) if a is not b]
        assert differing == [origin.index]

    def test_any_step_can_go_and_the_rest_reads_back(self) -> None:
        format, items = self.make_format(), self.sample()
        messages = decode(format, items)
        for message in messages:
            if message.calls:
                left = without_steps(messages, {call.call_id for call in message.calls})
                again = decode(format, format.encode(left))
                assert [found.digest for found in again] == [kept.digest for kept in left]

    def test_a_call_can_be_answered_by_a_result_of_our_own(self) -> None:
        format, items = self.make_format(), self.sample()
        before = copy.deepcopy(items)
        messages = decode(format, items)
        results = {result.call_id: result.text for message in messages for result in message.results}
        for call_id in results:
            encoded = format.encode(interrupted(messages, {call_id}))
            again = {r.call_id: r.text for message in decode(format, encoded) for r in message.results}
            assert again == results | {call_id: INTERRUPTED}
        encoded = format.encode(interrupted(messages, set(results)))
        found = [result.text for message in decode(format, encoded) for result in message.results]
        assert found == [INTERRUPTED] * len(results)
        assert items == before

    def test_created_messages_are_plain_and_read_back(self) -> None:
        format = self.make_format()
        marker = CompactionMarker("what happened", 0.0, 3, 100)
        own = [
            make(MessageKind.BRIDGE, Role.USER, "go on"),
            make(MessageKind.SUMMARY, Role.ASSISTANT, "a summary"),
            make(MessageKind.CONTEXT, Role.SYSTEM, "context"),
            Message(Role.USER, (marker,), b"marker", kind=MessageKind.MARKER),
        ]
        encoded = format.encode(own)
        assert [message.text for message in decode(format, encoded)] == [
            "go on",
            "a summary",
            "context",
            "what happened",
        ]
        for item in encoded:
            assert isinstance(item, Mapping) and "meta" not in item
            json.dumps(item)
        assert format.encode(own) == encoded

    def test_protection_is_read_from_meta_and_meta_says_nothing(self) -> None:
        format, items = self.make_format(), self.sample()
        item = next(item for item in items if isinstance(item, dict) and "meta" not in item)
        plain = format.decode(item, 0)
        for value in (True, 1, "yes"):
            marked = format.decode({**item, "meta": {"protected": value}}, 0)
            assert all(message.protected for message in marked), value
        for other in (False, 0, None, ""):
            unmarked = format.decode({**item, "meta": {"protected": other}}, 0)
            assert not any(message.protected for message in unmarked), other
        assert not any(message.protected for message in plain)
        assert [message.digest for message in marked] == [message.digest for message in plain]

    def test_a_message_that_lacks_something_is_read_or_refused_with_its_index(self) -> None:
        """Without any one of its fields, at any depth, or with a value of another type in its place."""
        format = self.make_format()
        for item in self.sample():
            if isinstance(item, Mapping):
                for broken in _broken(item):
                    try:
                        format.decode(broken, 5)
                    except MalformedMessage as error:
                        assert error.index == 5
                    except CompactError as error:
                        raise AssertionError(f"{broken!r} was refused without its index: {error}") from error
                    except Exception as error:
                        raise AssertionError(f"{broken!r} raised {error!r}, not MalformedMessage") from error

    def test_what_is_no_message_is_refused_with_its_index(self) -> None:
        format = self.make_format()
        for broken in (None, "text", 7, ["role", "user"], {}, {"role": "nobody", "content": "x"}):
            try:
                format.decode(broken, 5)
            except MalformedMessage as error:
                assert error.index == 5 and "messages[5]" in str(error)
            else:
                raise AssertionError(f"{broken!r} was accepted")
