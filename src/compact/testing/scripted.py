"""Doubles that follow a script and fail on everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from types import TracebackType
from typing import Self

from compact.model.event import Event, EventName
from compact.model.summary import Summary, SummaryRequest

Answer = str | Summary | BaseException | Callable[[SummaryRequest], str | Summary]

STARTS = EventName.START
ENDS = frozenset({EventName.COMPLETE, EventName.FAILED})


class ScriptedSummarizer:
    """Gives its answers in order: returns a text or Summary, raises an exception, calls a callable.

    One call too many fails immediately. Unused answers fail in `assert_exhausted`, which also runs when the
    context manager exits.
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self._answers = list(answers)
        self.requests: list[SummaryRequest] = []

    def summarize(self, request: SummaryRequest) -> Summary | str:
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._answers):
            raise AssertionError(
                f"summarizer call {number + 1} was not expected ({len(self._answers)} scripted): "
                f"strategy {request.strategy!r}, {len(request.messages)} messages, "
                f"max_tokens {request.max_tokens}"
            )
        answer = self._answers[number]
        if isinstance(answer, BaseException):
            raise answer
        return answer(request) if callable(answer) else answer

    @property
    def remaining(self) -> int:
        return max(0, len(self._answers) - len(self.requests))

    def assert_exhausted(self) -> None:
        if self.remaining:
            raise AssertionError(
                f"{self.remaining} of {len(self._answers)} scripted summaries were not asked for"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A failure inside the block is the cause; unused answers are only its consequence.
        if error is None:
            self.assert_exhausted()


class EchoSummarizer:
    """The same text for the same request, a different one for a different request; counts its calls.

    The text has at least 200 characters (S3.6) and at most `max_tokens` at one token per character. If the
    two conflict, it has 200 characters.
    """

    MIN_CHARS = 200

    def __init__(self, chars: int = 400) -> None:
        self.chars = chars
        self.calls = 0
        self.requests: list[SummaryRequest] = []

    def summarize(self, request: SummaryRequest) -> str:
        self.calls += 1
        self.requests.append(request)
        size = max(self.MIN_CHARS, min(self.chars, request.max_tokens))
        mark = request_digest(request)
        text = f"Summary {mark} of {len(request.messages)} messages."
        filler = f" The work recorded under {mark} goes on as agreed."
        while len(text) < size:
            text += filler
        return text[: size - 1] + "."


def request_digest(request: SummaryRequest) -> str:
    """A short digest of what a request contains: its messages, strategy, limit and earlier summary."""
    hasher = blake2b(digest_size=6)
    for message in request.messages:
        hasher.update(message.digest)
    asked = f"\0{request.strategy}\0{request.max_tokens}\0{request.previous_summary or ''}\0{request.focus}"
    hasher.update(asked.encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()


class CollectingExporter:
    """Keeps every event, and knows whether each start has an end."""

    immediate = True

    def __init__(self) -> None:
        self.events: list[Event] = []

    def export(self, event: Event) -> None:
        self.events.append(event)

    def named(self, name: EventName | str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    @property
    def names(self) -> list[EventName]:
        return [event.name for event in self.events]

    def clear(self) -> None:
        self.events.clear()

    def assert_balanced(self) -> None:
        """Every compaction-start has exactly one end, in its session and before the next start."""
        open_starts: dict[str, Event] = {}
        for event in self.events:
            if event.name is STARTS:
                if event.session_id in open_starts:
                    raise AssertionError(
                        f"{_where(event)} before the end of {_where(open_starts[event.session_id])}"
                    )
                open_starts[event.session_id] = event
            elif event.name in ENDS and open_starts.pop(event.session_id, None) is None:
                raise AssertionError(f"{_where(event)} without a start")
        if open_starts:
            left = ", ".join(_where(event) for event in open_starts.values())
            raise AssertionError(f"no end for {left}")

    def assert_valid(self) -> None:
        """Every event matches docs/events.schema.json."""
        from compact.tracing.schema import validate

        for event in self.events:
            validate(event)

    def assert_ordered(self) -> None:
        """Sequence numbers of a session increase."""
        last: dict[str, int] = {}
        for event in self.events:
            if event.sequence <= last.get(event.session_id, event.sequence - 1):
                raise AssertionError(f"{_where(event)} after number {last[event.session_id]}")
            last[event.session_id] = event.sequence


def _where(event: Event) -> str:
    return f"{event.name} number {event.sequence} of session {event.session_id!r}"


class FakeClock:
    """A clock that stands still until it is set, or advances by `tick` at each reading."""

    def __init__(self, now: float = 1_700_000_000.0, tick: float = 0.0) -> None:
        self.now = now
        self.tick = tick

    def __call__(self) -> float:
        now = self.now
        self.now += self.tick
        return now

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("a clock does not run backwards; give a positive number of seconds")
        self.now += seconds
