"""A compaction is found again: by full history, by adopted list, by a mixture, after a restart."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from compact.policies import PRESETS
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore
from compact.testing.scripted import EchoSummarizer, ScriptedSummarizer
from support.raw import Desk, Raw, assistant, pairs, step, steps, summaries, system, user

SUMMARIZING = [name for name in PRESETS if name != "window"]
HISTORY = [system(), *pairs(40), user("question 41")]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_second_call_gives_the_same_bytes_and_asks_nobody(preset: str) -> None:
    desk = Desk(preset)
    first = desk.preflight(HISTORY)
    calls = desk.summarizer.calls
    assert len(first) < len(HISTORY)
    assert desk.preflight(HISTORY) == first
    assert desk.preflight(copy.deepcopy(HISTORY)) == first
    assert desk.preflight(first) == first
    assert desk.summarizer.calls == calls


@pytest.mark.parametrize(
    ("preset", "numbers"),
    [
        ("rolling", {"prune": True}),
        ("agent", {"fold_on_turns": True, "keep_recent_turns": 6}),
    ],
)
def test_a_policy_of_ones_own_that_prunes_and_folds_does_both_at_once(
    preset: str, numbers: dict[str, Any]
) -> None:
    desk = Desk(preset, window=16_000, **{"output_reserve": 100, "hard_cap_buffer": 100} | numbers)
    history = [
        m for n in range(8) for m in (user(f"question {n}"), *step(n, 1_500), assistant(f"answer {n}"))
    ]
    history.append(user("question 9"))
    first = desk.prepare(history)
    assert first.was_compacted
    again = desk.prepare(history)
    assert again.messages == first.messages and not again.was_compacted and not again.was_pruned
    assert desk.summarizer.calls == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_full_and_adopting_callers_get_the_same(preset: str) -> None:
    full, adopting = Desk(preset), Desk(preset)
    history: list[Raw] = [system()]
    adopted: list[Raw] = [system()]
    for number in range(1, 90):
        question = user(f"question {number}")
        history.append(question)
        adopted.append(question)
        sent = full.preflight(history)
        adopted = list(adopting.preflight(adopted))
        assert sent == adopted, number
        history.append(assistant(f"answer {number}"))
        adopted.append(history[-1])
    assert len(full.manager.records("s")) == len(adopting.manager.records("s")) >= 2


@pytest.mark.parametrize("preset", SUMMARIZING)
def test_a_retry_a_fork_and_a_clock_in_the_system_prompt_ask_nobody(preset: str) -> None:
    summarizer = EchoSummarizer()
    desk = Desk(preset, summarizer=summarizer)
    first = desk.preflight(HISTORY)
    calls = summarizer.calls
    retried = desk.preflight([*HISTORY[:-1], user("another question 41")])
    assert retried[:-1] == first[:-1]
    fork = desk.preflight([*HISTORY[:-3], user("a fork")], session="s")
    assert summaries(fork) == summaries(first)
    clocked = [{"role": "system", "content": "You are careful. It is 12:01."}, *HISTORY[1:]]
    assert desk.preflight(clocked)[1:] == first[1:]
    assert summarizer.calls == calls


@pytest.mark.parametrize("preset", PRESETS)
def test_a_restart_finds_the_record_in_the_store(preset: str) -> None:
    store = MemoryStore()
    before = Desk(preset, store=store)
    first = before.preflight(HISTORY)
    after = Desk(preset, store=store, summarizer=ScriptedSummarizer())
    assert after.preflight(copy.deepcopy(HISTORY)) == first
    adopted = Desk(preset, store=store, summarizer=ScriptedSummarizer())
    assert adopted.preflight([*first, assistant("answer 41"), user("next")])[: len(first)] == first


def test_an_edit_of_what_was_summarized_is_another_branch() -> None:
    desk = Desk("budget")
    first = desk.preflight(HISTORY)
    edited = copy.deepcopy(HISTORY)
    edited[3]["content"] = "I never said that."
    again = desk.preflight(edited)
    assert desk.summarizer.calls == 2
    assert summaries(again) != summaries(first)
    # The original branch is still there.
    assert desk.preflight(HISTORY) == first and desk.summarizer.calls == 2


def test_an_edit_in_place_of_what_was_summarized_is_seen_by_the_next_compaction() -> None:
    desk = Desk("budget")
    history = copy.deepcopy(HISTORY)
    desk.preflight(history)
    history[5]["content"] = "changed behind our back"
    history += [*pairs(40, first=100), user("question 41")]
    desk.preflight(history)
    assert desk.summarizer.calls == 2
    said = [message.text for message in desk.summarizer.requests[-1].messages]
    assert "changed behind our back" in said and len(said) > 80


def test_the_record_is_found_by_content_whatever_the_session_is_called() -> None:
    desk = Desk("budget")
    first = desk.preflight(HISTORY, session="one")
    assert desk.preflight(HISTORY, session="two") == first
    other = [system(), *pairs(40, first=100), user("question 41")]
    assert summaries(desk.preflight(other, session="one")) != summaries(first)


def test_prompts_between_two_compactions_begin_with_the_one_before() -> None:
    desk = Desk("budget")
    history: list[Raw] = [system()]
    sent: list[Raw] = []
    breaks = 0
    for number in range(1, 120):
        history.append(user(f"question {number}"))
        records = len(desk.manager.records("s"))
        out = desk.preflight(history)
        if len(desk.manager.records("s")) == records:
            assert out[: len(sent)] == sent
        else:
            breaks += 1
        sent = out
        history.append(assistant(f"answer {number}"))
    assert breaks == desk.summarizer.calls >= 3


def test_cleared_outputs_stay_cleared_for_both_kinds_of_callers() -> None:
    desk = Desk("agent", window=10_000)
    history = [user("task"), *steps(20, 400)]
    first = desk.prepare(history)
    assert first.was_pruned
    for messages in (history, first.messages):
        later = desk.prepare([*messages, *steps(1, 20, first=50)])
        assert later.messages[: len(first.messages)] == first.messages
    assert len(desk.manager.records("s")) == 1


def test_restore_brings_the_originals_back_and_the_next_compaction_is_new() -> None:
    desk = Desk("budget")
    desk.preflight(HISTORY)
    restored = desk.manager.restore("s", 1)
    assert restored == HISTORY and restored[0] is HISTORY[0]
    assert desk.manager.usage("s", HISTORY).tokens == desk.tokens(HISTORY)
    again = desk.preflight(HISTORY)
    assert desk.summarizer.calls == 2 and len(summaries(again)) == 1
    assert desk.manager.usage("s", HISTORY).tokens < desk.tokens(HISTORY)


@pytest.mark.parametrize("new_store", [MemoryStore, partial(SqlStore, "sqlite://")])
def test_a_record_that_undoes_says_when_that_was(new_store: Callable[[], Any]) -> None:
    desk = Desk("budget", store=new_store())
    desk.preflight(HISTORY)
    between = time.time()
    desk.manager.restore("s", 1)
    compaction, undo = desk.manager.records("s")
    assert compaction.created_at <= between <= undo.created_at <= time.time()


@pytest.mark.parametrize("new_store", [MemoryStore, partial(SqlStore, "sqlite://")])
def test_the_number_of_a_summary_goes_on_after_an_undo(new_store: Callable[[], Any]) -> None:
    """Two of one session are never both called v1, also where another process undid the first."""
    store = new_store()
    Desk("budget", store=store).preflight(HISTORY)
    Desk("budget", store=store).manager.restore("s", 1)
    desk = Desk("budget", store=store)
    again = desk.preflight(HISTORY)
    assert "<COMPACT-SUMMARY v2>" in str(again)
    assert [record.version for record in desk.manager.records("s")] == [1, 1, 2]
    folded = desk.manager.manual_compact("s", [*again, *HISTORY[1:]])
    assert "<COMPACT-SUMMARY v3>" in str(folded)
    desk.manager.restore("s", 2)
    assert "<COMPACT-SUMMARY v4>" in str(desk.preflight(HISTORY))


def test_a_fold_after_an_undo_is_not_repeated() -> None:
    """The window shrinks at the next user message, also where the first summary is no longer called v1."""
    desk = Desk("rolling", fold_slack_turns=0)
    turns = [message for _ in range(8) for message in (user("what next? " * 30), assistant("this " * 30))]
    asked = [*turns, user("and now?")]
    desk.preflight(asked)
    desk.manager.restore("s", 1)
    first = desk.preflight(asked)
    assert desk.preflight(asked) == first
    assert desk.summarizer.calls == 2


@pytest.mark.parametrize("begins", [[], [assistant("Welcome")]])
def test_a_copied_session_folds_when_the_first_one_would(begins: list[Any]) -> None:
    """The first fold leaves more turns than the later ones; a copy does not begin anew with that."""

    def asked(copied_at: int) -> list[int]:
        desk, history, counts = Desk("rolling", fold_slack_turns=0), list(begins), []
        for number in range(13):
            history.append(user(f"question {number}"))
            desk.manager.preflight("copy" if number >= copied_at else "s", history)
            history.append(assistant(f"answer {number}"))
            counts.append(desk.summarizer.calls)
        return counts

    assert asked(copied_at=10) == asked(copied_at=13) == [0] * 7 + list(range(1, 7))


@pytest.mark.parametrize("preset", SUMMARIZING)
def test_a_caller_who_mixes_both_kinds_of_lists_gets_the_same_bytes(preset: str) -> None:
    desk = Desk(preset)
    adopted = desk.preflight(HISTORY)
    again = desk.manager.manual_compact("s", adopted)
    assert desk.preflight(HISTORY) == desk.preflight(again) == again
    more = [assistant("well"), user("and then?")]
    assert desk.preflight([*HISTORY, *more]) == desk.preflight([*again, *more])


TOOLS_IN = {
    "openai-chat": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]},
    ],
    "openai-responses": [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "r"},
    ],
}


@pytest.mark.parametrize("plain", [1, 20])
@pytest.mark.parametrize("one", TOOLS_IN)
@pytest.mark.parametrize("other", TOOLS_IN)
def test_a_session_may_go_on_in_another_format(one: str, other: str, plain: int) -> None:
    desk = Desk(window=50_000)
    shared = [user("hi"), *pairs(plain - 1)] if plain > 1 else [user("hi")]
    first, second = [*shared, *TOOLS_IN[one]], [*shared, *TOOLS_IN[other]]
    for history in (first, second, [*first, user("more")], [*second, user("more")], second):
        assert desk.preflight(history) == history


def test_what_the_store_did_not_take_is_given_to_it_again() -> None:
    class Hiccup(MemoryStore):
        broken = True

        def remember(self, *args: Any, **more: Any) -> None:
            if self.broken:
                self.broken = False
                raise OSError("disk full")
            super().remember(*args, **more)

    store = Hiccup()
    desk = Desk(store=store)
    with pytest.raises(OSError, match="disk full"):
        desk.preflight(HISTORY)
    desk.preflight(HISTORY)
    assert store.memory("s").head == tuple(HISTORY[:1])
