"""Shared setup: the requirement report and one deterministic Hypothesis profile."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "support.memory_folders",
    "support.line_coverage",
    "support.spec_plugin",
    "support.long_runs",
    "support.process_state",
    "support.postgres",
    "support.local_model",
]

# The same examples on every run and every machine; a failure prints the blob that reproduces it.
# HYPOTHESIS_PROFILE=explore searches for new examples instead.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs this way, and every process that a test starts would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Test collection loads half a million permanent objects. The garbage collector need not scan them each time.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def short_pauses() -> Iterator[None]:
    """The servers of these tests need no time to recover before they are asked again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compact.models._http._FIRST_WAIT", 0.01)
        yield
