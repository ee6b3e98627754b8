"""What holds for every single preflight, whatever the conversation, the format and the preset."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compact.errors import InsufficientBudget, SummarizerError
from compact.model.plan import Mode
from compact.testing import EchoSummarizer
from compact.testing.policies import check_growing, check_lint, check_protected, wire_bytes
from support.rig import PRESETS, cases, make_rig

Case = tuple[str, int, list[Any]]


@pytest.mark.spec("S4.19")
@pytest.mark.spec("S4.6")
@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=50)
@given(case=cases(assistant_first=True, protected=True))
def test_valid_within_budget_as_planned_and_nothing_mutated(preset: str, case: Case) -> None:
    format, window, messages = case
    rig = make_rig(preset, format, window)
    plan = rig.manager.plan("s", messages, system=rig.system)
    done = rig.prepare(messages)
    if done is not None and done.record is not None and done.record.summary:
        assert plan.mode is Mode.SUMMARIZE and done.tokens.final <= plan.after
    rig.events.assert_balanced()
    rig.events.assert_valid()
    rig.events.assert_ordered()


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(assistant_first=True, protected=True))
def test_same_input_same_bytes(preset: str, case: Case) -> None:
    format, window, messages = case
    first = make_rig(preset, format, window).prepare(messages)
    second = make_rig(preset, format, window).prepare(copy.deepcopy(messages), session="other")
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert wire_bytes(first.messages) == wire_bytes(second.messages)


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=15)
@given(case=cases(protected=True))
def test_async_does_the_same(preset: str, case: Case) -> None:
    format, window, messages = case
    expected = make_rig(preset, format, window).prepare(messages)
    rig = make_rig(preset, format, window)
    call = rig.manager.apreflight("s", messages, system=rig.system)
    if expected is None:
        with pytest.raises(InsufficientBudget):
            asyncio.run(call)
    else:
        assert wire_bytes(asyncio.run(call)) == wire_bytes(expected.messages)


class Failing:
    """Fails in one of the ways a summarizer can."""

    def __init__(self, way: str) -> None:
        self.way = way

    def summarize(self, request: Any) -> str:
        if self.way == "down":
            raise SummarizerError("the model is down")
        if self.way == "crash":
            raise RuntimeError("a bug")
        return {"empty": " ", "long": "word " * 40_000, "refusal": "I'm sorry, I can't help with that."}[
            self.way
        ]


@pytest.mark.spec("S4.18")
@pytest.mark.spec("S3.5", part="engine")
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(
    case=cases(assistant_first=True, protected=True),
    way=st.sampled_from(("down", "crash", "empty", "long", "refusal")),
)
def test_without_a_summary_the_prompt_fits_all_the_same(preset: str, case: Case, way: str) -> None:
    format, window, messages = case
    rig = make_rig(preset, format, window, Failing(way))
    rig.prepare(messages)
    rig.events.assert_balanced()
    rig.events.assert_valid()


class Faltering(EchoSummarizer):
    """Works the first time and never again."""

    def summarize(self, request: Any) -> str:
        if self.calls:
            raise SummarizerError("the model is down")
        return super().summarize(request)


@pytest.mark.spec("S4.18")
@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(assistant_first=True, protected=True), adopt=st.booleans())
def test_a_summary_is_carried_along_when_no_other_can_be_made(preset: str, case: Case, adopt: bool) -> None:
    format, window, messages = case
    rig = make_rig(preset, format, window, Faltering())
    list(check_growing(rig.manager, "s", messages, format, adopt=adopt, system=rig.system))


@pytest.mark.spec("S4.4")
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=25)
@given(case=cases(assistant_first=True, protected=True))
def test_manual_compaction_is_as_careful(preset: str, case: Case) -> None:
    format, window, messages = case
    rig = make_rig(preset, format, window)
    before = copy.deepcopy(messages)
    try:
        result = rig.manager.manual_compact("s", messages, note="keep the paths", system=rig.system)
    except InsufficientBudget:
        assert messages == before
        return
    assert messages == before
    check_protected(messages, result)
    check_lint(messages, result, format)
    rig.prepare(messages)
