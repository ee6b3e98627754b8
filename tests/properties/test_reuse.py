"""A history that was compacted once is not compacted again, in whatever shape it comes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings

from compact.formats import by_name, decode_all
from compact.model.message import Role
from compact.model.outcome import Prepared
from compact.testing.policies import check_growing, check_repeatable, wire_bytes
from compact.testing.scenes import Said
from compact.testing.wire import render_scenes
from support.rig import PRESETS, SMALL, Rig, cases, make_rig

Case = tuple[str, int, list[Any]]
LONG = {"min_turns": 3}
# A scene's number makes its ids; no generated conversation is this long.
FRESH = 9_000


def compacted(preset: str, case: Case) -> tuple[Rig, Prepared]:
    """The case, prepared once; cases that never fit say nothing about reuse."""
    format, window, messages = case
    rig = make_rig(preset, format, window)
    found = rig.prepare(messages)
    assume(found is not None and found.record is not None)
    assert found is not None
    return rig, found


def last_turn(messages: list[Any], format: str) -> int:
    """Index of the newest user message."""
    wire = by_name(format)
    starts = [n for n, raw in enumerate(messages) if wire.decode(raw, n)[0].role is Role.USER]
    return starts[-1]


def originals(messages: list[Any], format: str) -> int:
    """How many messages a record counts: all but the leading instructions."""
    decoded = decode_all(messages, by_name(format))
    first = next((n for n, m in enumerate(decoded) if m.role not in (Role.SYSTEM, Role.DEVELOPER)), 0)
    return len(decoded) - first


def still_applies(found: Prepared, messages: list[Any], format: str) -> bool:
    assert found.record is not None
    # A list that ends where the record does has nothing newer to send, so the record is not for it.
    return found.record.source_length < originals(messages, format)


@pytest.mark.spec("S0.5")
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(assistant_first=True, protected=True, **LONG))
def test_again_with_the_history_or_the_result(preset: str, case: Case) -> None:
    rig, found = compacted(preset, case)
    check_repeatable(rig.manager, rig.summarizer, "s", case[2], found, rig.format, rig.system)


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(**LONG))
def test_last_turn_deleted_and_retried(preset: str, case: Case) -> None:
    format, _, messages = case
    rig, found = compacted(preset, case)
    shorter = messages[: last_turn(messages, format)]
    assume(shorter)
    calls = rig.summarizer.calls
    if still_applies(found, shorter, format):
        without = rig.manager.prepare("s", shorter, None, rig.system)
        kept = len(without.messages)
        assert wire_bytes(without.messages) == wire_bytes(found.messages[:kept])
    again = rig.prepare(messages)
    assert again is not None
    assert wire_bytes(again.messages) == wire_bytes(found.messages)
    assert rig.summarizer.calls == calls


@pytest.mark.parametrize(
    ("preset", "asked", "answered"), [("window", 1_500, 5), ("agent", 2_500, 5), ("rolling", 1_500, 800)]
)
def test_last_turn_deleted_behind_a_developer_message(preset: str, asked: int, answered: int) -> None:
    """The turn before it has its answer, so the record that dropped that turn's question still applies."""
    turn = [
        {"role": "user", "content": "word " * asked},
        {"role": "assistant", "content": "word " * answered},
    ]
    note = {"role": "developer", "content": "The release is frozen until Friday."}
    messages = [*turn, *turn, note, {"role": "user", "content": "Go on."}]
    rig = make_rig(preset, "openai-chat", SMALL)
    found = rig.prepare(messages)
    assert found is not None and still_applies(found, messages[:-1], "openai-chat")
    calls = rig.summarizer.calls
    without = rig.prepare(messages[:-1])
    assert without is not None and without.messages == found.messages[:-1]
    assert rig.summarizer.calls == calls


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(**LONG))
def test_fork_before_the_last_turn(preset: str, case: Case) -> None:
    format, _, messages = case
    rig, found = compacted(preset, case)
    start = last_turn(messages, format)
    shorter = messages[:start]
    [told] = render_scenes([Said("user", "Try it.", FRESH)], format)
    assume(shorter and still_applies(found, [*shorter, told], format))
    calls = rig.summarizer.calls
    forked = rig.prepare([*shorter, told])
    assert forked is not None
    assert rig.summarizer.calls == calls
    assert forked.messages[-1] is told
    kept = len(forked.messages) - 1
    assert wire_bytes(forked.messages[:kept]) == wire_bytes(found.messages[:kept])
    back = rig.prepare(messages)
    assert back is not None and wire_bytes(back.messages) == wire_bytes(found.messages)
    assert rig.summarizer.calls == calls


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(**LONG))
def test_a_clock_in_the_system_prompt(preset: str, case: Case) -> None:
    format, window, messages = case
    rig = make_rig(preset, format, window)

    def at(time: str) -> list[Any]:
        clock = render_scenes([Said("system", f"It is {time}.", FRESH)], format)
        if not clock:
            rig.system = f"You are a careful engineer. It is {time}."
        return [*clock, *messages]

    first = rig.prepare(at("09:15:01"))
    assume(first is not None and first.record is not None)
    assert first is not None
    calls = rig.summarizer.calls
    second = rig.prepare(at("09:15:02"))
    assert second is not None
    assert rig.summarizer.calls == calls
    own = len(at("09:15:03")) - len(messages)
    assert wire_bytes(second.messages[own:]) == wire_bytes(first.messages[own:])


@pytest.mark.parametrize("adopt", [False, True], ids=["full history", "adopted result"])
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=15)
@given(case=cases(assistant_first=True, min_turns=4))
def test_each_prompt_continues_the_one_before(preset: str, case: Case, adopt: bool) -> None:
    format, window, messages = case
    rig = make_rig(preset, format, window)
    list(check_growing(rig.manager, "s", messages, format, adopt=adopt, system=rig.system))
    rig.events.assert_balanced()


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(min_turns=4))
def test_the_same_conversation_under_another_id(preset: str, case: Case) -> None:
    """A record is found by what it replaced, so a copied session reuses it, also when it adopts results."""
    format, window, messages = case
    rig = make_rig(preset, format, window)
    grown = list(check_growing(rig.manager, "one", messages, format, adopt=False, system=rig.system))
    calls = rig.summarizer.calls
    copied = list(check_growing(rig.manager, "two", messages, format, adopt=True, system=rig.system))
    assert rig.summarizer.calls == calls
    assert len(copied) == len(grown)
    assert wire_bytes(copied[-1].messages) == wire_bytes(grown[-1].messages)
