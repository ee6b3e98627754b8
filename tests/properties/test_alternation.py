"""Bedrock refuses two messages of one role in a row, so what goes out in its format alternates."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compact import CompactConfig, CompactManager
from compact.testing.policies import check_growing, check_repeatable, wire_bytes
from compact.testing.strategies import conversations
from support.rig import MEDIUM, PRESETS, SMALL, make_rig

FORMAT = "bedrock"


@st.composite
def cases(draw: Any) -> tuple[int, list[Any]]:
    """A window and a conversation that is mostly too large for it, some of it protected."""
    window = draw(st.sampled_from((MEDIUM, SMALL)))
    sizes = {"max_words": 100, "max_output": 1_200} if window == SMALL else {"max_output": 4_000}
    return window, draw(conversations(FORMAT, min_turns=4, protected=True, **sizes))


def assert_alternates(messages: list[Any]) -> None:
    roles = [message["role"] for message in messages]
    assert roles[0] == "user"
    assert all(one != next_one for one, next_one in pairwise(roles)), roles


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=15)
@given(case=cases())
def test_a_compacted_prompt_alternates(preset: str, case: tuple[int, list[Any]]) -> None:
    """It also fits, is recognized when it comes back, and undoes to the originals, byte for byte."""
    window, messages = case
    assert_alternates(messages)
    rig = make_rig(preset, FORMAT, window)
    found = rig.prepare(messages)
    assume(found is not None and found.record is not None)
    assert found is not None and found.record is not None
    assert_alternates(list(found.messages))
    check_repeatable(rig.manager, rig.summarizer, "s", messages, found, FORMAT)
    restored = rig.manager.restore("s", found.record.step)
    assert wire_bytes(restored) == wire_bytes(messages)


@pytest.mark.parametrize("adopt", [False, True], ids=["full history", "adopted result"])
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=6)
@given(case=cases())
def test_every_prompt_of_a_growing_conversation_alternates(
    preset: str, case: tuple[int, list[Any]], adopt: bool
) -> None:
    window, messages = case
    rig = make_rig(preset, FORMAT, window)
    for found in check_growing(rig.manager, "s", messages, FORMAT, adopt=adopt):
        assert_alternates(list(found.messages))


def spoken(count: int) -> list[Any]:
    """A conversation in which the user decides things, so that a summary has words of the user's own."""
    return [
        {"role": "assistant", "content": [{"text": f"Noted, step {n}. " + "word " * 200}]}
        if n % 2
        else {"role": "user", "content": [{"text": f"Always keep port {4_000 + n} closed."}]}
        for n in range(count)
    ]


def manager_for(preset: str, format: str) -> CompactManager:
    config = CompactConfig(
        model="gpt-4o",
        max_context_tokens=8_000,
        preset=preset,
        counter="chars4",
        archive={"adapter": "none"},
    )
    return CompactManager(config, format=format)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("count", [61, 62])
def test_the_embedded_summary_keeps_roles_alternating(preset: str, count: int) -> None:
    """In `rolling` a summary of the user's own words is a user message here."""
    found = manager_for(preset, FORMAT).prepare("s", spoken(count))
    assert found.record is not None
    assert_alternates(list(found.messages))


def test_a_line_stands_only_where_roles_would_repeat() -> None:
    messages = spoken(62)
    out = manager_for("window", FORMAT).prepare("s", messages).messages
    texts = [message["content"][0]["text"] for message in out]
    assert [text.split(" ")[0] for text in texts[:4]] == ["Always", "Noted,", "[50", "Understood."]
    assert texts.count("Understood.") == 1
    # A format that does not have to alternate gets no line.
    chat = [{"role": m["role"], "content": m["content"][0]["text"]} for m in messages]
    plain = manager_for("window", "openai-chat").prepare("s", chat).messages
    assert [message["content"] for message in plain] == [text for text in texts if text != "Understood."]


def use(number: int) -> list[Any]:
    asked = {"toolUseId": f"t{number}", "name": "run", "input": {}}
    answered = {"toolUseId": f"t{number}", "content": [{"text": "done " * 40}], "status": "success"}
    return [
        {"role": "assistant", "content": [{"toolUse": asked}]},
        {"role": "user", "content": [{"toolResult": answered}]},
    ]


@pytest.mark.parametrize("adopt", [False, True], ids=["full history", "adopted result"])
@pytest.mark.parametrize("preset", PRESETS)
def test_working_memory_keeps_roles_alternating(preset: str, adopt: bool) -> None:
    """Before a question, after results, and after a compaction; returned lists are recognized."""
    manager, history, held = manager_for(preset, FORMAT), list[Any](), list[Any]()
    turns = spoken(60)
    for n in range(0, len(turns), 2):
        for new in (turns[n : n + 1], use(n)):
            history, held = [*history, *new], [*held, *new]
            note = f"It is {n // 4} o'clock."
            found = manager.prepare("s", held if adopt else history, context=note)
            assert_alternates(list(found.messages))
            assert note in str(found.messages)
            again = manager.prepare("s", list(found.messages), context=note)
            assert again.messages == found.messages
            held = list(found.messages)
        history, held = [*history, turns[n + 1]], [*held, turns[n + 1]]
    manager.append("s", held if adopt else history)
    assert manager.restore("s", 1) == history
