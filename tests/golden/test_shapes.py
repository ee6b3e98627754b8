"""What each preset makes of each scenario, as text files that a reviewer can read.

After a change of behavior on purpose, write them anew with `UPDATE_GOLDENS=1 pytest tests/golden` and read
the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compact import lint
from compact.policies import PRESETS
from golden.drawing import draw
from golden.scenarios import SCENARIOS
from support.raw import Desk

SHAPES = Path(__file__).parent / "shapes"
CASES = [(preset, name) for preset in PRESETS for name in SCENARIOS]


@pytest.mark.parametrize(("preset", "name"), CASES)
def test_shape(preset: str, name: str) -> None:
    scenario = SCENARIOS[name]
    desk = Desk(preset, window=scenario.window, summarizer=scenario.summarizer())
    for history in scenario.rounds():
        prepared = desk.prepare(history)
        assert prepared.tokens.final <= desk.manager.usage("s", history).budget
        assert lint(prepared.messages, "anthropic" if name.startswith("anthropic") else "openai") == []
    drawn = draw(scenario.sentence, preset, desk, history, prepared)
    path = SHAPES / preset / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
    assert path.exists(), "no such shape yet; write it with UPDATE_GOLDENS=1 and read it"
    assert drawn == path.read_text(encoding="utf-8"), "the shape differs; see the head of this file"


def test_no_shape_is_left_over() -> None:
    found = {(path.parent.name, path.stem) for path in SHAPES.rglob("*.txt")}
    assert found == set(CASES)
