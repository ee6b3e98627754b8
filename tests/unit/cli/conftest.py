"""Runs the command as a user would, in its own folder."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from compact.cli import main
from support.cli import Compact, Ended

SAMPLE = Path(__file__).parents[3] / "examples" / "sample_session.json"


@pytest.fixture
def compact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compact:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # The studio keeps its sessions there.
    monkeypatch.setenv("COLUMNS", "80")

    def call(*argv: str | Path, stdin: str = "", environ: dict[str, str] | None = None) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        code = main([str(word) for word in argv], io.StringIO(stdin), out, err, environ or {})
        return Ended(int(code), out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def sample() -> Path:
    return SAMPLE
