"""How the long tests share the machine with the many short ones.

Tests that run whole programs, browsers, models or thousands of random sessions go first, so that the short
ones fill the end evenly. With several workers a file stays on one of them, and so do all files with a
browser.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
LONG = (
    "e2e/",
    "faults/",
    "properties/",
    "contracts/test_policies",
    "unit/test_extending",
    "unit/test_examples",
    "spec/test_endurance",
    "spec/test_terminal_spec",
    "spec/test_workers_spec",
)
"""How their paths begin, in this order."""
TOGETHER = ("tests/e2e/browser/",)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folder = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
            return folder or nodeid.split("::", 1)[0]

    config.option.loadscopereorder = False
    return ByFile(config, log)


def _rank(item: pytest.Item) -> int:
    path = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
    return next((rank for rank, begins in enumerate(LONG) if path.startswith(begins)), len(LONG))
