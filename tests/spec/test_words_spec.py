"""The user's words, conclusions, large outputs, and summaries that come out too long (S5.5 to S5.8)."""

from __future__ import annotations

import json
import random
from itertools import takewhile
from typing import Any

import pytest

import compact
from compact import CompactConfig, CompactManager, InsufficientBudget, lint
from compact.core.summary_checks.cutting import cut_to
from compact.model.record import RecordKind

SAID = {
    "en": "By the way, the auditors come on the 19th of June.",
    "de": "Übrigens ist Frau Okonjo ab Montag im Urlaub.",
    "fr": "Au fait, je préfère les dates au format 2031-05-02.",
    "es": "Por cierto, el presupuesto no puede pasar de 4.200 euros.",
    "tr": "Bu arada depo kodumuz 0318 oldu.",
    "ru": "Кстати, отчёт читает только Лидия Павловна.",
    "zh": "顺便说一下，测试服务器叫白鹭。",
    "ja": "ちなみに、会議は木曜日の午後だけです。",
}


def manager_for(preset: str, window: int, **policy: Any) -> CompactManager:
    config = CompactConfig(
        preset=preset,
        counter="chars4",
        max_context_tokens=window,
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
        policy=policy,
    )
    return CompactManager(config)


def rounds(manager: CompactManager) -> int:
    return sum(record.kind is RecordKind.COMPACTION for record in manager.records("s"))


def step(number: int, said: str, output: str) -> list[dict[str, Any]]:
    function = {"name": "read_file", "arguments": json.dumps({"path": f"src/part_{number}.py"})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": output},
    ]


def lines(number: int, count: int) -> str:
    return "\n".join(
        f"{number}-{at} reads row {at * 7} of table_{at} and writes it back" for at in range(count)
    )


def sent(prompt: Any) -> str:
    return "\n".join(str(message["content"]) for message in prompt)


@pytest.mark.spec("S5.5")
@pytest.mark.parametrize("preset", ["budget", "chat", "rolling"])
def test_what_the_user_said_in_passing_is_in_the_prompt_after_three_compactions(preset: str) -> None:
    manager = manager_for(preset, 8_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Help me move the feed to the new server."}]
    prompt: Any = messages
    waiting = list(SAID.values())
    number = 0
    while waiting or rounds(manager) < 3:
        number += 1
        assert number < 500
        messages += [{"role": "assistant", "content": lines(number, 8)}]
        messages += [{"role": "user", "content": waiting.pop() if waiting else f"Go on with part {number}."}]
        prompt = manager.preflight("s", messages)
    text = sent(prompt)
    assert [language for language, words in SAID.items() if words not in text] == []
    assert "Help me move the feed to the new server." in text


@pytest.mark.spec("S5.5")
@pytest.mark.parametrize("preset", ["budget", "chat", "agent", "rolling"])
def test_compacting_by_hand_again_and_again_does_not_halve_the_users_words(preset: str) -> None:
    manager, messages = manager_for(preset, 32_000), []
    said = [f"By the way, the label of crate {at} is Zebra-{at}-{at}." for at in range(40)]
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted. " * 60}]
    for at in range(6):
        messages += [
            {"role": "user", "content": f"Go on, {at}."},
            {"role": "assistant", "content": "Yes. " * 60},
        ]
        prompt = sent(manager.manual_compact("s", messages))
        assert [text for text in said if text not in prompt] == []
    assert rounds(manager) >= 3


@pytest.mark.spec("S5.5")
def test_a_short_answer_has_its_question_and_a_later_word_stands_behind_the_earlier() -> None:
    messages = [
        {"role": "user", "content": "Set the mailing up, please."},
        {"role": "assistant", "content": lines(1, 40)},
        {"role": "user", "content": "The newsletter goes out on Mondays."},
        {"role": "assistant", "content": "Two options.\n1. Plain text\n2. With pictures\nWhich one?"},
        {"role": "user", "content": "2, please."},
        {"role": "assistant", "content": "With pictures then. Shall I delete the old list?"},
        {"role": "user", "content": "No!"},
        {"role": "assistant", "content": "It stays."},
        {"role": "user", "content": "Correction: the newsletter goes out on Thursdays."},
        {"role": "assistant", "content": lines(2, 40)},
        {"role": "user", "content": "Which address does the mailing use?"},
    ]
    text = compact.summarize(messages, 300, counter="chars4").text
    assert "With pictures — “2, please.”" in text
    assert "asked in [m5]: Shall I delete the old list? — “No!”" in text
    assert "on Mondays.” — later [m8]: “Correction: the newsletter goes out on Thursdays.”" in text


@pytest.mark.spec("S5.6")
def test_conclusions_stand_before_values_and_tool_values_take_a_quarter_at_most() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the import is slow."}]
    cause = "The cause is that load_rows opens the lock file once a row."
    rejected = "I decided against a cache, because two writers would see stale rows."
    for number in range(40):
        said = {10: cause, 20: rejected}.get(number, f"Let me look at part {number}.")
        messages += step(number, said, lines(number, 30))
    text = compact.summarize(messages, 700, counter="chars4").text
    assert cause in text and rejected in text
    _, _, from_tools = text.partition("## From tool output")
    assert text.index(cause) < text.index("## Key entities")
    assert from_tools and len(from_tools) <= 0.27 * len(text)


@pytest.mark.spec("S5.6")
@pytest.mark.parametrize("room", [4_000, 12_000, 40_000])
def test_tool_values_take_a_quarter_of_the_summary_even_where_it_has_room_to_spare(room: int) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the import is slow."}]
    for number in range(60):
        listing = "\n".join(f"row_{number}_{n:04x} src/area_{n}/part_{number}.py" for n in range(80))
        messages += step(number, f"Part {number} opens its lock file once a row, as the others do.", listing)
    text = compact.summarize(messages, room, counter="chars4").text
    _, _, from_tools = text.partition("## From tool output")
    assert from_tools and len(from_tools) <= 0.27 * len(text)


@pytest.mark.spec("S5.6")
@pytest.mark.parametrize("steps", [3, 12])
def test_a_summary_with_little_to_say_lists_few_tool_values(steps: int) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the row."}]
    for number in range(steps):
        messages += step(number, "", "\n".join(f"row_{number}_{n:04x}" for n in range(80)))
    text = compact.summarize(messages, 2_000, counter="chars4").text
    assert 10 < text.count("row_") < 50


@pytest.mark.spec("S5.6")
def test_a_span_of_nothing_but_tool_output_still_has_a_summary() -> None:
    listing = "\n".join(f"row_{n:04x}" for n in range(400))
    text = compact.summarize(
        [{"role": "tool", "tool_call_id": "c", "content": listing}], 400, counter="chars4"
    ).text
    assert text.count("row_") > 30


@pytest.mark.spec("S5.7")
def test_outputs_larger_than_the_window_do_not_end_the_run() -> None:
    manager = manager_for("budget", 8_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the broken row."}]
    large = {6, 14, 22}
    prompt: Any = messages
    for number in range(28):
        output = lines(number, 900 if number in large else 20)
        if number in large:
            output += f"\nERROR: row {number} is broken" + lines(number, 300)
        messages += step(number, f"I read part {number}.", output)
        prompt = manager.preflight("s", messages)
        assert lint(prompt, "openai") == []
        assert manager.usage("s", messages).tokens <= 8_000 - 1_200
        if number in large:
            shown = prompt[-1]["content"]
            assert shown.startswith(output[:100]) and shown.endswith(output[-100:])
            assert f"ERROR: row {number} is broken" in shown
            handle = shown.partition("recall ")[2].split()[0]
            (found, *_) = manager.recall("s", handle)
            assert output in found.text
    assert not isinstance(prompt, str)


@pytest.mark.spec("S5.7")
@pytest.mark.parametrize("preset", ["budget", "agent"])
def test_compactions_of_a_long_tool_loop_are_seldom_and_leave_little_to_read_again(preset: str) -> None:
    rng = random.Random(5)
    manager = manager_for(preset, 32_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the broken row."}]
    before: list[Any] = []
    sent = cached = 0
    for number in range(60):
        # 1,500 to 6,000 tokens: four characters each, 52 in a line.
        messages += step(number, f"I read part {number}.", lines(number, rng.randrange(1_500, 6_000) // 13))
        prompt = manager.preflight("s", messages)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, prompt, strict=False)))
        sizes = [len(str(message)) for message in prompt]
        sent, cached, before = sent + sum(sizes), cached + sum(sizes[:same]), prompt
    assert len(manager.records("s")) <= 13
    assert cached / sent >= 0.70


@pytest.mark.spec("S5.7")
def test_oversize_can_raise_instead() -> None:
    manager = manager_for("budget", 8_000, oversize="raise")
    messages = [{"role": "user", "content": "Read it."}, *step(1, "I read it.", lines(1, 1_200))]
    with pytest.raises(InsufficientBudget):
        manager.preflight("s", messages)


LONG = "\n".join(
    f"## Section {number}\n" + f"The {number}th part of the work was done and checked by hand. " * 12
    for number in range(12)
)


@pytest.mark.spec("S5.8")
def test_a_summary_that_is_too_long_is_cut_at_a_sections_end() -> None:
    asked: list[int] = []

    def model(request: Any) -> str:
        asked.append(request.max_tokens)
        return LONG

    messages = [
        {"role": "user", "content": "Plan the harbor works. Never close pier 4."},
        {"role": "assistant", "content": "The crane is the bottleneck, because it lifts 12 tons only."},
    ] * 3
    summary = compact.summarize(messages, 900, summarizer=model, counter="chars4")
    assert len(asked) == 1, "it is cut, not asked for again"
    assert summary.tokens <= 900
    prose = summary.text.partition("\n\n## User's words")[0]
    assert LONG.startswith(prose) and LONG[len(prose) :].lstrip().startswith("## Section")
    assert "Never close pier 4." in summary.text and "lifts 12 tons only" in summary.text


@pytest.mark.spec("S5.8")
def test_an_answer_of_megabytes_is_not_looked_at_beyond_its_bound() -> None:
    looked_at: list[int] = []

    def count(text: str) -> int:
        looked_at.append(len(text))
        return len(text) // 4

    assert cut_to("One. Two. Three.", 2, lambda text: len(text) // 4) == "One. Two."
    from compact.core.summary_checks.cutting import look_at_most

    assert len(look_at_most("x" * 8_000_000, 500)) <= 20_000
    assert cut_to(look_at_most("Part done. " * 800_000, 500), 500, count) and max(looked_at) <= 20_000
