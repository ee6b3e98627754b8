"""The benchmark of S4.20, at a scale at which it takes a moment: what it runs and what it reckons.

How long things take is for the benchmark to say; here no time is judged.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from support.agents_runs import traced_by

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "session_share.py"


@pytest.fixture(scope="module")
def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("session_share", BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.spec("S4.20")
async def test_every_turn_is_measured_and_a_few_rounds_are_enough(benchmark: Any) -> None:
    turns, rounds = 100, 5
    with traced_by():
        measured = await benchmark.measure(turns, 0.0, rounds, 16_000)
    # One each time the window is full; what a compaction keeps is a larger part of a small window.
    assert rounds <= len(measured.compacting) <= rounds + 3
    assert len(measured.plain) == len(measured.busy) == turns - len(measured.compacting)
    assert 0 < measured.ours < measured.wall


@pytest.mark.spec("S4.20")
def test_the_share_is_all_that_compact_did_over_the_whole_session(
    benchmark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = [0.002] * 95
    measured = benchmark.Measured(100, 50.0, quick, quick, [0.8] * 5, 0.31, waited=40.5)
    assert measured.ours == pytest.approx(0.19 + 4.0 + 0.31)
    assert measured.share == pytest.approx(0.09)
    assert measured.strict_share == pytest.approx(0.1)
    assert benchmark.report(measured)
    measured.wall = 44.0
    assert not benchmark.report(measured), "over a tenth of the session"
    measured.wall, measured.busy = 50.0, [0.011] * 95
    assert not benchmark.report(measured), "a preflight over 10 ms"
    shown = capsys.readouterr().out
    assert "9.00%" in shown and shown.count("does not hold") == 2
