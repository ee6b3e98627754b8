"""Input too long for the summarizer: cut at legal points, summarized in pieces, merged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compact.calling import run_sync
from compact.core.boundaries import groups
from compact.core.render import cut_middle, is_empty_failure, render_transcript, request_positions
from compact.core.summary_checks.check import check_summary
from compact.errors import ConfigError, SummarizerError
from compact.model.message import (
    CompactionMarker,
    Message,
    MessageKind,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    arguments_text,
    make,
    with_parts,
)
from compact.model.summary import Summary, SummaryRequest
from compact.ports import Summarizer, TokenCounter
from compact.summarizers._http import InputTooLong
from compact.summarizers._running import summarize_async
from compact.summarizers.templates import input_for, instructions_for

_MOST_ROUNDS = 8
_AT_ONCE = 2
"""Pieces that are summarized at the same time."""
_SMALLEST_LIMIT = 256
_SHORTEST_TEXT = 40
_SLACK = 64
"""Tokens for roles, frames and what a provider adds around the two texts."""


@dataclass(frozen=True, slots=True)
class _Piece:
    messages: tuple[Message, ...]
    positions: tuple[int, ...]


@dataclass(slots=True)
class _Progress:
    report: Callable[[int, int], None] | None
    done: int = 0
    total: int = 1
    """The merge; each round adds its pieces."""

    def step(self) -> None:
        self.done += 1
        if self.report is not None and self.total > 1:
            self.report(self.done, self.total)


class Chunked:
    """Passes `inner` at most `input_limit` tokens at a time, instructions included.

    Pieces end at legal cut points, so a tool call stays with its results. Nothing is left out, least of all
    the newest messages: a group that is too large on its own is shortened in its middle. If `inner` still
    finds a piece too long, the limit is halved and the work starts over. The request's `on_progress` counts
    pieces and the merge.
    """

    renders_prompt = True

    def __init__(self, inner: Summarizer, counter: TokenCounter, input_limit: int) -> None:
        if input_limit < _SMALLEST_LIMIT:
            model = getattr(inner, "model", inner)
            raise ConfigError(
                f"The window of the summarizer's model {model} leaves {input_limit:,} tokens for its input; "
                f"at least {_SMALLEST_LIMIT} are needed. Set the window under models, or lower "
                "policy.summary_max_tokens.",
                "models",
            )
        self.inner = inner
        self._counter = counter
        self._limit = input_limit

    def __repr__(self) -> str:
        return f"Chunked({self.inner!r}, input_limit={self._limit})"

    def summarize(self, request: SummaryRequest) -> Summary:
        return run_sync(lambda: self.asummarize(request))

    async def asummarize(self, request: SummaryRequest) -> Summary:
        on_prefix = getattr(self.inner, "on_prefix", None)
        if on_prefix is not None and request.prefix_messages:
            # It was sent before and fits, however small the pieces of a cold request have to be.
            summary: Summary | None = await on_prefix(request)
            if summary is not None:
                return summary
        request, limit = request.without_prefix(), self._limit
        while True:
            try:
                return await self._reduce(request, limit)
            except InputTooLong:
                limit //= 2
                if limit < _SMALLEST_LIMIT:
                    raise

    async def _reduce(self, request: SummaryRequest, limit: int) -> Summary:
        progress = _Progress(request.on_progress)
        for _ in range(_MOST_ROUNDS):
            if self._size(request) <= limit:
                summary = await summarize_async(self.inner, request)
                progress.step()
                return summary
            request = await self._round(request, limit, progress)
        raise SummarizerError(
            f"The history still does not fit the summarizer's {limit:,} tokens after {_MOST_ROUNDS} rounds. "
            "It gave no summary; use one with a larger window."
        )

    async def _round(self, request: SummaryRequest, limit: int, progress: _Progress) -> SummaryRequest:
        """The same request, over the summaries of its pieces."""
        # The earlier summary waits for the merge: once is enough.
        alone = replace(request, previous_summary=None)
        room = limit - _SLACK - self._count(instructions_for(alone))
        if room < _SMALLEST_LIMIT // 4:
            raise SummarizerError(
                f"The instructions of strategy {request.strategy} nearly fill its {limit:,} tokens. "
                "No summary was made; use a summarizer with a larger window."
            )
        request = self._with_previous_as_message(request, room)
        pieces = self._split(request, room)
        # Four partial summaries must fit one request, or the rounds would never end.
        alone = replace(alone, max_tokens=max(1, min(request.max_tokens, room // 4)))
        texts = await self._summarize_all(alone, pieces, progress)
        partials = [
            make(MessageKind.SUMMARY, Role.ASSISTANT, _labelled(piece, text, number, len(pieces)))
            for number, (piece, text) in enumerate(zip(pieces, texts, strict=True), start=1)
        ]
        return replace(
            request,
            messages=partials,
            positions=[piece.positions[-1] for piece in pieces],
        )

    def _with_previous_as_message(self, request: SummaryRequest, room: int) -> SummaryRequest:
        """An earlier summary too long to leave room for much else is summarized like the rest."""
        previous = request.previous_summary
        if not previous or self._count(previous) <= room // 2:
            return request
        positions = request_positions(request)
        return replace(
            request,
            messages=[make(MessageKind.SUMMARY, Role.ASSISTANT, previous), *request.messages],
            positions=[*positions[:1], *positions],
            previous_summary=None,
        )

    async def _summarize_all(
        self, request: SummaryRequest, pieces: Sequence[_Piece], progress: _Progress
    ) -> list[str]:
        progress.total += len(pieces)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(piece: _Piece) -> str:
            part = replace(request, messages=piece.messages, positions=piece.positions)
            async with gate:
                summary = await summarize_async(self.inner, part)
            progress.step()
            # A refusal in the middle must not be merged as if it were content.
            return check_summary(summary.text, part, self._count, instructions=instructions_for(part))

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(one(piece)) for piece in pieces]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [task.result() for task in running]

    def _split(self, request: SummaryRequest, room: int) -> list[_Piece]:
        positions = request_positions(request)
        pieces: list[_Piece] = []
        filled = 0
        for group in groups(request.messages):
            messages = tuple(request.messages[group.start : group.stop])
            numbers = tuple(positions[group.start : group.stop])
            if all(map(is_empty_failure, messages)):
                continue
            messages, size = self._fit(messages, numbers, room)
            if pieces and filled + size <= room:
                last = pieces[-1]
                pieces[-1] = _Piece(last.messages + messages, last.positions + numbers)
                filled += size
            else:
                pieces.append(_Piece(messages, numbers))
                filled = size
        return pieces

    def _fit(
        self, messages: tuple[Message, ...], numbers: tuple[int, ...], room: int
    ) -> tuple[tuple[Message, ...], int]:
        """The messages, with their long texts cut in the middle until the group fits."""
        size = self._count(render_transcript(messages, numbers))
        longest = max((len(_text(part)) for message in messages for part in message.parts), default=0)
        while size > room and longest > _SHORTEST_TEXT:
            longest //= 2
            messages = tuple(_shortened(message, longest) for message in messages)
            size = self._count(render_transcript(messages, numbers))
        return messages, size

    def _size(self, request: SummaryRequest) -> int:
        return _SLACK + self._count(instructions_for(request)) + self._count(input_for(request))

    def _count(self, text: str) -> int:
        return self._counter.count(text)


def _labelled(piece: _Piece, text: str, number: int, total: int) -> str:
    return f"(Part {number} of {total}, m{piece.positions[0]} to m{piece.positions[-1]})\n{text}"


def _text(part: Part) -> str:
    match part:
        case Text(text=text) | ToolResult(text=text) | Opaque(text=text) | CompactionMarker(summary=text):
            return text
        case ToolCall(arguments=arguments):
            return arguments_text(arguments)
        case _:
            return ""


def _shortened(message: Message, limit: int) -> Message:
    """A copy for the summarizer only; the history keeps its bytes."""
    return with_parts(message, tuple(_shortened_part(part, limit) for part in message.parts))


def _shortened_part(part: Part, limit: int) -> Part:
    if len(_text(part)) <= limit:
        return part
    short = cut_middle(_text(part), limit)
    match part:
        case Text() | ToolResult() | Opaque():
            return replace(part, text=short)
        case CompactionMarker():
            return replace(part, summary=short)
        case ToolCall():
            return replace(part, arguments=short)
        case _:
            return part
