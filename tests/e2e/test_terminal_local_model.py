"""One conversation of three windows in a real terminal, answered by the real local model.

The model reads some 130 tokens a second, so most of the conversation comes from files, which it is sent only
where a trim has left them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compact.counters import counter_for
from compact.models import local
from support import terminal as terminals
from support.terminal import Terminal, chatting
from unit.counters.sample_texts import SENTENCES

TRIMMED = "Context trimmed. Kept first 2 and last 10 turns."
OPTIONS = ("--model", "local", "--system", "Answer in one short sentence.", "--preset", "window")
# The model finds no end where it is asked for no answer.
SHORT = ("--set", f"models={{{local.MODEL}: {{window: {local.WINDOW}, max_output: 24}}}}")
QUESTION = "What is the capital of France?"
COUNT = counter_for(local.MODEL).count

pytestmark = pytest.mark.skipif(local.missing() is not None, reason=str(local.missing()))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "SECONDS", 240.0)


def prose(rng: random.Random, tokens: int) -> str:
    """About so many tokens, in one line."""
    words = ""
    while COUNT(words) < tokens:
        words += rng.choice(SENTENCES["english"]) + " "
    return words.strip()


def told_before(number: int) -> list[dict[str, Any]]:
    """A history of a window and more, whose last turns are short."""
    rng = random.Random(number)
    roles = ("user", "assistant")
    sizes = [330] * 26 + [20] * 10
    return [{"role": roles[at % 2], "content": prose(rng, size)} for at, size in enumerate(sizes)]


def exported(terminal: Terminal, folder: Path) -> list[dict[str, Any]]:
    terminal.say("/export all.json")
    found: list[dict[str, Any]] = json.loads((folder / "all.json").read_text())
    return found


def assert_whole(turns: list[dict[str, Any]]) -> Iterator[int]:
    """Three windows were told, and what went out never passed the one that the model has."""
    assert sum(COUNT(turn["content"]) for turn in turns) >= 3 * local.WINDOW
    asked = [turn["usage"] for turn in turns if "usage" in turn]
    for usage in asked:
        assert usage["prompt_tokens"] + usage["completion_tokens"] <= local.WINDOW
        yield usage["prompt_tokens"]


@pytest.mark.spec("S1.2", "S1.7")
@pytest.mark.spec("S1.6", part="terminal")
def test_three_windows_with_a_real_model(tmp_path: Path) -> None:
    parts = [told_before(number) for number in range(3)]
    with chatting(tmp_path, *OPTIONS, *SHORT, "long", columns=100) as terminal:
        assert "SmolLM2-135M, a demo model" in terminal.status
        assert terminal.say(QUESTION)
        for number, part in enumerate(parts, 1):
            (tmp_path / "part.json").write_text(json.dumps(part))
            assert f"{len(part)} turns imported" in terminal.say("/import part.json")
            said = terminal.say(f"{QUESTION} Question {number}.")
            assert TRIMMED in said
            assert f"⟳{number}" in terminal.status
            assert "at most" not in said, "the server refused nothing"
        turns = exported(terminal, tmp_path)
        read = list(assert_whole(turns))
        assert len(read) == 4, "every question was answered by the model"
        assert max(read) < local.WINDOW // 2, "what went out was the trimmed view"
        assert [turn["content"] for turn in turns if turn["content"].startswith(QUESTION)] == [
            QUESTION,
            *(f"{QUESTION} Question {number}." for number in (1, 2, 3)),
        ]
        terminal.enter("/quit")
        assert terminal.ended() == 0
