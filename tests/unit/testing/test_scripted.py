"""The doubles fail when they should, and only then."""

from __future__ import annotations

import pytest

from compact.errors import SummarizerError
from compact.model.event import Event, EventName
from compact.model.message import MessageKind, Role, make
from compact.model.summary import Summary, SummaryRequest
from compact.ports import Exporter, Summarizer
from compact.testing import CollectingExporter, EchoSummarizer, FakeClock, ScriptedSummarizer


def request(text: str = "Hello.", max_tokens: int = 500, previous: str | None = None) -> SummaryRequest:
    message = make(MessageKind.ORIGINAL, Role.USER, text)
    return SummaryRequest((message,), "Summarize.", max_tokens, "task_state", previous)


def event(name: EventName, sequence: int, session: str = "s") -> Event:
    return Event(name, session, sequence, 0.0, {})


def test_answers_come_in_order() -> None:
    summary = Summary("second")
    script = ScriptedSummarizer(["first", summary, SummarizerError("down"), lambda asked: asked.strategy])
    assert script.summarize(request()) == "first"
    assert script.summarize(request()) is summary
    with pytest.raises(SummarizerError, match="down"):
        script.summarize(request())
    assert script.summarize(request("Last.")) == "task_state"
    assert script.requests[3].messages[0].text == "Last."
    script.assert_exhausted()


def test_an_unexpected_call_fails() -> None:
    script = ScriptedSummarizer(["one"])
    script.summarize(request())
    with pytest.raises(AssertionError, match="call 2 was not expected"):
        script.summarize(request())


def test_an_unused_answer_fails_on_leaving() -> None:
    with (
        pytest.raises(AssertionError, match="1 of 2 scripted summaries"),
        ScriptedSummarizer(["a", "b"]) as script,
    ):
        script.summarize(request())


def test_leftovers_do_not_hide_a_failure() -> None:
    with pytest.raises(KeyError), ScriptedSummarizer(["a"]):
        raise KeyError("the news")


def test_echo_is_a_function_of_the_request() -> None:
    echo = EchoSummarizer()
    same = [echo.summarize(request()) for _ in range(2)]
    others = [echo.summarize(request("Bye.")), echo.summarize(request(previous="Earlier."))]
    assert same[0] == same[1]
    assert len({same[0], *others}) == 3
    assert echo.calls == 4


@pytest.mark.parametrize(("max_tokens", "length"), [(50, 200), (300, 300), (4_000, 400)])
def test_echo_keeps_its_size(max_tokens: int, length: int) -> None:
    assert len(EchoSummarizer().summarize(request(max_tokens=max_tokens))) == length


def test_doubles_fit_the_ports() -> None:
    assert isinstance(ScriptedSummarizer(), Summarizer)
    assert isinstance(EchoSummarizer(), Summarizer)
    exporter: Exporter = CollectingExporter()
    exporter.export(event(EventName.START, 1))


S, C, F, E = EventName.START, EventName.COMPLETE, EventName.FAILED, EventName.ERROR


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([S, E, C, S, F], None),
        ([], None),
        ([S], "no end for compaction-start number 0"),
        ([S, S, C], "before the end of"),
        ([C], "compaction-complete number 0 of session 's' without a start"),
        ([S, C, F], "without a start"),
    ],
)
def test_balance(names: list[EventName], problem: str | None) -> None:
    exporter = CollectingExporter()
    for sequence, name in enumerate(names):
        exporter.export(event(name, sequence))
    if problem is None:
        exporter.assert_balanced()
    else:
        with pytest.raises(AssertionError, match=problem):
            exporter.assert_balanced()


def test_sessions_are_apart() -> None:
    exporter = CollectingExporter()
    for name, session in [(S, "a"), (S, "b"), (C, "a"), (F, "b")]:
        exporter.export(event(name, 1, session))
    exporter.assert_balanced()
    assert [found.session_id for found in exporter.named(S)] == ["a", "b"]
    assert exporter.names == [S, S, C, F]


def test_order() -> None:
    exporter = CollectingExporter()
    for sequence in (0, 1, 5):
        exporter.export(event(E, sequence))
    exporter.assert_ordered()
    exporter.export(event(E, 5))
    with pytest.raises(AssertionError, match="after number 5"):
        exporter.assert_ordered()


def test_clock() -> None:
    clock = FakeClock(100.0, tick=1.0)
    assert (clock(), clock()) == (100.0, 101.0)
    clock.advance(10)
    assert clock() == 112.0
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)
