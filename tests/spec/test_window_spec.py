"""S1: the `window` preset keeps the first 2 and last 10 turns; a marker stands for the ones between."""

from __future__ import annotations

import pytest

import compact.wiring
from compact.counters.chars4 import CharsCounter
from compact.model.event import EventName
from compact.testing.scripted import ScriptedSummarizer
from support.raw import (
    PRIMING,
    ROLE,
    assistant,
    is_sound,
    pairs,
    protected,
    step,
    system,
    texts,
    user,
)
from support.raw import (
    ShippedDesk as Desk,
)


def marker(count: int, desk: Desk) -> dict[str, str]:
    told = f"[{count} earlier turns were trimmed to fit the context window.]"
    return {"role": "user", "content": f"{told} (recall {desk.manager.records('s')[-1].handle})"}


@pytest.mark.spec("S1.2")
def test_the_next_prompt_holds_all_turns_in_order_with_their_roles() -> None:
    desk = Desk("window", window=8_000)
    history = [system()]
    for number in range(1, 11):
        history.append(user(f"question {number}"))
        out = desk.preflight(history)
        assert [(m["role"], m["content"]) for m in out] == [(m["role"], m["content"]) for m in history]
        assert (
            texts(out)[1:]
            == [f"{word} {n}" for n in range(1, number + 1) for word in ("question", "answer")][
                : 2 * number - 1
            ]
        )
        history.append(assistant(f"answer {number}"))


class Tally(CharsCounter):
    """Counts as chars4 does and remembers every text it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return super().count(text)


@pytest.mark.spec("S1.5", part="engine")
def test_the_total_is_kept_incrementally_and_no_turn_is_counted_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tally = Tally()
    monkeypatch.setattr(compact.wiring, "counter_for", lambda *args, **more: tally)
    desk = Desk("window", window=100_000)
    history = [system()]
    expected = PRIMING + ROLE + 20
    for number in range(1, 41):
        history += [user(f"question {number}", 30), assistant(f"answer {number}", 70)]
        expected += ROLE + 30 + ROLE + 70
        desk.preflight(history)
        assert desk.manager.usage("s", history).tokens == expected
        newest = [message["content"] for message in history[-2:]]
        assert all(tally.asked.count(text) == 1 for text in newest)
    every = [message["content"] for message in history]
    assert sorted(text for text in tally.asked if text in every) == sorted(every)


@pytest.mark.spec("S1.5", part="engine")
def test_the_running_total_is_what_a_fresh_count_says_also_after_a_trim() -> None:
    desk = Desk("window", window=2_000)
    history = pairs(20)
    out = desk.preflight(history)
    assert desk.manager.usage("s", history).tokens == Desk("window", window=2_000).tokens(out)
    more = [*history, user("one more")]
    assert desk.manager.usage("s", more).tokens == desk.manager.usage("s", history).tokens + 50


@pytest.mark.spec("S1.6", part="engine")
def test_at_80_percent_the_trim_happens_by_itself_with_a_warning_before_the_turn_goes_out() -> None:
    summarizer = ScriptedSummarizer()
    desk = Desk("window", window=2_000, summarizer=summarizer)
    history = [*pairs(15), user("the newest", 1_600 - PRIMING - 30 * 50 - ROLE)]
    assert desk.tokens(history) == 1_600
    prepared = desk.prepare(history)
    assert prepared.was_compacted and prepared.tokens.final < 1_600
    assert len(prepared.messages) == 13
    warning = "Context trimmed. Kept first 2 and last 10 turns."
    assert desk.warnings == [warning] and prepared.debug.warnings == (warning,)
    assert summarizer.requests == []
    # One token less and nothing happens.
    calm = Desk("window", window=2_000)
    history[-1] = user("the newest", 1_599 - PRIMING - 30 * 50 - ROLE)
    assert calm.preflight(history) == history
    assert calm.warnings == []


@pytest.mark.spec("S1.7")
def test_of_20_turns_the_third_to_the_tenth_go_and_one_marker_says_so() -> None:
    desk = Desk("window", window=1_200)
    history = pairs(10)
    out = desk.preflight(history)
    assert out == [*history[:2], marker(8, desk), *history[10:]]
    assert all(any(sent is given for sent in out) for given in [*history[:2], *history[10:]])
    # The turns that went can still be recalled.
    assert desk.manager.recall("s", "question 3")[0].text == history[4]["content"]


@pytest.mark.spec("S1.7")
def test_one_marker_counts_all_that_went_so_far() -> None:
    desk = Desk("window", window=1_200)
    history = pairs(10)
    desk.preflight(history)
    history += pairs(4, first=11)
    out = desk.preflight(history)
    assert out == [*history[:2], marker(16, desk), *history[18:]]
    # ... also for a caller who goes on with the list that came back.
    adopting = Desk("window", window=1_200)
    adopted = adopting.preflight(pairs(10)) + pairs(4, first=11)
    assert adopting.preflight(adopted) == out


@pytest.mark.spec("S1.7")
def test_tool_messages_belong_to_their_assistant_turn() -> None:
    desk = Desk("window", window=2_000)
    turns = []
    for number in range(1, 12):
        turns += [[user(f"task {number}", 20)], step(number, output=80, calls=2)]
    history = [message for turn in turns for message in turn]
    out = desk.preflight(history)
    kept = [message for turn in [*turns[:2], *turns[-10:]] for message in turn]
    assert [m for m in out if m != marker(10, desk)] == kept
    assert out.count(marker(10, desk)) == 1 and is_sound(out)


@pytest.mark.spec("S1.7")
def test_max_tokens_is_the_configured_window() -> None:
    history = pairs(15)
    for window, trimmed in ((2_000, False), (1_800, True)):
        desk = Desk("window", window=window)
        assert (len(desk.preflight(history)) < len(history)) is trimmed
        assert desk.events(EventName.TOKEN_ESTIMATE)[0].data["max_tokens"] == window


@pytest.mark.spec("S1.8")
def test_first_second_newest_and_system_turns_always_stay() -> None:
    desk = Desk("window", window=1_200)
    note = {"role": "system", "content": "Session metadata: ticket 4411, locale de_AT."}
    history = [system(), *pairs(4), note, *pairs(5, first=5)]
    seen = []
    for number in range(10, 40):
        history.append(user(f"question {number}"))
        out = desk.preflight(history)
        seen.append(len(out))
        assert out[0] is history[0] and out[1] is history[1] and out[2] is history[2]
        assert note in out and out[-1] is history[-1]
        history.append(assistant(f"answer {number}"))
    assert min(seen) < 20  # it did trim


@pytest.mark.spec("S1.8")
def test_also_when_the_ten_are_lowered_to_one() -> None:
    # 23 turns of 50, a first turn of 300 and a newest of 500 in a window of 1,200: not even two recent fit.
    desk = Desk("window", window=1_200)
    history = [user("the first", 300), assistant("the second"), *pairs(10), user("the newest", 500)]
    out = desk.preflight(history)
    assert texts(out)[:2] == ["the first", "the second"] and texts(out)[-1] == "the newest"
    assert desk.tokens(out) < 960


@pytest.mark.spec("S1.8")
def test_a_protected_turn_between_stays_too() -> None:
    desk = Desk("window", window=1_200)
    history = pairs(10)
    history[5] = protected(history[5])
    out = desk.preflight(history)
    assert out == [*history[:2], history[5], marker(7, desk), *history[10:]]
