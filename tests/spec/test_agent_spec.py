"""S2: the `agent` preset clears old tool outputs first, then writes a continuation summary."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from compact import CompactConfig, CompactManager
from compact.core.view import CLEARED_TEXT, cleared_text, handle
from compact.model.event import EventName
from compact.model.message import (
    CompactionMarker,
    Message,
    MessageKind,
    Reasoning,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from compact.model.record import Cleared, Injected
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore
from compact.testing.scripted import ScriptedSummarizer
from support.raw import (
    LONG_ENOUGH,
    PRIMING,
    ROLE,
    Raw,
    assistant,
    pairs,
    protected,
    results_of,
    step,
    steps,
    summaries,
    user,
    words,
)
from support.raw import (
    ShippedDesk as Desk,
)

# -- what a message is made of ---------------------------------------------------------------------------


@pytest.mark.spec("S2.1")
def test_typed_parts_and_the_fields_they_carry() -> None:
    for part in (Text, ToolCall, ToolResult, Reasoning, StepStart, CompactionMarker):
        assert "tokens" in {field.name for field in fields(part)}
    assert {field.name for field in fields(ToolResult)} >= {"cleared_at", "original_tokens"}
    assert {field.name for field in fields(CompactionMarker)} >= {
        "summary",
        "compacted_at",
        "messages_replaced",
        "tokens_replaced",
    }
    assert {field.name for field in fields(Message)} >= set(
        "id session created tokens parent model finish_reason error usage".split()
    )
    assert {field.name for field in fields(Usage)} == {"input", "output", "cache_read", "cache_write"}


@pytest.mark.spec("S2.1")
def test_a_cleared_result_carries_when_it_was_cleared_and_its_original_count() -> None:
    desk = Desk("agent", window=10_000)
    history = [user("task"), *steps(20, output=400)]
    prepared = desk.prepare(history)
    assert prepared.record is not None and prepared.record.created_at > 1_500_000_000
    entries = [entry for entry in prepared.record.entries if isinstance(entry, Cleared)]
    assert entries and all(entry.original_tokens == (400,) for entry in entries)
    view = desk.manager.plan("s", history).messages
    cleared = [result for message in view for result in message.results if result.cleared_at is not None]
    assert len(cleared) == len(entries)
    assert {(r.cleared_at, r.original_tokens) for r in cleared} == {(prepared.record.created_at, 400)}


@pytest.mark.spec("S2.2")
def test_the_defaults() -> None:
    policy = CompactConfig(preset="agent").policy
    assert policy.prune_minimum == 20_000
    assert policy.prune_protect == 40_000
    assert policy.output_reserve == 4_096
    assert policy.prune_keep_turns == 2 and policy.keep_recent_turns == 2


# -- when ------------------------------------------------------------------------------------------------


@pytest.mark.spec("S2.6", part="engine")
def test_overflow_is_checked_before_each_call() -> None:
    desk = Desk("agent", window=2_000)
    history: list[Raw] = []
    for number in range(1, 20):
        history.append(user(f"question {number}", 60))
        before = len(desk.decisions)
        out = desk.preflight(history)
        assert len(desk.decisions) == before + 1
        # What goes out was checked, new message included: it never is over 80 % plus one message.
        assert desk.tokens(out) <= 1_600 or desk.decisions[-1][1] == "no-growth"
        history.append(assistant(f"answer {number}", 60))
    assert [told for told, _ in desk.decisions].count(True) >= 1


@pytest.mark.spec("S2.6", part="engine")
def test_never_after_a_call() -> None:
    desk = Desk("agent", window=2_000, summarizer=ScriptedSummarizer())
    history = [*pairs(20), assistant("a long reply", 300)]
    assert desk.manager.overflow("s", history).is_overflow
    # The turn ends far over the limit: no summary is made, for that waits until something is to be sent.
    assert desk.manager.end_turn("s", history) == history
    assert desk.events(EventName.START) == []


@pytest.mark.spec("S2.6", part="engine")
def test_the_limit_is_80_percent_or_what_the_reply_leaves() -> None:
    def total(tokens: int) -> list[Raw]:
        return [*pairs(20), user("the newest", tokens - PRIMING - 2_000 - ROLE)]

    desk = Desk("agent", window=4_000)
    assert not desk.manager.overflow("a", total(3_200)).is_overflow
    assert desk.manager.overflow("b", total(3_201)).is_overflow
    reserved = Desk("agent", window=4_000, output_reserve=1_500)
    assert not reserved.manager.overflow("a", total(2_500)).is_overflow
    assert reserved.manager.overflow("b", total(2_501)).is_overflow


@pytest.mark.spec("S2.2")
@pytest.mark.parametrize("window", [1_000, 2_000, 4_000])
def test_the_reserve_leaves_room_in_a_small_window(window: int) -> None:
    config = CompactConfig(
        preset="agent", max_context_tokens=window, counter="chars4", archive={"adapter": "none"}
    )
    history: list[Raw] = []
    with CompactManager(config) as manager:
        for number in range(40):
            history += [user(f"task {number}", 20), *step(number, 60), assistant(f"done {number}", 20)]
            sent = manager.prepare("s", [*history, user("and now", 10)])
            assert sent.tokens.final <= 0.6 * window
        assert manager.records("s")


# -- pruning ---------------------------------------------------------------------------------------------


def run_of_turns(outputs: list[int], tail: list[Raw]) -> list[Raw]:
    """One turn a tool output, each closed by an answer; then the last turns."""
    made: list[Raw] = []
    for number, output in enumerate(outputs, start=1):
        made += [user(f"task {number}", 6), *step(number, output), assistant(f"done {number}", 6)]
    return made + tail


LAST_TWO = [user("second to last", 6), assistant("fine", 6), user("the last", 6)]


@pytest.mark.spec("S2.7")
def test_the_newest_40k_of_tool_output_stay_and_the_one_that_straddles_the_border_is_cleared() -> None:
    desk = Desk("agent", window=200_000)
    # Protect is min(40,000, 30 % of 200,000) = 40,000. From the newest: 15,000 + 15,000 = 30,000 stay, the
    # next reaches 45,000 and straddles the border.
    history = run_of_turns([15_000] * 11, LAST_TWO)
    prepared = desk.prepare(history)
    assert prepared.was_pruned and not prepared.was_compacted
    given, sent = results_of(history), results_of(prepared.messages)
    kept = [call_id for call_id in given if sent[call_id] == given[call_id]]
    assert kept == ["call_010", "call_011"]
    assert all(sent[c].startswith(CLEARED_TEXT) for c in given if c not in kept)
    # Calls stay, and everything else is the very same object.
    for was, now in zip(history, prepared.messages, strict=True):
        assert now is was or was["role"] == "tool"


@pytest.mark.spec("S2.7")
def test_an_output_that_ends_on_the_border_stays() -> None:
    desk = Desk("agent", window=200_000)
    history = run_of_turns([15_000] * 9 + [20_000, 20_000], LAST_TWO)
    sent = results_of(desk.preflight(history))
    assert [c for c in sent if not sent[c].startswith(CLEARED_TEXT)] == ["call_010", "call_011"]


@pytest.mark.spec("S2.7")
def test_a_cleared_output_says_so_with_its_recall_handle_and_that_text_is_counted() -> None:
    desk = Desk("agent", window=10_000)
    history = [user("task"), *steps(20, output=400)]
    prepared = desk.prepare(history)
    first = results_of(prepared.messages)["call_001"]
    recall = handle(ToolResult("call_001", words("output call_001", 400)))
    assert first == f"[Tool output cleared - see conversation summary] (recall {recall})"
    assert prepared.tokens.final == Desk("agent", window=10_000).tokens(prepared.messages)
    outputs = prepared.debug.outputs_cleared
    placeholder = len(cleared_text(recall)) // 4
    assert prepared.tokens.before - prepared.tokens.final == pytest.approx(
        outputs * (400 - placeholder), abs=outputs
    )
    found = desk.manager.recall("s", recall)
    assert found[0].text == words("output call_001", 400)


@pytest.mark.spec("S2.7")
def test_in_a_smaller_window_protect_is_30_percent() -> None:
    # 30 % of 10,000 are 3,000: of outputs of 400, seven (2,800) stay; the eighth straddles.
    history = run_of_turns([400] * 19, LAST_TWO)
    sent = results_of(Desk("agent", window=10_000).preflight(history))
    kept = [c for c in sent if not sent[c].startswith(CLEARED_TEXT)]
    assert kept == [f"call_{n:03d}" for n in range(13, 20)]


@pytest.mark.spec("S2.7")
def test_the_last_two_turns_are_skipped_and_do_not_count_as_protected() -> None:
    tail = [
        user("second to last", 6),
        *step(90, 600),
        assistant("ok", 6),
        user("the last", 6),
        *step(91, 600),
    ]
    history = run_of_turns([400] * 18, tail)
    sent = results_of(Desk("agent", window=10_000).preflight(history))
    kept = [c for c in sent if not sent[c].startswith(CLEARED_TEXT)]
    # Seven older ones as before, although the last two turns hold 1,200 tokens of output themselves.
    assert kept == [f"call_{n:03d}" for n in range(12, 19)] + ["call_090", "call_091"]


@pytest.mark.spec("S2.7")
def test_of_the_last_turns_all_but_the_newest_4_steps_may_be_cleared() -> None:
    # One user message and 30 steps: nothing lies before the last two turns, and yet it can be helped.
    history = [user("the only task"), *steps(30, output=260)]
    desk = Desk("agent", window=10_000)
    out = desk.preflight(history)
    sent = results_of(out)
    kept = [c for c in sent if not sent[c].startswith(CLEARED_TEXT)]
    # The newest 4 are exempt; before them 3,000 tokens are protected: 11 outputs of 260.
    assert kept == [f"call_{n:03d}" for n in range(16, 31)]
    assert out[0] is history[0] and desk.tokens(out) < 8_000


@pytest.mark.spec("S2.7")
def test_pruning_stops_at_an_earlier_summary() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    # The protected step is older than the summary, in which everything around it went.
    desk = Desk("agent", window=10_000, summarizer=summarizer)
    marked = [protected(message) for message in step(900, 300)]
    history = [*marked, *pairs(90)]
    first = desk.preflight(history)
    assert len(summaries(first)) == 1
    history += run_of_turns([400] * 19, LAST_TWO)
    prepared = desk.prepare(history)
    assert prepared.was_pruned and len(summaries(prepared.messages)) == 1
    assert results_of(prepared.messages)["call_900"] == marked[1]["content"]
    view = prepared.record.entries
    at = next(
        n for n, e in enumerate(view) if isinstance(e, Injected) and e.message.kind is MessageKind.SUMMARY
    )
    assert all(n > at for n, entry in enumerate(view) if isinstance(entry, Cleared))


@pytest.mark.spec("S2.8")
def test_with_less_than_the_minimum_to_save_nothing_is_touched() -> None:
    # 15 % of 10,000 are 1,500. Outside protect (3,000) lie 4 outputs of 380: 1,520 less 4 placeholders.
    placeholder = -(-len(cleared_text("r-0123456789")) // 4)
    history = run_of_turns([380] * 11, LAST_TWO)
    desk = Desk("agent", window=10_000)
    assert 4 * (380 - placeholder) < 1_500 < 5 * (380 - placeholder)
    assert desk.manager.end_turn("s", history) == history
    assert desk.events(EventName.PRUNE) == []
    # One output more is enough.
    longer = run_of_turns([380] * 12, LAST_TWO)
    pruned = Desk("agent", window=10_000)
    sent = results_of(pruned.manager.end_turn("s", longer))
    assert sum(text.startswith(CLEARED_TEXT) for text in sent.values()) == 5
    assert pruned.events(EventName.PRUNE)[0].data["tokensSaved"] == 5 * (380 - placeholder)


@pytest.mark.spec("S2.8")
def test_the_minimum_is_20k_in_a_large_window() -> None:
    desk = Desk("agent", window=200_000)
    # Protected: the newest four of 10,000. Past them lies one of 10,000, then two: 10,000 or 20,000 less the
    # placeholders, both under the minimum of 20,000; three are over it.
    for count, cleared in ((5, 0), (6, 0), (7, 3)):
        history = run_of_turns([10_000] * count, LAST_TWO)
        sent = results_of(desk.manager.end_turn(f"s{count}", history))
        assert sum(text.startswith(CLEARED_TEXT) for text in sent.values()) == cleared


@pytest.mark.spec("S2.9", part="engine")
def test_a_prune_runs_at_the_end_of_a_turn_whatever_the_usage() -> None:
    desk = Desk("agent", window=20_000, output_reserve=100)
    history = run_of_turns([600] * 18, [user("the last", 6), assistant("done", 6)])
    assert desk.tokens(history) < 0.8 * 20_000
    assert desk.preflight(history) == history
    out = desk.manager.end_turn("s", history)
    assert sum(text.startswith(CLEARED_TEXT) for text in results_of(out).values()) > 0
    assert desk.manager.records("s")[0].reason == "end-turn"
    # What was cleared stays cleared, in the same bytes, for a caller who sends the full history.
    assert desk.preflight([*history, user("next", 6)])[:-1] == out


@pytest.mark.spec("S2.10")
@pytest.mark.parametrize("adopts", [False, True])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_summary_is_made_from_outputs_that_were_cleared_before(
    store: str, adopts: bool, tmp_path: Path
) -> None:
    """Also for a caller that continues with the returned list, which holds only placeholders for them."""
    kept = SqlStore(f"sqlite:///{tmp_path / 'sessions.db'}") if store == "sqlite" else MemoryStore()
    desk = Desk("agent", window=20_000, output_reserve=100, store=kept)
    history = run_of_turns([600] * 18, [user("the last", 6), assistant("done", 6)])
    pruned = desk.manager.end_turn("s", history)
    assert any(text.startswith(CLEARED_TEXT) for text in results_of(pruned).values())
    desk.manager.manual_compact("s", pruned if adopts else history)
    request = desk.summarizer.requests[-1]
    seen = {result.call_id: result.text for message in request.messages for result in message.results}
    assert seen and seen.items() <= results_of(history).items()


@pytest.mark.spec("S2.9", part="engine")
@pytest.mark.parametrize("ending", ["failed", "aborted"])
def test_also_after_a_turn_that_failed(ending: str) -> None:
    desk = Desk("agent", window=20_000)
    broken = {"role": "assistant", "content": None, "finish_reason": ending, "error": "overloaded"}
    history = run_of_turns([600] * 18, [user("the last", 6), *step(99, 50), broken])
    out = desk.manager.end_turn("s", history)
    assert desk.events(EventName.PRUNE)[0].data["outputsPruned"] > 0
    assert out[-1] is broken


@pytest.mark.spec("S2.9", part="engine")
async def test_and_for_async_callers() -> None:
    desk = Desk("agent", window=20_000)
    history = run_of_turns([600] * 18, [user("the last", 6), assistant("done", 6)])
    out = await desk.manager.aend_turn("s", history)
    assert results_of(out)["call_001"].startswith(CLEARED_TEXT)
