from __future__ import annotations

import asyncio
import re
import threading

import pytest

from compact.core.summary_checks.citations import cited_positions
from compact.errors import ConfigError, SummarizerError, SummaryRefused
from compact.model.message import Message, Role, Text, ToolCall
from compact.model.summary import SummaryRequest
from compact.summarizers._http import InputTooLong
from compact.summarizers.chunked import Chunked
from compact.summarizers.templates import input_for, instructions_for
from support.conversations import asking, assistant, call, lighthouse, message, result, user


class Words:
    name, exact, margin = "words", False, 0.0

    def count(self, text: str) -> int:
        return len(text.split())


class Recorder:
    """Summarizes a piece as the labels it saw, and remembers what it was given."""

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self.requests: list[SummaryRequest] = []
        self._lock = threading.Lock()

    def summarize(self, request: SummaryRequest) -> str:
        size = Words().count(instructions_for(request)) + Words().count(input_for(request))
        if self.window is not None and size > self.window:
            raise InputTooLong(f"{size} words")
        with self._lock:
            self.requests.append(request)
        text = input_for(request)
        found = sorted({int(label) for label in re.findall(r"\[m(\d+)[\]]", text)} | cited_positions(text))
        return f"Seen {len(found)}: " + " ".join(f"[m{number}]" for number in found[-12:])


def steps(count: int, words: int = 30) -> list[Message]:
    """One task and many tool steps, each a call, its result and a remark."""
    messages = [user("Repair the lamp. " + "task " * words)]
    for number in range(count):
        messages += [
            call(f"c{number}", "run", {"cmd": f"check {number}"}, "look " * words),
            result(f"c{number}", f"step {number} " + "ok " * 20),
        ]
    return [*messages, assistant("NEWEST: relay 3 is dead.")]


def request_for(messages: list[Message], **fields: object) -> SummaryRequest:
    settings: dict = {"max_tokens": 60, "first_position": 100} | fields
    return asking(*messages, **settings)


def limit_for(request: SummaryRequest, room: int) -> int:
    return Words().count(instructions_for(request)) + 64 + room


def test_what_fits_is_one_request() -> None:
    inner, progress = Recorder(), []
    request = asking(*lighthouse(), on_progress=lambda *step: progress.append(step))
    Chunked(inner, Words(), 5_000).summarize(request)
    assert inner.requests == [request]
    assert progress == []


def test_pieces_fit_and_together_hold_everything_in_order() -> None:
    request = request_for(steps(40))
    limit = limit_for(request, 400)
    inner = Recorder(window=limit)
    Chunked(inner, Words(), limit).summarize(request)

    pieces = [given for given in inner.requests if not given.messages[0].is_ours]
    pieces.sort(key=lambda piece: piece.positions[0])
    assert len(pieces) > 3
    assert [m for piece in pieces for m in piece.messages] == list(request.messages)
    assert [p for piece in pieces for p in piece.positions] == list(range(100, 100 + len(request.messages)))


def test_no_piece_ends_inside_a_tool_group() -> None:
    request = request_for(steps(40))
    inner = Recorder()
    Chunked(inner, Words(), limit_for(request, 300)).summarize(request)

    for piece in inner.requests:
        calls = {part.call_id for m in piece.messages for part in m.calls}
        results = {part.call_id for m in piece.messages for part in m.results}
        assert calls == results


def test_the_merge_gets_all_pieces_and_the_earlier_summary_once() -> None:
    request = request_for(steps(20), previous_summary="EARLIER: the lamp is old [m3].", focus="relay")
    inner = Recorder()
    summary = Chunked(inner, Words(), limit_for(request, 500)).summarize(request)

    *pieces, merge = inner.requests
    assert [piece.previous_summary for piece in pieces] == [None] * len(pieces)
    assert merge.previous_summary == request.previous_summary
    assert (merge.strategy, merge.max_tokens, merge.focus) == (request.strategy, request.max_tokens, "relay")
    assert len(merge.messages) == len(pieces)
    assert f"(Part 1 of {len(pieces)}, m100 to m" in merge.messages[0].text
    assert "[m141]" in summary.text, "the newest message is in the merged summary"


def test_many_pieces_take_several_rounds() -> None:
    progress: list[tuple[int, int]] = []
    request = request_for(steps(150), on_progress=lambda *step: progress.append(step))
    limit = limit_for(request, 300)
    inner = Recorder(window=limit)
    summary = Chunked(inner, Words(), limit).summarize(request)

    assert "[m401]" in summary.text
    dones, totals = zip(*progress, strict=True)
    assert list(dones) == list(range(1, len(progress) + 1))
    assert dones[-1] == totals[-1] == len(inner.requests)
    assert list(totals) == sorted(totals)


def test_one_message_that_is_too_long_alone_keeps_its_ends() -> None:
    request = request_for([user("FIRST " + "word " * 3_000 + "LAST")])
    limit = limit_for(request, 200)
    inner = Recorder(window=limit)
    Chunked(inner, Words(), limit).summarize(request)

    [shown] = inner.requests[0].messages
    assert shown.text.startswith("FIRST") and shown.text.endswith("LAST")
    assert "characters cut" in shown.text
    assert len(request.messages[0].text) > 10_000, "the caller's message is left alone"


def test_a_parallel_group_that_is_too_long_is_shortened_not_split() -> None:
    calls = [ToolCall(f"c{n}", "write", {"text": "word " * 400}) for n in range(4)]
    group = [message(Role.ASSISTANT, Text("go"), *calls)] + [result(f"c{n}", "done " * 90) for n in range(4)]
    request = request_for([user("Write."), *group])
    limit = limit_for(request, 250)
    inner = Recorder(window=limit)
    Chunked(inner, Words(), limit).summarize(request)
    holding = [piece for piece in inner.requests if any(m.calls for m in piece.messages)]
    assert [len(piece.messages[-5:]) for piece in holding] == [5]


def test_an_earlier_summary_that_fills_the_window_is_summarized_as_well() -> None:
    request = request_for(steps(5), previous_summary="old [m3] " * 400)
    limit = limit_for(request, 300)
    inner = Recorder(window=limit)
    assert Chunked(inner, Words(), limit).summarize(request).text
    assert inner.requests[-1].previous_summary is None


def test_a_window_smaller_than_thought_is_found_out() -> None:
    request = request_for(steps(30))
    real = limit_for(request, 300)
    inner = Recorder(window=real)
    assert "[m161]" in Chunked(inner, Words(), real * 4).summarize(request).text


def test_a_window_too_small_for_anything_is_an_error() -> None:
    with pytest.raises(SummarizerError, match="larger window"):
        Chunked(Recorder(window=10), Words(), 2_000).summarize(asking(*lighthouse()))


def test_instructions_that_leave_no_room_are_an_error() -> None:
    with pytest.raises(SummarizerError, match="larger window"):
        Chunked(Recorder(), Words(), 300).summarize(request_for(steps(30)))


def test_a_refused_piece_is_not_merged() -> None:
    class Refusing(Recorder):
        def summarize(self, request: SummaryRequest) -> str:
            text = super().summarize(request)
            return "I'm sorry, but I can't help with that." if "[m120]" in text else text

    request = request_for(steps(30))
    with pytest.raises(SummaryRefused) as caught:
        Chunked(Refusing(), Words(), limit_for(request, 300)).summarize(request)
    assert caught.value.reason == "refusal"


async def test_two_pieces_are_summarized_at_once() -> None:
    class Slow:
        running = most = 0

        def summarize(self, request: SummaryRequest) -> str:
            raise AssertionError("asummarize is there")

        async def asummarize(self, request: SummaryRequest) -> str:
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self.running -= 1
            return "Relay 3 is dead."

    inner, request = Slow(), request_for(steps(40))
    await Chunked(inner, Words(), limit_for(request, 300)).asummarize(request)
    assert inner.most == 2


def test_a_window_that_leaves_no_room_for_input_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"leaves 10 tokens.*policy\.summary_max_tokens"):
        Chunked(Recorder(), Words(), 10)
