"""S0: the `chat` preset keeps the last 6 messages and summarizes the rest at 80 % of the window."""

from __future__ import annotations

import pytest

from compact.model.event import EventName
from compact.testing.scripted import ScriptedSummarizer
from support.raw import (
    LONG_ENOUGH,
    PRIMING,
    assistant,
    is_sound,
    pairs,
    step,
    summaries,
    system,
    user,
)
from support.raw import (
    ShippedDesk as Desk,
)

COMPACT_EVENTS = (EventName.START, EventName.COMPLETE, EventName.PRUNED_MESSAGES, EventName.SUMMARY_CREATED)


@pytest.mark.spec("S0.1")
def test_below_80_percent_every_message_goes_out_as_it_is() -> None:
    desk = Desk("chat", window=2_000, summarizer=ScriptedSummarizer())
    # 3 + 1,596 = 1,599 tokens: one short of 80 % of 2,000.
    history = [*pairs(15, tokens=46), user("the newest", 1_599 - PRIMING - 30 * 50 - 4)]
    assert desk.tokens(history) == 1_599
    out = desk.preflight(history)
    assert out == history
    assert all(sent is given for sent, given in zip(out, history, strict=True))
    assert not [event for event in desk.exporter.events if event.name in COMPACT_EVENTS]
    assert desk.decisions == [(False, "below-trigger")]


@pytest.mark.spec("S0.1")
def test_a_share_of_the_window_that_is_no_whole_number_is_not_reached_early() -> None:
    # 80 % of 2,001 is 1,600.8: 1,600 tokens are below it, 1,601 are not.
    for total, triggered in ((1_600, False), (1_601, True)):
        desk = Desk("chat", window=2_001)
        history = [*pairs(15), user("the newest", total - PRIMING - 30 * 50 - 4)]
        assert desk.tokens(history) == total
        desk.preflight(history)
        assert [told for told, _ in desk.decisions] == [triggered]


@pytest.mark.spec("S0.2", part="engine")
def test_at_80_percent_the_model_gets_summary_and_recent_messages() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("chat", window=2_000, summarizer=summarizer)
    history = [system(), *pairs(15), user("the newest", 1_600 - PRIMING - 24 - 30 * 50 - 4)]
    assert desk.tokens(history) == 1_600
    out = desk.preflight(history)
    assert out[0] is history[0]
    assert all(sent is given for sent, given in zip(out[-6:], history[-6:], strict=True))
    assert len(summaries(out)) == 1 and LONG_ENOUGH in summaries(out)[0]["content"]
    # The cut falls inside a turn, so the question that the oldest kept answer replies to stays as well.
    kept = [message for message in history if any(message is sent for sent in out)]
    assert kept == [history[0], history[-7], *history[-6:]]
    (request,) = summarizer.requests
    assert [message.origin.source for message in request.messages if message.origin] == history[1:-7]
    assert is_sound(out) and is_sound(out, "anthropic")


@pytest.mark.spec("S0.2", part="engine")
def test_a_compact_event_goes_onto_the_stream() -> None:
    desk = Desk("chat", window=2_000)
    desk.preflight([*pairs(16), user("the newest")])
    (start,), (end,) = desk.events(EventName.START), desk.events(EventName.COMPLETE)
    assert start.data["tokensBefore"] == PRIMING + 33 * 50 and start.data["modelLimit"] == 2_000
    assert end.data["wasSummarized"] and end.data["tokensAfter"] < 1_600
    assert start.sequence < end.sequence
    desk.exporter.assert_balanced()


@pytest.mark.spec("S0.2", part="engine")
def test_six_messages_snap_outward_so_that_no_tool_pair_is_split() -> None:
    desk = Desk("chat", window=2_000)
    # The sixth message from the end is the second result of a step with three calls.
    tail = [
        *step(9, output=60, calls=3),
        assistant("done"),
        user("more"),
        assistant("more done"),
        user("go on"),
    ]
    out = desk.preflight([*pairs(14), user("the task"), *tail])
    assert out[-8:] == tail
    assert is_sound(out)


@pytest.mark.spec("S0.7")
def test_follow_ups_carry_the_earlier_messages_or_their_summary() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("chat", window=2_000, summarizer=summarizer)
    history = []
    for number in range(1, 25):
        history.append(user(f"question {number}"))
        out = desk.preflight(history)
        replaced = {id(m.origin.source) for r in summarizer.requests for m in r.messages if m.origin}
        sent = {id(message) for message in out}
        # Every message so far is either sent or was handed to the summarizer whose text is sent.
        assert all(id(message) in sent or id(message) in replaced for message in history)
        assert len(summaries(out)) == len(summarizer.requests)
        history.append(assistant(f"answer {number}"))
    summarizer.assert_exhausted()
