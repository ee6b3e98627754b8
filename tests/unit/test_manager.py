"""CompactManager: what it promises its callers."""

from __future__ import annotations

import copy
import inspect
import weakref
from typing import Any

import pytest

from compact import CompactConfig, CompactError, CompactManager, InsufficientBudget
from compact.errors import FormatError, MalformedMessage
from compact.model.event import Event, EventName
from compact.policies import PRESETS
from compact.testing.scripted import CollectingExporter
from support.raw import Desk, Raw, assistant, pairs, protected, steps, summaries, system, tool, user

QUIET: dict[str, Any] = {"archive": {"adapter": "none"}}
"""Nothing is written to the working directory."""
LONG = [system(), *pairs(20), *steps(20, 60), assistant("done"), *pairs(10, first=21), user("new")]


@pytest.mark.parametrize("preset", PRESETS)
def test_what_the_caller_gave_is_never_changed(preset: str) -> None:
    history, tools = copy.deepcopy(LONG), [tool("read_file")]
    before = copy.deepcopy((history, tools))
    desk = Desk(preset)
    for call in (desk.manager.preflight, desk.manager.manual_compact, desk.manager.end_turn):
        call("s", history, tools=tools)
    assert (history, tools) == before


def test_the_list_type_stays() -> None:
    desk = Desk()
    assert isinstance(desk.preflight(LONG), list)
    assert isinstance(desk.preflight(tuple(LONG)), tuple)
    assert desk.preflight([]) == [] and desk.manager.preflight("s", ()) == ()


def test_the_list_that_comes_back_is_the_callers_to_change() -> None:
    desk = Desk()
    first = desk.preflight(LONG)
    expected = list(first)
    first.clear()
    assert desk.preflight(LONG) == expected
    calm = pairs(2)
    out = desk.preflight(calm, session="calm")
    assert out is not calm and out == calm


def test_switched_off_every_prompt_goes_out_as_it_is() -> None:
    desk = Desk(config={"enabled": False})
    assert desk.preflight(LONG) == LONG
    assert desk.decisions == [(False, "disabled")]


def test_sessions_do_not_mix() -> None:
    desk = Desk()
    one, two = desk.preflight(LONG, "one"), desk.preflight(pairs(3), "two")
    assert two == pairs(3) and len(summaries(one)) == 1
    assert desk.manager.records("two") == () and len(desk.manager.records("one")) == 1


def test_a_malformed_message_is_refused_with_its_index() -> None:
    desk = Desk()
    with pytest.raises(MalformedMessage) as caught:
        desk.preflight([user("a"), {"role": "tool", "content": "no id"}])
    assert caught.value.index == 1
    with pytest.raises(FormatError):
        desk.preflight([{"role": "wizard", "content": "x"}])
    # The session is unchanged.
    assert desk.preflight([user("a")]) == [user("a")]


def test_events_come_in_order_and_every_start_has_its_end() -> None:
    desk = Desk()
    for length in range(1, len(LONG) + 1, 7):
        desk.preflight(LONG[:length])
    desk.exporter.assert_ordered()
    desk.exporter.assert_balanced()
    names = {event.name for event in desk.exporter.events}
    assert {EventName.TOKEN_ESTIMATE, EventName.TRIGGER_DECISION} <= names
    assert [event.name for event in desk.manager.events] == desk.exporter.names


def test_an_exporter_may_be_a_function_and_may_fail(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("no network")

    manager = CompactManager(CompactConfig(counter="chars4", **QUIET), exporters=[broken, seen.append])
    manager.preflight("s", pairs(1))
    assert manager.flush()
    assert len(seen) == 2 and capsys.readouterr().err.count("no network") == 1


def test_a_floor_over_the_trigger_raises_the_trigger_with_a_warning_that_shows_the_sum() -> None:
    desk = Desk(window=4_000)
    history = [system(3_000), protected(user("memory", 500)), *pairs(2)]
    assert desk.preflight(history) == history
    (floor,) = desk.events(EventName.FLOOR)
    assert floor.data["floor"] == 3 + 3_004 + 504
    (warning,) = desk.warnings
    assert "system 3,004 + protected 504 = 3,508 tokens; trigger 3,400, budget 3,900" in warning
    desk.preflight(history)
    assert len(desk.warnings) == 1
    assert desk.manager.usage("s", history).trigger == 3_900


def test_a_floor_over_the_budget_is_refused() -> None:
    desk = Desk(window=4_000)
    with pytest.raises(InsufficientBudget) as caught:
        desk.preflight([system(4_000), user("hi")])
    assert caught.value.arithmetic["system_and_tools"] == 3 + 4_004


def test_restore_of_what_is_not_there_says_what_is() -> None:
    desk = Desk()
    with pytest.raises(CompactError, match="has no compaction 3"):
        desk.manager.restore("s", 3)
    desk.preflight(LONG)
    with pytest.raises(CompactError, match="it has: 1"):
        desk.manager.restore("s", 3)


def test_restoring_the_first_undoes_those_built_on_it() -> None:
    desk = Desk()
    history: list[Raw] = []
    for number in range(1, 90):
        history.append(user(f"question {number}"))
        desk.preflight(history)
        history.append(assistant(f"answer {number}"))
    assert len(desk.manager.records("s")) >= 2
    assert desk.manager.restore("s", 1)[:4] == history[:4]
    assert desk.manager.usage("s", history).tokens == desk.tokens(history)
    (event,) = desk.events(EventName.RESTORED)
    assert event.data == {"step": 1}


def test_context_is_counted_and_repeated_context_adds_nothing() -> None:
    desk = Desk()
    history = [user("question 1")]
    first = desk.prepare(history, context="Memory A").messages
    assert desk.prepare(history, context="Memory A").messages == first
    assert desk.prepare(history).messages == first
    # A caller who goes on with what came back does not get it twice.
    later = desk.prepare([*first, assistant("a"), user("b")], context="Memory A").messages
    assert sum("Memory A" in m["content"] for m in later) == 1


def test_switched_off_means_off_for_every_call() -> None:
    used = Desk()
    used.preflight(LONG)
    desk = Desk(config={"enabled": False})
    off = CompactManager(desk.manager.config, summarizer=desk.summarizer, store=used.manager._engine.store)
    assert off.preflight("s", LONG) == off.manual_compact("s", LONG) == off.end_turn("s", LONG) == LONG
    huge = [{"role": "user", "content": "x" * 1_000_000, "meta": {"protected": True}}]
    assert off.preflight("t", huge) == huge


@pytest.mark.parametrize("odd", [[{"role": "weird", "content": 1}], [5], ({"role": "user"},)])
def test_switched_off_even_what_cannot_be_read_goes_out_as_it_is(odd: Any) -> None:
    desk = Desk(config={"enabled": False})
    prepared = desk.manager.prepare("s", odd)
    assert prepared.messages == odd and type(prepared.messages) is type(odd)
    assert prepared.tokens.final > 0 and prepared.debug.reason == "disabled"
    assert "is returned unread" in desk.warnings[-1]
    with pytest.raises(CompactError, match="messages must be a list"):
        desk.manager.prepare("s", None)  # type: ignore[arg-type]


async def test_every_call_has_its_async_twin() -> None:
    sync, twin = Desk(), Desk()
    assert await twin.manager.apreflight("s", LONG) == sync.preflight(LONG)
    assert (await twin.manager.aprepare("t", pairs(2), context="M")).messages == sync.prepare(
        pairs(2), "t", context="M"
    ).messages
    assert await twin.manager.amanual_compact("m", LONG, note="n") == sync.manager.manual_compact(
        "m", LONG, note="n"
    )
    assert await twin.manager.aend_turn("e", LONG) == sync.manager.end_turn("e", LONG)
    assert await twin.manager.aoverflow("o", LONG) == sync.manager.overflow("o", LONG)
    assert (await twin.manager.aview("s", LONG)).messages == sync.manager.view("s", LONG).messages
    assert (await twin.manager.aclear("s", LONG)).source == sync.manager.clear("s", LONG).source


def test_no_twin_is_missing_and_each_takes_the_same() -> None:
    # These neither block nor wait for anything.
    immediate = {"window", "events", "config", "reload", "warn", "for_model"}
    for name in dir(CompactManager):
        is_twin = name[0] == "a" and hasattr(CompactManager, name[1:])
        if name.startswith("_") or name in immediate or is_twin:
            continue
        twin = getattr(CompactManager, f"a{name}")
        assert inspect.signature(twin) == inspect.signature(getattr(CompactManager, name)), name


def test_a_named_format_is_not_guessed() -> None:
    exporter = CollectingExporter()
    config = CompactConfig(counter="chars4", max_context_tokens=4_000, **QUIET)
    manager = CompactManager(config, exporters=[exporter], format="anthropic")
    blocks: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert manager.preflight("s", blocks) == blocks
    with pytest.raises(MalformedMessage):
        manager.preflight("t", [{"role": "tool", "tool_call_id": "x", "content": "y"}])


def test_the_window_comes_from_the_model_or_the_configuration() -> None:
    assert CompactManager(CompactConfig(model="gpt-4o", **QUIET)).window == 128_000
    assert CompactManager(CompactConfig(model="gpt-4o", max_context_tokens=9_000, **QUIET)).window == 9_000
    unknown = CompactManager(CompactConfig(model="nobody/knows-this", **QUIET))
    assert unknown.window == 16_000
    assert any("nobody/knows-this" in event.data["message"] for event in unknown.events)


def test_a_manager_that_is_dropped_is_freed_at_once() -> None:
    """Without waiting for the garbage collector, which would have to visit every message it held."""
    manager = CompactManager(CompactConfig(max_context_tokens=4_000, **QUIET))
    manager.preflight("s", LONG)
    held = weakref.ref(manager._engine.store)
    del manager
    assert held() is None
