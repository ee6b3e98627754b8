"""Every test leaves its process as it found it: another test runs there next, in any order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGALRM)


def _tracing() -> dict[str, Any]:
    """The global switches of the Agents SDK. Not imported for this, because that takes a second."""
    setup = sys.modules.get("agents.tracing.setup")
    provider = getattr(setup, "GLOBAL_TRACE_PROVIDER", None)
    if provider is None:
        return {}
    return {
        "agents tracing disabled": provider._disabled,
        "agents trace processors": tuple(provider._multi_processor._processors),
    }


def _state() -> dict[str, Any]:
    root = logging.getLogger()
    return {
        "environment": {name: v for name, v in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "working directory": os.getcwd(),
        "signal handlers": [signal.getsignal(number) for number in _SIGNALS],
        "logging level": (root.level, root.manager.disable),
        "event loop policy": type(asyncio.get_event_loop_policy()),
        "exception hooks": (sys.excepthook, threading.excepthook),
        "socket timeout": socket.getdefaulttimeout(),
        "standard input": sys.stdin,
        **_tracing(),
    }


@pytest.fixture(autouse=True)
def unchanged_process() -> Iterator[None]:
    before = _state()
    yield
    after = _state()
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"the test left its process changed: {', '.join(changed)}"
