"""The contract of a policy: subclass `PolicyContract` to run it against a preset or your own policy.

The checks are plain functions, so that a property test can run them on generated conversations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any, Protocol

from compact.core.lint import Provider, lint_messages
from compact.errors import InsufficientBudget
from compact.formats import by_name, decode_all
from compact.model.outcome import ContextUsage, Prepared
from compact.model.record import Kept
from compact.testing.scenes import CallPlan, Ending, Picture, Plan, StepPlan, TurnPlan, Words
from compact.testing.scripted import EchoSummarizer
from compact.testing.wire import FORMATS, render
from compact.testing.wire_parts import Raw

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Manager(Protocol):
    """What the checks need from a CompactManager."""

    def prepare(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> Prepared: ...

    def usage(
        self, session_id: str, messages: Sequence[Any], tools: Any = None, system: Any = None
    ) -> ContextUsage: ...


def wire_bytes(messages: Sequence[Any]) -> bytes:
    """The messages as sent over the wire, including key order, so that a cached prefix would match."""
    return _JSON.encode(list(messages)).encode("utf-8", "surrogatepass")


def prepared(
    manager: Manager,
    session_id: str,
    messages: Sequence[Any],
    format: str,
    system: Any = None,
    originals: Sequence[Any] | None = None,
) -> Prepared | None:
    """Prepare and check everything that holds for each single call; None if the budget cannot be met.

    `originals` is the caller's own history, if the list also holds our summaries.
    """
    before, same = wire_bytes(messages), list(messages)
    try:
        found = manager.prepare(session_id, messages, None, system)
    except InsufficientBudget as error:
        check_untouched(messages, before, same)
        check_arithmetic(error)
        return None
    check_untouched(messages, before, same)
    check_within_budget(manager, session_id, messages, found, system)
    check_protected(messages, found.messages)
    own = messages if originals is None else originals
    check_own_objects(own, found.messages)
    check_lint(own, found.messages, format)
    return found


def check_untouched(messages: Sequence[Any], before: bytes, same: Sequence[Any]) -> None:
    """The caller's list holds the same objects, with the same content to the byte."""
    assert len(messages) == len(same) and all(a is b for a, b in zip(messages, same, strict=True)), (
        "the caller's list was changed"
    )
    assert wire_bytes(messages) == before, "a message of the caller was changed"


def check_arithmetic(error: InsufficientBudget) -> None:
    assert error.needed > error.budget, f"{error.needed} would fit {error.budget}"
    assert sum(error.arithmetic.values()) == error.needed, f"{error.arithmetic} is not {error.needed}"


def check_within_budget(
    manager: Manager, session_id: str, messages: Sequence[Any], found: Prepared, system: Any = None
) -> None:
    """The result fits, both by its reported total and by a fresh count of the session."""
    usage = manager.usage(session_id, messages, None, system)
    assert found.tokens.final <= usage.budget, f"{found.tokens.final} tokens, {usage.budget} allowed"
    assert found.tokens.final == usage.tokens, f"reported {found.tokens.final}, measured {usage.tokens}"


def check_protected(messages: Sequence[Any], result: Sequence[Any]) -> None:
    """Protected messages are the same objects, in the same order."""
    wanted = [id(message) for message in messages if message.get("meta", {}).get("protected")]
    chosen = set(wanted)
    assert [id(message) for message in result if id(message) in chosen] == wanted, "a protected message went"


def check_own_objects(messages: Sequence[Any], result: Sequence[Any]) -> None:
    """What equals one of the caller's messages is that message, not a copy."""
    own = {id(message) for message in messages}
    ours = [message for message in result if id(message) not in own]
    copies = [
        copy
        for copy in ours
        if any(copy == message and wire_bytes([copy]) == wire_bytes([message]) for message in messages)
    ]
    assert not copies, f"a copy went out instead of the caller's own object: {copies[:1]}"


def check_lint(messages: Sequence[Any], result: Sequence[Any], format: str) -> None:
    """A provider that would have accepted the input accepts the result."""
    if list(map(id, messages)) == list(map(id, result)):
        return
    wire = by_name(format)
    out = decode_all(result, wire)
    for provider in Provider:
        broken = lint_messages(out, provider)
        if broken:
            given = lint_messages(decode_all(messages, wire), provider)
            assert given, f"{provider} would refuse: {broken[0]}"


def check_repeatable(
    manager: Manager,
    summarizer: EchoSummarizer,
    session_id: str,
    messages: Sequence[Any],
    found: Prepared,
    format: str,
    system: Any = None,
) -> None:
    """The full history again, and the result itself, give the same bytes without a new summary."""
    calls, expected = summarizer.calls, wire_bytes(found.messages)
    for given in (messages, found.messages, messages):
        again = prepared(manager, session_id, given, format, system, originals=messages)
        assert again is not None, "a prompt that fitted does not fit the second time"
        assert summarizer.calls == calls, "a summary was asked for again"
        assert wire_bytes(again.messages) == expected, "the same history gave other bytes"
        if given is messages or _shows_us(found):
            assert again.record == found.record, "the record was not recognized"


def _shows_us(found: Prepared) -> bool:
    """Whether the result contains a message of ours: the caller's own messages alone may begin any list."""
    return found.record is not None and any(not isinstance(one, Kept) for one in found.record.entries)


def check_growing(
    manager: Manager,
    session_id: str,
    conversation: Sequence[Any],
    format: str,
    *,
    adopt: bool,
    system: Any = None,
) -> Iterator[Prepared]:
    """Send the conversation as it grows; between two compactions each prompt continues the one before.

    `adopt` continues with the returned list; otherwise the full history is sent every time.
    """
    last: tuple[list[bytes], str | None] | None = None
    held: list[Any] = []
    # `prepared` proves that the caller's own messages are not changed, so they are rendered once.
    own: dict[int, bytes] = {}
    for start, stop in sendable(conversation, format):
        held = [*held, *conversation[start:stop]]
        own |= {id(message): wire_bytes([message]) for message in conversation[start:stop]}
        found = prepared(manager, session_id, held, format, system, originals=conversation[:stop])
        if found is None:
            return
        now = [own.get(id(message)) or wire_bytes([message]) for message in found.messages]
        record = found.record.id if found.record else None
        if last is not None and last[1] == record:
            assert now[: len(last[0])] == last[0], "the prompt before is no prefix of this one"
        last = (now, record)
        if adopt:
            held = list(found.messages)
        yield found


def sendable(conversation: Sequence[Any], format: str) -> Iterator[tuple[int, int]]:
    """Where a model would be called: ranges of new messages that end with a user message or all results."""
    wire, start = by_name(format), 0
    open_calls: set[str] = set()
    for index, raw in enumerate(conversation):
        parts = wire.decode(raw, index)
        for message in parts:
            open_calls |= {call.call_id for call in message.calls}
            open_calls -= {result.call_id for result in message.results}
        if not open_calls and parts and parts[-1].role in ("user", "tool"):
            yield start, index + 1
            start = index + 1


def _busy(turns: int, steps: int, size: int, words: int = 20) -> Plan:
    step = StepPlan((CallPlan(1, size), CallPlan(2, size // 3, failed=True)), Words(2, 12), thought=True)
    turn = TurnPlan(Words(1, words), Words(7, words), (step,) * steps, Picture.LINK, thought=True, extra=True)
    return Plan((turn,) * turns, developer=True, ending=Ending.RESULTS if steps else Ending.ASKED)


SAMPLES = {
    "short": _busy(2, 0, 0),
    "many turns": _busy(16, 0, 0, words=250),
    "many steps in one turn": _busy(1, 14, 3_000),
    "turns with steps": _busy(7, 3, 1_500),
    "old outputs": Plan((*_busy(4, 1, 6_000).turns, *_busy(3, 1, 90).turns)),
    "one huge output": _busy(3, 1, 60_000),
}


class PolicyContract:
    """What every policy must guarantee. `make_manager` returns a small-window manager with this summarizer.

    Windows of about 8,000 tokens make every sample but the short one overflow. A policy for models only sets
    `needs_model`.
    """

    needs_model = False

    formats: Sequence[str] = FORMATS

    def make_manager(self, summarizer: EchoSummarizer | None) -> Manager:
        raise NotImplementedError

    def _each(self, check: Callable[[Manager, EchoSummarizer, list[Raw], str], None]) -> None:
        for format in self.formats:
            for name, plan in SAMPLES.items():
                summarizer = EchoSummarizer()
                try:
                    check(self.make_manager(summarizer), summarizer, render(plan, format), format)
                except AssertionError as error:
                    raise AssertionError(f"{name}, {format}: {error}") from error

    def test_it_works_without_a_model(self) -> None:
        """The embedded summarizer needs headings for the strategy: a row in its table."""
        if not self.needs_model:
            self.make_manager(None)

    def test_protected_messages_stay(self) -> None:
        def check(manager: Manager, _: EchoSummarizer, messages: list[Raw], format: str) -> None:
            third = len(messages) // 3
            marked = {**messages[third], "meta": {"protected": True}}
            prepared(manager, "s", [*messages[:third], marked, *messages[third + 1 :]], format)

        self._each(check)

    def test_a_second_call_changes_nothing(self) -> None:
        def check(manager: Manager, echo: EchoSummarizer, messages: list[Raw], format: str) -> None:
            found = prepared(manager, "s", messages, format)
            if found is not None:
                check_repeatable(manager, echo, "s", messages, found, format)

        self._each(check)

    def test_prompts_continue_each_other(self) -> None:
        """Callers that adopt the result and callers that send everything alternate over the samples."""
        adopts = cycle((False, True, True, False))

        def check(manager: Manager, _: EchoSummarizer, messages: list[Raw], format: str) -> None:
            list(check_growing(manager, "s", messages, format, adopt=next(adopts)))

        self._each(check)
