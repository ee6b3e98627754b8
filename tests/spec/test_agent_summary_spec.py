"""S2: the `agent` preset's continuation summary, tools, dynamic content, and what preparing reports."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest

from compact import InsufficientBudget, lint
from compact.core.view import CLEARED_TEXT
from compact.model.event import EventName
from compact.model.message import MessageKind
from compact.model.record import Injected
from compact.policies import PRESETS
from compact.testing.scripted import ScriptedSummarizer
from support.raw import (
    LONG_ENOUGH,
    PRIMING,
    ROLE,
    Desk,
    Raw,
    anthropic_step,
    assistant,
    is_sound,
    pairs,
    results_of,
    step,
    steps,
    system,
    texts,
    tool,
    user,
)

QUESTION = (
    "What have we accomplished in our conversation so far? "
    "Summarize our progress, current state, and next steps."
)


# -- the continuation summary ----------------------------------------------------------------------------


def over_the_limit(*inside: Raw) -> list[Raw]:
    return [*pairs(10, 100), *inside, *pairs(30, 100, first=11), user("the newest")]


@pytest.mark.spec("S2.11")
def test_failed_messages_without_content_are_left_out_of_what_is_summarized() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("agent", window=8_000, summarizer=summarizer)
    nothing: Raw = {"role": "assistant", "content": None, "error": "overloaded"}
    thought: Raw = {"role": "assistant", "content": "", "reasoning_content": "hm", "finish_reason": "aborted"}
    partial: Raw = {"role": "assistant", "content": "Half an answ", "finish_reason": "aborted"}
    desk.preflight(over_the_limit(user("a"), nothing, user("b"), thought, user("c"), partial))
    (request,) = summarizer.requests
    asked = [message.origin.source for message in request.messages if message.origin]
    assert partial in asked
    assert nothing not in asked and thought not in asked
    assert [message["content"][:1] for message in asked if message["role"] == "user"][10:13] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.spec("S2.11")
def test_a_failed_message_with_a_tool_call_stays() -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("agent", window=8_000, summarizer=summarizer)
    called, result = step(1, 20)
    called["error"] = "connection reset"
    desk.preflight(over_the_limit(user("a"), called, result))
    asked = [message.origin.source for message in summarizer.requests[0].messages if message.origin]
    assert called in asked and result in asked


@pytest.mark.spec("S2.12")
def test_the_summary_is_a_flagged_pair_right_after_the_system_prompt() -> None:
    desk = Desk("agent", window=8_000, summarizer=ScriptedSummarizer([LONG_ENOUGH]))
    first = system(40)
    tools = [tool("read_file"), tool("search")]
    untouched = copy.deepcopy((first, tools))
    history = [first, *over_the_limit()]
    prepared = desk.prepare(history, tools=tools)
    out = prepared.messages
    assert out[0] is first and prepared.tools is tools and (first, tools) == untouched
    assert out[1] == {"role": "user", "content": QUESTION}
    assert out[2]["role"] == "assistant" and LONG_ENOUGH in out[2]["content"]
    assert out[3:] == history[-3:]
    kinds = [entry.message.kind for entry in prepared.record.entries if isinstance(entry, Injected)]
    assert kinds[:2] == [MessageKind.SUMMARY_TRIGGER, MessageKind.SUMMARY]
    assert is_sound(out) and is_sound(out[1:], "anthropic")


@pytest.mark.spec("S2.12")
def test_a_system_prompt_given_apart_stays_as_it_is() -> None:
    desk = Desk("agent", window=8_000, model="claude-sonnet-4-5", counter="chars4")
    blocks = [{"type": "text", "text": "You are careful.", "cache_control": {"type": "ephemeral"}}]
    before = copy.deepcopy(blocks)
    out = desk.manager.preflight("s", over_the_limit(), system=blocks)
    assert blocks == before and out[0] == {"role": "user", "content": QUESTION}


@pytest.mark.spec("S2.13")
def test_a_changed_system_prompt_or_tool_list_is_warned_of() -> None:
    desk = Desk("agent")
    history = [system(label="one"), user("hello")]
    tools = [tool("read_file")]
    desk.preflight(history, tools=tools, system="Be brief.")
    desk.preflight(copy.deepcopy(history), tools=copy.deepcopy(tools), system="Be brief.")
    assert desk.warnings == []
    desk.preflight(history, tools=[*tools, tool("search")], system="Be brief.")
    assert len(desk.warnings) == 1 and "tool list changed" in desk.warnings[0]
    desk.preflight(history, tools=[*tools, tool("search")], system="Be thorough.")
    assert len(desk.warnings) == 2 and "system prompt changed" in desk.warnings[1]
    history[0] = system(label="two")
    desk.preflight(history, tools=[*tools, tool("search")], system="Be thorough.")
    assert len(desk.warnings) == 3 and "cache" in desk.warnings[2]


# -- tools and context -----------------------------------------------------------------------------------


NOTE = "<WORKING-MEMORY>"


def found(name: str) -> Raw:
    return tool(name, meta={"discovered": True})


@pytest.mark.spec("S2.17", part="engine")
def test_discovered_tools_stay_only_while_a_kept_message_refers_to_them() -> None:
    desk = Desk("agent", window=8_000)
    tools = [tool("read_file"), found("old_api"), found("new_api"), found("named_api"), tool("never_called")]
    early = [user("use the old one"), *step(1, 20, tool="old_api"), assistant("did so")]
    late = [user("now the new one"), *step(2, 20, tool="new_api"), assistant("named_api may help as well")]
    history = [*early, *pairs(35, 100), *late, user("go on")]
    calm = desk.prepare(early, session="calm", tools=tools)
    assert calm.tools is tools
    prepared = desk.prepare(history, tools=tools)
    assert prepared.was_compacted
    # `old_api` is referred to by summarized messages only; the given tools are never touched.
    assert prepared.tools == [tools[0], tools[2], tools[3], tools[4]]
    assert "old_api" in prepared.debug.tools_touched and len(tools) == 5


@pytest.mark.spec("S2.17", part="engine")
def test_a_tool_that_is_referred_to_again_comes_back() -> None:
    desk = Desk("agent", window=8_000)
    tools = [tool("read_file"), found("old_api")]
    history = [user("use it"), *step(1, 20, tool="old_api"), *pairs(35, 100), user("go on")]
    assert desk.prepare(history, tools=tools).tools == tools[:1]
    history += [*step(2, 20, tool="read_file"), user("search again")]
    assert desk.prepare(history, tools=tools).tools == tools[:1]
    history += step(3, 20, tool="old_api")
    assert desk.prepare(history, tools=tools).tools == tools


@pytest.mark.spec("S2.21", part="engine")
def test_dynamic_content_enters_as_conversation() -> None:
    desk = Desk("agent")
    history = [system(), user("question 1")]
    before = copy.deepcopy(history)
    out = desk.prepare(history, context="Working memory: page 12 is open.").messages
    assert [out[0], out[2]] == history and len(out) == 3
    assert out[1]["role"] == "user" and "Working memory: page 12 is open." in out[1]["content"]
    assert out[0] is history[0] and history == before
    assert is_sound(out) and is_sound(out[1:], "anthropic")
    assert desk.manager.usage("s", history).tokens == desk.tokens(out)


@pytest.mark.spec("S2.21", part="engine")
def test_it_stays_where_it_was_entered_and_a_change_is_added_behind() -> None:
    desk = Desk("agent")
    history = [system(), user("question 1")]
    sent = [desk.prepare(history, context="Memory A").messages]
    history += [assistant("answer 1"), user("question 2")]
    sent.append(desk.prepare(history, context="Memory A").messages)
    history += [assistant("answer 2"), user("question 3")]
    sent.append(desk.prepare(history, context="Memory B").messages)
    assert texts(sent[1]) == ["You are careful", NOTE, "question 1", "answer 1", "question 2"]
    assert texts(sent[2])[-3:] == ["answer 2", NOTE, "question 3"]
    assert "Memory A" in sent[2][1]["content"] and "Memory B" in sent[2][-2]["content"]
    # Each prompt begins with the bytes of the one before it.
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier


@pytest.mark.spec("S2.21", part="engine")
def test_the_newest_context_survives_a_compaction() -> None:
    desk = Desk("agent", window=8_000)
    history = [system(), user("question 0")]
    desk.prepare(history, context="Memory A")
    history += [assistant("answer 0"), *over_the_limit()]
    out = desk.prepare(history, context="Memory B").messages
    notes = [message["content"] for message in out if texts([message]) == [NOTE]]
    assert len(notes) == 1 and "Memory B" in notes[0]
    assert out[0] is history[0] and is_sound(out)


# -- validity and results --------------------------------------------------------------------------------


def openai_run() -> list[Raw]:
    made = [system()]
    for turn in range(1, 9):
        made += [user(f"task {turn}", 20)]
        for n in range(turn * 10, turn * 10 + 4):
            made += step(n, output=60 + n % 7, calls=1 + n % 3)
        made.append(assistant(f"done {turn}", 20))
    return [*made, user("and now"), *step(200, 40, calls=2)]


def anthropic_run() -> list[Raw]:
    made: list[Raw] = []
    for turn in range(1, 9):
        made.append(user(f"task {turn}", 20))
        for n in range(turn * 10, turn * 10 + 4):
            made += anthropic_step(n, output=60 + n % 7, thinking=f"I should look at m{n}.py first.")
        made.append(assistant(f"done {turn}", 20))
    return [*made, user("and now"), *anthropic_step(200, 40, thinking="One more.")]


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("provider", "run"), [("openai", openai_run), ("anthropic", anthropic_run)])
def test_what_goes_out_is_always_valid(preset: str, provider: str, run: Any) -> None:
    history = run()
    assert lint(history, provider) == []
    desk = Desk(preset, window=1_800)
    compacted = 0
    for length in range(1, len(history) + 1):
        if history[length - 1]["role"] == "assistant":
            continue  # nobody sends a prompt that ends with an open call or an answer
        whole = lint(history[:length], provider) == []
        if not whole:
            continue  # a result is still missing
        prepared = desk.prepare(history[:length])
        compacted += prepared.was_compacted or prepared.was_pruned
        assert lint(prepared.messages, provider) == []
        assert prepared.tokens.final <= 1_700
    assert compacted >= 2


@pytest.mark.spec("S2.22")
def test_preparing_says_what_it_did_when_it_pruned() -> None:
    desk = Desk("agent", window=10_000)
    prepared = desk.prepare([user("task"), *steps(20, output=400)])
    assert prepared.was_pruned and not prepared.was_compacted
    # The task; then twenty steps, each a call of 3 + 6 tokens and a result of 400.
    assert prepared.tokens.before == PRIMING + 50 + 20 * (ROLE + 9 + ROLE + 400)
    assert prepared.tokens.after_prune == prepared.tokens.after_compact == prepared.tokens.final
    cleared = [t for t in results_of(prepared.messages).values() if t.startswith(CLEARED_TEXT)]
    assert prepared.debug.outputs_cleared == len(cleared) > 0
    assert prepared.debug.messages_compacted == 0
    assert prepared.debug.tools_touched == ("read_file",)


@pytest.mark.spec("S2.22")
def test_preparing_says_what_it_did_when_it_summarized_and_when_nothing() -> None:
    desk = Desk("agent", window=8_000)
    history = over_the_limit()
    prepared = desk.prepare(history)
    assert prepared.was_compacted and not prepared.was_pruned
    assert prepared.tokens.before == prepared.tokens.after_prune == PRIMING + 80 * 104 + 50
    assert prepared.tokens.after_compact == prepared.tokens.final == desk.tokens(prepared.messages)
    assert prepared.debug.messages_compacted == len(history) - 3
    again = desk.prepare(history)
    assert not again.was_pruned and not again.was_compacted
    assert again.tokens.before == again.tokens.final == prepared.tokens.final
    assert again.debug.messages_compacted == again.debug.outputs_cleared == 0


@pytest.mark.spec("S2.22")
def test_the_overflow_check_alone() -> None:
    desk = Desk("agent", window=8_000, output_reserve=1_000, summarizer=ScriptedSummarizer())
    check = desk.manager.overflow("s", pairs(20))
    assert (check.is_overflow, check.current, check.available) == (False, 2_003, 8_000 - 1_000 - 2_003)
    assert (check.model_limit, check.output_reserve) == (8_000, 1_000)
    full = desk.manager.overflow("s", pairs(100))
    assert (full.is_overflow, full.current, full.available) == (True, 10_003, 0)
    assert desk.manager.records("s") == () and desk.events(EventName.START) == []


@pytest.mark.spec("S2.7")
def test_what_cannot_be_helped_is_refused_with_the_sum() -> None:
    desk = Desk("agent", window=1_000)
    with pytest.raises(InsufficientBudget) as refused:
        desk.preflight([user("the only message", 2_000)])
    assert refused.value.needed == sum(refused.value.arithmetic.values()) > refused.value.budget == 900
