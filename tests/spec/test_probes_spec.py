"""What was settled in the summarized part is still answerable: probes like those of evaluation data."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from compact import CompactConfig
from compact.evaluation import TAIL, Outcome, Trial, evaluate, load_cases, parse_windows
from compact.evaluation.scoring import Score
from support.probed import Line, coding, service, talk


def outcomes(tmp_path: Path, make: Callable[[int], Line]) -> dict[str, list[Outcome]]:
    """Each conversation lived again under the preset and, to compare, with the newest messages alone."""
    path = tmp_path / "made-up.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(make(seed)) for seed in range(1, 5)).encode()))
    trial = Trial(
        configure=lambda preset: CompactConfig(preset=preset, counter="chars4"),
        presets=("chat", TAIL),
        windows=parse_windows("50%"),
    )
    found: dict[str, list[Outcome]] = {"chat": [], TAIL: []}
    cases, problems = load_cases([path])
    assert len(cases) == 4 and not problems
    for case in cases:
        for outcome in evaluate(case, trial):
            assert isinstance(outcome, Outcome) and not outcome.error, outcome
            found[outcome.preset].append(outcome)
    return found


def share(found: list[Outcome], of: Callable[[Outcome], Score]) -> float:
    kept = sum((of(outcome) for outcome in found), Score()).share
    assert kept is not None, "there are probes"
    return kept


@pytest.mark.spec("S0.3")
@pytest.mark.parametrize("make", [service, coding])
def test_what_the_agent_needs_again_is_still_there(tmp_path: Path, make: Callable[[int], Line]) -> None:
    found = outcomes(tmp_path, make)
    assert share(found["chat"], lambda outcome: outcome.hard) >= 0.9
    assert share(found[TAIL], lambda outcome: outcome.hard) < 0.3, "the newest messages alone do not hold it"
    for outcome in found["chat"]:
        assert outcome.compactions and not outcome.violations


@pytest.mark.spec("S0.3")
def test_questions_about_what_was_said_have_their_answers(tmp_path: Path) -> None:
    found = outcomes(tmp_path, talk)
    assert share(found["chat"], lambda outcome: outcome.questions) >= 0.9
    assert share(found[TAIL], lambda outcome: outcome.questions) < 0.6
    assert all(outcome.compactions and not outcome.violations for outcome in found["chat"])
