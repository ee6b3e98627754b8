"""The fixture that watches every test finds what it is there for."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


def test_a_test_that_changes_its_process_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("""
import logging, os, signal

def test_environment(): os.environ["LEFT_BEHIND"] = "1"
def test_folder(): os.chdir("/")
def test_signal(): signal.signal(signal.SIGTERM, signal.SIG_IGN)
def test_logging(): logging.disable(logging.ERROR)

def test_with_monkeypatch(monkeypatch, tmp_path):
    monkeypatch.setenv("LEFT_BEHIND", "2")
    monkeypatch.chdir(tmp_path)
""")
    result = pytester.runpytest_subprocess("-p", "support.process_state")
    result.assert_outcomes(passed=5, errors=4)
    changed = ("environment", "working directory", "signal handlers", "logging level")
    result.stdout.fnmatch_lines_random([f"*left its process changed: {name}" for name in changed])
