"""S4.18: what happens when no summary can be had. Every rung is an event, and the prompt still fits."""

from __future__ import annotations

import threading

import pytest

from compact.errors import SummarizerError, SummaryRefused
from compact.model.event import EventName
from compact.model.summary import Summary, SummaryRequest
from compact.policies import PRESETS
from compact.testing.scripted import Answer, EchoSummarizer, ScriptedSummarizer
from support.raw import LONG_ENOUGH, Desk, Raw, assistant, is_sound, pairs, summaries, user

TOO_LONG = "The importer moves rows between two tables. " * 400
SUMMARIZING = [name for name in PRESETS if name != "window"]
HISTORY = [*pairs(25), user("the newest")]
"""2,553 tokens: over the budget of a window of 2,000, so that no preset may simply wait."""


def refusal() -> SummaryRefused:
    return SummaryRefused("refusal", "The model declined to summarize. The session is unchanged.")


def ladder(answers: list[Answer], preset: str = "budget") -> tuple[Desk, list[Raw]]:
    desk = Desk(preset, window=2_000, summarizer=ScriptedSummarizer(answers))
    out = desk.preflight(HISTORY)
    desk.summarizer.assert_exhausted()
    desk.exporter.assert_balanced()
    return desk, out


def rungs(desk: Desk) -> list[tuple[str, str]]:
    events = desk.events(EventName.ERROR)
    for event in events:
        assert event.data["status"] == "error" and event.data["message"]
    return [(event.data["error_type"], event.data["fallback"]) for event in events]


@pytest.mark.spec("S4.18")
@pytest.mark.parametrize("preset", SUMMARIZING)
@pytest.mark.parametrize(
    ("down", "error_type"),
    [
        (SummarizerError("connection refused"), "SummarizerError"),
        (TimeoutError("no answer in 30 s"), "SummarizerError|TimeoutError"),
    ],
)
def test_a_summarizer_that_is_down_means_pruning_only(preset: str, down: Exception, error_type: str) -> None:
    desk, out = ladder([down], preset)
    ((told, fallback),) = rungs(desk)
    assert told in error_type.split("|") and fallback == "pruning-only"
    assert summaries(out) == [] and desk.tokens(out) <= 1_900
    assert out[-1] is HISTORY[-1] and is_sound(out)


@pytest.mark.spec("S4.18")
def test_whoever_gets_no_summary_is_told() -> None:
    desk = Desk(
        "budget", window=2_000, summarizer=ScriptedSummarizer([SummarizerError("connection refused")])
    )
    prepared = desk.manager.prepare("s", HISTORY)
    gone = prepared.debug.messages_compacted
    told = f"No summary could be made (connection refused). {gone} messages left the prompt without one."
    assert gone > 1 and prepared.debug.warnings == (told,)
    (warning,) = desk.events(EventName.WARNING)
    assert warning.data == {"severity": "high", "message": told}


class Down(EchoSummarizer):
    def summarize(self, request: SummaryRequest) -> Summary:
        super().summarize(request)
        raise SummarizerError("connection refused")


@pytest.mark.spec("S4.18")
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_what_pruning_only_dropped_stays_recallable_for_whoever_goes_on_with_the_result(preset: str) -> None:
    desk = Desk(preset, window=2_000, summarizer=Down())
    out = desk.preflight(HISTORY)
    marks = [message for message in out if "left out to fit the context window" in str(message["content"])]
    assert len(marks) == 1 and "recall s-" in marks[0]["content"]
    calls = desk.summarizer.calls
    assert desk.preflight(out) == out == desk.preflight(HISTORY)
    assert desk.summarizer.calls == calls
    gone = HISTORY[2]
    assert gone not in out
    desk.preflight([*out, assistant("done"), user("next")])
    assert desk.manager.recall("s", gone["content"].split(" ", 3)[2])
    assert len(desk.manager.restore("s", 1)) >= len(HISTORY)


@pytest.mark.spec("S4.18")
def test_even_without_room_for_a_marker_whoever_goes_on_with_the_result_loses_nothing() -> None:
    desk = Desk("budget", window=2_000, summarizer=Down())
    rule = {**user("never"), "meta": {"protected": True}}
    newest = {"role": "user", "content": ""}
    newest["content"] = "long" * (desk.manager.usage("s", []).budget - desk.tokens([rule, newest]))
    history = [rule, *pairs(8), newest]
    out = desk.preflight(history)
    assert out == [rule, history[-1]]
    later = [assistant("done"), user("next")]
    desk.preflight([*out, *later])
    assert desk.manager.recall("s", history[3]["content"])
    assert desk.manager.restore("s", 1) == [*history, *later]


@pytest.mark.spec("S4.18")
def test_a_summary_that_is_too_long_is_asked_for_at_half_the_length_twice() -> None:
    desk, out = ladder([TOO_LONG, TOO_LONG, LONG_ENOUGH])
    assert rungs(desk) == [("too-long", "halve"), ("too-long", "halve")]
    asked = [request.max_tokens for request in desk.summarizer.requests]
    assert asked[1] == asked[0] // 2 and asked[2] == asked[1] // 2
    assert LONG_ENOUGH in summaries(out)[0]["content"]


@pytest.mark.spec("S4.18")
def test_then_pruning_only() -> None:
    desk, out = ladder([TOO_LONG, TOO_LONG, TOO_LONG])
    assert rungs(desk) == [("too-long", "halve"), ("too-long", "halve"), ("too-long", "pruning-only")]
    assert summaries(out) == [] and desk.tokens(out) <= 1_900


@pytest.mark.spec("S4.18")
def test_a_refusal_means_brief_then_pruning_only() -> None:
    desk, out = ladder([refusal(), LONG_ENOUGH])
    assert rungs(desk) == [("refusal", "brief")]
    assert [request.strategy for request in desk.summarizer.requests] == ["task_state", "brief"]
    assert LONG_ENOUGH in summaries(out)[0]["content"]
    desk, out = ladder([refusal(), refusal()])
    assert rungs(desk) == [("refusal", "brief"), ("refusal", "pruning-only")]
    assert summaries(out) == [] and desk.tokens(out) <= 1_900


@pytest.mark.spec("S4.18")
def test_pruning_only_keeps_the_earlier_summary_and_what_it_drops_can_be_recalled() -> None:
    down = SummarizerError("connection refused")
    desk = Desk("budget", window=2_000, summarizer=ScriptedSummarizer([LONG_ENOUGH, down]))
    first = desk.preflight(HISTORY)
    history = [*HISTORY, assistant("ok"), *pairs(25, first=30), user("newer")]
    out = desk.preflight(history)
    assert summaries(out) == summaries(first) and "v1>" in summaries(out)[0]["content"]
    assert desk.tokens(out) <= 1_900 and is_sound(out)
    (found, *_) = desk.manager.recall("s", "question 33")
    assert found.text == next(m["content"] for m in history if m["content"].startswith("question 33"))
    # The next summary, made when the summarizer is back, follows v1.
    assert [record.version for record in desk.manager.records("s")] == [1, 1]
    desk.summarizer._answers.append(LONG_ENOUGH + " All is well again.")
    later = desk.preflight([*history, assistant("ok"), *pairs(25, first=60), user("newest")])
    (summary,) = summaries(later)
    assert "v2>" in summary["content"] and desk.summarizer.requests[-1].previous_summary == LONG_ENOUGH


@pytest.mark.spec("S4.18")
def test_the_embedded_summarizer_is_no_rung_unless_configured() -> None:
    # With a summarizer given and down there is no summary at all, not one from elsewhere.
    desk, out = ladder([SummarizerError("down")])
    assert [record.summary for record in desk.manager.records("s")] == [""]
    assert desk.events(EventName.SUMMARY_CREATED) == [] and summaries(out) == []


@pytest.mark.spec("S4.18")
async def test_the_same_ladder_for_async_callers() -> None:
    class Slow(EchoSummarizer):
        async def asummarize(self, request: object) -> str:
            raise SummarizerError("connection refused")

    desk = Desk("budget", window=2_000, summarizer=Slow())
    out = await desk.manager.apreflight("s", HISTORY)
    assert rungs(desk) == [("SummarizerError", "pruning-only")] and desk.tokens(out) <= 1_900


@pytest.mark.spec("S4.18")
def test_no_failure_is_repeated_for_the_same_history() -> None:
    desk, out = ladder([SummarizerError("down")])
    assert desk.preflight(HISTORY) == out
    assert len(desk.summarizer.requests) == 1


@pytest.mark.spec("S4.18")
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_a_summarizer_that_hangs_means_pruning_only_after_its_time(preset: str) -> None:
    released = threading.Event()

    def hanging(request: SummaryRequest) -> str:
        return LONG_ENOUGH if released.wait(30) else ""

    desk = Desk(
        preset, 2_000, hanging, composed=True, config={"summarizer": {"timeout": 0.05, "fallback": "none"}}
    )
    out = desk.preflight(HISTORY)
    released.set()
    assert rungs(desk) == [("SummarizerError", "pruning-only")]
    assert summaries(out) == [] and desk.tokens(out) <= 1_900
    desk.exporter.assert_balanced()
