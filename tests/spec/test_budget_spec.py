"""S4: the `budget` preset: estimate, trigger, what is protected, what stays, in which order."""

from __future__ import annotations

import copy

import pytest

from compact import CompactConfig, CompactError, InsufficientBudget
from compact.counters import counter_for
from compact.model.event import EventName
from compact.policies import PRESETS
from compact.testing.scripted import EchoSummarizer, ScriptedSummarizer
from support.raw import (
    LONG_ENOUGH,
    PRIMING,
    ROLE,
    SMALL_WINDOW,
    Raw,
    assistant,
    is_sound,
    pairs,
    protected,
    step,
    steps,
    summaries,
    system,
    texts,
    tool,
    user,
)
from support.raw import (
    ShippedDesk as Desk,
)


def history_of(total: int) -> list[Raw]:
    """A conversation of exactly that many tokens, priming included, mostly in old turns."""
    body = pairs(10, 1_000)
    newest = total - PRIMING - 20 * (1_000 + ROLE) - ROLE
    return [*body, user("the newest", newest)]


# -- estimate, budget, trigger -----------------------------------------------------------------------------


@pytest.mark.spec("S4.1")
def test_the_estimate_covers_everything_that_is_sent() -> None:
    desk = Desk("budget", window=128_000, counter="auto")
    history = [
        {"role": "system", "content": "You are a careful engineer."},
        {"role": "developer", "content": "Answer in English; cite file and line."},
        {"role": "user", "content": "Why does the importer fail on row 88?"},
        {"role": "assistant", "content": "Because `berth_code` is missing there."},
        {"role": "user", "content": "Then skip such rows."},
    ]
    tools = [tool("read_file"), tool("run")]
    desk.preflight(history, tools=tools, system="Be brief.")
    (event,) = desk.events(EventName.TOKEN_ESTIMATE)
    exact = counter_for("gpt-4o", "tiktoken")
    assert exact.exact and "o200k" in exact.name

    def counted(*texts: str) -> int:
        return sum(ROLE + exact.count(text) for text in texts)

    contents = [str(message["content"]) for message in history]
    breakdown = event.data["breakdown"]
    assert breakdown["system"] == counted(contents[0], "Be brief.")
    assert breakdown["developer"] == counted(contents[1])
    assert breakdown["messages"] == counted(*contents[2:])
    assert breakdown["tools_schema"] > 20
    assert event.data["t_est"] == PRIMING + sum(breakdown.values())
    assert event.data["model"] == "gpt-4o" and event.data["max_tokens"] == 128_000
    assert event.data["usage_pct"] == round(100 * event.data["t_est"] / 128_000, 2)


@pytest.mark.spec("S4.1")
def test_new_input_and_a_longer_tool_list_raise_it_by_their_size() -> None:
    desk = Desk("budget", window=128_000)
    before = desk.manager.usage("s", pairs(3)).tokens
    assert desk.manager.usage("s", [*pairs(3), user("new", 96)]).tokens == before + 100
    with_tool = desk.manager.usage("s", pairs(3), tools=[tool("read_file")])
    assert with_tool.tokens == before + with_tool.breakdown["tools"] > before


@pytest.mark.spec("S4.2")
def test_the_budget_is_the_window_less_the_buffer() -> None:
    desk = Desk("budget", window=128_000)
    assert CompactConfig().policy.hard_cap_buffer == 1_500
    assert desk.manager.usage("s", pairs(1)).budget == 126_500
    assert desk.manager.plan("s", pairs(1)).limits.budget == 126_500
    # Over it no prompt goes out, although it would fit the window: not even where the trigger is 100 %.
    late = Desk("budget", window=128_000, trigger_pct=1.0)
    assert late.preflight(history_of(126_499)) == history_of(126_499)
    assert late.tokens(late.preflight(history_of(126_501), session="b")) <= 126_500


@pytest.mark.spec("S4.3")
def test_at_108_800_of_128_000_compaction_runs_and_below_it_does_not() -> None:
    desk = Desk("budget", window=128_000)
    below, at = history_of(108_799), history_of(108_800)
    assert desk.tokens(below) == 108_799 and desk.tokens(at) == 108_800
    assert desk.preflight(below, "below") == below
    out = desk.preflight(at, "at")
    assert len(summaries(out)) == 1 and desk.tokens(out) < 108_800
    assert desk.decisions == [(False, "below-trigger"), (True, "overflow")]
    decision = desk.events(EventName.TRIGGER_DECISION)[-1].data
    assert decision["policy"] == {"trigger_pct": 0.85, "hard_cap_buffer": 1_500, "strategy": "task_state"}
    assert decision["kept"] == {"pinned": 0, "recent_turns": 6, "tool_pairs": 0}


@pytest.mark.spec("S4.3")
def test_none_runs_again_without_growth() -> None:
    # Six turns of 550 stay: 3,300 and the summary are over the trigger of 3,400, within the budget of 3,900.
    desk = Desk("budget", window=4_000, summary_max_pct=0.10)
    history = [*pairs(5, 46), *pairs(6, 271, first=6)]
    prepared = desk.prepare(history)
    assert prepared.was_compacted and 3_400 <= prepared.tokens.final <= 3_900
    again = desk.prepare(history)
    assert again.messages == prepared.messages and again.debug.reason == "no-growth"
    history = [*history, user("a little more")]
    assert desk.preflight(history)[:-1] == prepared.messages
    assert desk.decisions == [(True, "overflow"), (False, "no-growth"), (False, "no-growth")]
    assert desk.summarizer.calls == 1
    # A tenth of the window later it runs again.
    history = [*history, assistant("a reply", 400)]
    desk.preflight(history)
    assert desk.decisions[-1] == (True, "overflow") and desk.summarizer.calls == 2


@pytest.mark.spec("S4.4")
def test_manual_compaction_runs_whatever_the_usage_and_its_note_is_in_the_trace() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("budget", window=128_000, summarizer=summarizer)
    history = pairs(20)
    out = desk.manager.manual_compact("s", history, note="before the migration")
    assert len(summaries(out)) == 1 and out[-12:] == history[-12:]
    assert summarizer.requests[0].focus == "before the migration"
    (decision,) = desk.events(EventName.TRIGGER_DECISION)
    assert decision.data["note"] == "before the migration" and decision.data["reason"] == "manual"
    (start,) = desk.events(EventName.START)
    assert start.data["reason"] == "manual"
    assert desk.manager.records("s")[0].note == "before the migration"
    # From now on it is what the session sends.
    assert desk.preflight([*history, user("next")])[:-1] == out


@pytest.mark.spec("S4.4")
@pytest.mark.parametrize("history", [pairs(2), [user("hello")], [*pairs(1, 5), *pairs(6)]])
def test_with_nothing_to_shrink_it_returns_the_messages_unchanged_and_says_why(history: list[Raw]) -> None:
    desk = Desk("budget", window=128_000, summarizer=ScriptedSummarizer())
    assert desk.manager.manual_compact("s", history, note="now") == history
    (decision,) = desk.events(EventName.TRIGGER_DECISION)
    assert (decision.data["triggered"], decision.data["reason"]) == (False, "nothing-to-shrink")
    assert decision.data["note"] == "now"
    assert desk.manager.records("s") == ()


# -- what is protected ---------------------------------------------------------------------------------------


@pytest.mark.spec("S4.6")
def test_protected_messages_and_roles_are_never_changed_and_never_sent_to_the_summarizer() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("budget", window=4_000, summarizer=summarizer)
    rule = protected(user("never push to main"))
    developer: Raw = {"role": "developer", "content": "The release is frozen."}
    history = [system(), *pairs(10), rule, *pairs(10, first=11), developer, *pairs(20, first=21), user("new")]
    before = copy.deepcopy(history)
    out = desk.preflight(history)
    assert history == before
    assert any(message is rule for message in out) and any(message is developer for message in out)
    asked = [message.origin.source for message in summarizer.requests[0].messages if message.origin]
    assert len(asked) > 50
    assert rule not in asked and developer not in asked and history[0] not in asked


@pytest.mark.spec("S4.6")
def test_protecting_one_message_of_a_tool_group_protects_the_group() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("budget", window=4_000, summarizer=summarizer)
    group = step(900, 40, calls=3)
    group[2] = protected(group[2])  # one of the three results
    history = [user("task"), *group, *steps(10, 40, first=1), *pairs(35), user("new")]
    out = desk.preflight(history)
    assert all(any(message is given for message in out) for given in group)
    asked = [message.origin.source for message in summarizer.requests[0].messages if message.origin]
    assert not any(message in asked for message in group)
    assert is_sound(out)


@pytest.mark.spec("S4.6")
@pytest.mark.parametrize("newest", [False, True], ids=["older", "newest"])
@pytest.mark.parametrize("pin", ["role", "call", "other result"])
@pytest.mark.parametrize("preset", PRESETS)
def test_no_output_of_a_pinned_group_is_shortened(preset: str, pin: str, newest: bool) -> None:
    roles = ("system", "tool") if pin == "role" else ("system",)
    desk = Desk(preset, window=SMALL_WINDOW, roles_never_prune=roles)
    group = step(900, 6_000, calls=2)
    if pin != "role":
        at = 0 if pin == "call" else 2
        group[at] = protected(group[at])
    since = [] if newest else [assistant("read"), *pairs(3, 300, first=61), user("new")]
    history = [*pairs(30, 300), user("read"), *group, *since]
    assert desk.tokens(history) > SMALL_WINDOW
    prepared = desk.prepare(history)
    assert prepared.was_compacted
    assert all(any(message is given for message in prepared.messages) for given in group)


@pytest.mark.spec("S4.6")
def test_our_own_summaries_are_exempt_whatever_their_role() -> None:
    # In `rolling` the summary is a system message, a role that is never pruned; still there is only one.
    desk = Desk("rolling", window=100_000)
    for count in (7, 8, 11):
        out = desk.preflight([*pairs(count), user("new")])
    assert desk.summarizer.calls == 3
    assert [message["role"] for message in summaries(out)] == ["system"]
    # ... nor does a caller who marks what came back pin it.
    budget = Desk("budget", window=4_000)
    adopted = budget.preflight([*pairs(40), user("new")])
    marked = [protected(m) if m in summaries(adopted) else m for m in adopted]
    out = budget.preflight([*marked, *pairs(40, first=50), user("newer")])
    assert len(summaries(out)) == 1 and "v2>" in summaries(out)[0]["content"]


@pytest.mark.spec("S4.6")
def test_meta_comes_back_as_it_came_and_can_be_stripped() -> None:
    history = [protected(system()), {**user("hi"), "meta": {"mine": [1, 2]}}, assistant("ho")]
    assert Desk("budget").preflight(history) == history
    stripping = Desk("budget", config={"strip_meta": True})
    out = stripping.preflight(history)
    assert [message.keys() for message in out] == [{"role", "content"}] * 3
    assert out[2] is history[2] and history[1]["meta"] == {"mine": [1, 2]}


@pytest.mark.spec("S4.7")
def test_protected_memory_over_the_budget_is_refused_with_advice() -> None:
    desk = Desk("budget", window=4_000, summarizer=ScriptedSummarizer())
    history = [protected(user(f"memory {n}", 496)) for n in range(8)] + pairs(3)
    before = copy.deepcopy(history)
    with pytest.raises(CompactError) as caught:
        desk.preflight(history)
    error = caught.value
    assert isinstance(error, InsufficientBudget)
    assert error.budget == 3_900 and error.arithmetic["protected"] == 8 * 500
    assert error.needed == sum(error.arithmetic.values()) > error.budget
    assert "protected memory" in str(error) and "larger" in str(error) and "InsufficientBudget" in str(error)
    (event,) = desk.events(EventName.ERROR)
    assert event.data["error_type"] == "InsufficientBudget" and event.data["status"] == "error"
    assert history == before and desk.manager.records("s") == ()


@pytest.mark.spec("S4.7")
def test_also_where_protection_comes_by_role_or_by_group() -> None:
    for pinned in (
        [{"role": "developer", "content": user("x", 3_950)["content"]}],
        [protected(step(1, 3_950)[0]), step(1, 3_950)[1]],
    ):
        desk = Desk("budget", window=4_000)
        with pytest.raises(InsufficientBudget):
            desk.preflight([user("task"), *pinned, *pairs(3)])
        assert desk.events(EventName.ERROR)[0].data["error_type"] == "InsufficientBudget"


# -- what stays ----------------------------------------------------------------------------------------------


@pytest.mark.spec("S4.8")
def test_of_20_pairs_the_last_6_stay() -> None:
    desk = Desk("budget", window=2_000, keep_recent_turns=6)
    history = pairs(20)
    out = desk.preflight(history)
    assert [message for message in out if message in history] == history[-12:]
    assert desk.manager.records("s")[0].messages_replaced == 28


@pytest.mark.spec("S4.8")
def test_of_10_tool_pairs_the_last_4_stay() -> None:
    desk = Desk("budget", window=2_000, keep_tool_io_pairs=4)
    history = [user("the task"), *steps(10, 180)]
    out = desk.preflight(history)
    assert [message for message in out if message in history] == [history[0], *history[-8:]]
    assert is_sound(out) and is_sound(out, "anthropic")


@pytest.mark.spec("S4.8")
def test_a_step_with_parallel_calls_is_one_pair() -> None:
    desk = Desk("budget", window=4_000)
    history = [user("the task"), *steps(10, 120, calls=3)]
    out = desk.preflight(history)
    assert [message for message in out if message in history] == [history[0], *history[-16:]]


@pytest.mark.spec("S4.8")
def test_the_two_counts_are_separate() -> None:
    # Ten turns of one step each: the texts of the last 6 turns stay, of the steps the last 4.
    desk = Desk("budget", window=4_000)
    turns = [[user(f"task {n}"), *step(n, 260), assistant(f"done {n}")] for n in range(1, 11)]
    out = desk.preflight([message for turn in turns for message in turn])
    kept = [m for turn in turns[4:6] for m in (turn[0], turn[3])] + [m for turn in turns[6:] for m in turn]
    assert [m for m in out if any(m in turn for turn in turns)] == kept
    # Steps of a turn that is gone stay as well while they are among the last 4.
    old = [user("the only tools"), *steps(5, 300), assistant("done"), *pairs(12), user("new", 600)]
    out = Desk("budget", window=4_000).preflight(old)
    assert [m["tool_call_id"] for m in out if m["role"] == "tool"] == [f"call_{n:03d}" for n in (2, 3, 4, 5)]


LADDER = [(6, 4), (5, 4), (5, 3), (4, 3), (4, 2), (3, 2), (3, 1), (2, 1), (1, 1)]


@pytest.mark.spec("S4.9")
def test_over_budget_turns_and_tool_pairs_go_down_by_turns_to_one_and_one() -> None:
    # Turns of 100 and steps of 400; in ever smaller windows the counts follow the ladder, rung by rung.
    history: list[Raw] = []
    for n in range(1, 11):
        history += [user(f"task {n}"), *step(n, 386), assistant(f"done {n}")]
    seen: list[tuple[int, int]] = []
    for window in range(5_000, 700, -20):
        desk = Desk("budget", window=window, summary_max_pct=0.0)  # a summary of 64 tokens at most
        kept = desk.manager.plan("s", history).kept_counts
        rung = (kept.recent_turns, kept.tool_pairs)
        if rung not in seen and kept.recent_turns:
            seen.append(rung)
    assert [rung for rung in LADDER if rung in seen] == seen
    assert seen[-1] == (1, 1) and len(seen) >= 6


@pytest.mark.spec("S4.9")
def test_what_falls_out_joins_the_summary() -> None:
    summarizer = EchoSummarizer()
    desk = Desk("budget", window=2_000, summarizer=summarizer)
    history = []
    for n in range(1, 11):
        history += [user(f"task {n}"), *step(n, 250), assistant(f"done {n}")]
    out = desk.preflight(history)
    asked = [message.origin.source for message in summarizer.requests[-1].messages if message.origin]
    kept = [message for message in history if any(message is sent for sent in out)]
    assert len(kept) < 12 + 8
    assert sorted(map(id, asked + kept)) == sorted(map(id, history))
    assert desk.tokens(out) <= 1_900 and is_sound(out)


@pytest.mark.spec("S4.9")
def test_still_over_is_insufficient_budget() -> None:
    desk = Desk("budget", window=1_000)
    with pytest.raises(InsufficientBudget) as caught:
        desk.preflight([*pairs(10), user("the last", 300), *step(1, 700)])
    assert caught.value.arithmetic["newest_turn"] >= 1_000


@pytest.mark.spec("S4.9")
@pytest.mark.parametrize("preset", ["chat", "window", "agent", "rolling"])
def test_the_other_presets_reduce_to_the_newest_turn(preset: str) -> None:
    # Every kept turn is too large for its full count; the newest message alone always fits.
    desk = Desk(preset, window=2_000)
    history = [user("first", 10), assistant("second", 10), *pairs(12, 300), user("the newest", 1_000)]
    out = desk.preflight(history)
    assert desk.tokens(out) <= 1_900 and out[-1] is history[-1]
    assert is_sound(out)


# -- order and numbers ---------------------------------------------------------------------------------------


@pytest.mark.spec("S4.10")
def test_pinned_then_one_summary_then_recent() -> None:
    desk = Desk("budget", window=4_000, summarizer=ScriptedSummarizer([LONG_ENOUGH]))
    rules = [protected(user("rule one")), protected(user("rule two"))]
    history = [system(), *pairs(10), rules[0], *pairs(10, first=11), rules[1], *pairs(20, first=21)]
    out = desk.preflight(history)
    assert out[:3] == [history[0], *rules]
    assert out[3]["role"] == "assistant" and out[3]["content"].startswith("<COMPACT-SUMMARY v1>\n")
    assert out[4:] == history[-12:]
    (layers,) = desk.events(EventName.PRUNED_MESSAGES)
    assert (layers.data["pinned"], layers.data["summary"], layers.data["recent"]) == (3, 1, 12)
    assert layers.data["replaced"] == 80 - 12


@pytest.mark.spec("S4.10")
def test_a_user_comes_first_where_a_provider_demands_it() -> None:
    out = Desk("budget", window=2_000).preflight(pairs(20))
    assert [message["role"] for message in out[:3]] == ["user", "assistant", "user"]
    assert out[2:] == pairs(20)[-12:]
    assert is_sound(out, "anthropic")


@pytest.mark.spec("S4.10")
def test_a_run_of_one_task_and_100_steps() -> None:
    desk = Desk("budget", window=10_000, summarizer=ScriptedSummarizer([LONG_ENOUGH]))
    history = [system(), user("the task"), *steps(100, 80)]
    out = desk.preflight(history)
    assert out[0] is history[0] and out[1] is history[1]
    recall = desk.manager.records("s")[0].handle
    assert out[2]["content"].startswith(f"<COMPACT-SUMMARY v1>\n{LONG_ENOUGH}\n")
    assert out[2]["content"].endswith(f"\n</COMPACT-SUMMARY> (recall {recall})")
    assert out[3] == {"role": "user", "content": "Continue from the summary above."}
    assert out[4:] == history[-8:]
    assert is_sound(out) and is_sound(out[1:], "anthropic")


@pytest.mark.spec("S4.11")
def test_a_second_compaction_feeds_the_earlier_summary_in_and_leaves_exactly_one() -> None:
    first = "Decided: PostgreSQL, not MySQL. The customer is ORD-48213."
    summarizer = ScriptedSummarizer(
        [first, lambda request: f"{request.previous_summary} Then: row 88 fixed."]
    )
    desk = Desk("budget", window=4_000, summarizer=summarizer)
    history = [*pairs(40), user("new")]
    one = desk.preflight(history)
    assert "<COMPACT-SUMMARY v1>" in summaries(one)[0]["content"]
    history += [assistant("ok"), *pairs(30, first=50), user("newer")]
    two = desk.preflight(history)
    assert (summarizer.requests[1].previous_summary or "").startswith(first)
    (summary,) = summaries(two)
    assert summary["content"].startswith("<COMPACT-SUMMARY v2>")
    assert "PostgreSQL" in summary["content"] and "ORD-48213" in summary["content"]
    asked = [m.origin.source for m in summarizer.requests[1].messages if m.origin]
    assert not any(text.startswith("<COMPACT-SUMMARY") for text in texts(asked))
    assert [record.version for record in desk.manager.records("s")] == [1, 2]


@pytest.mark.spec("S4.11")
def test_also_for_a_caller_who_goes_on_with_what_came_back() -> None:
    def conversation(adopts: bool) -> tuple[list[Raw], Desk]:
        desk = Desk("budget", window=4_000)
        history: list[Raw] = []
        for n in range(1, 100):
            history.append(user(f"question {n}"))
            out = desk.preflight(history)
            history = [*(out if adopts else history), assistant(f"answer {n}")]
        return out, desk

    full, one = conversation(adopts=False)
    adopted, other = conversation(adopts=True)
    assert one.summarizer.calls == other.summarizer.calls >= 3
    assert full == adopted and len(summaries(full)) == 1
