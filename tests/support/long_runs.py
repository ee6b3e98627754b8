"""How the long tests share the machine with the many short ones.

Tests that run whole programs, browsers, models or thousands of random sessions go first, so that the short
ones fill the end evenly. Tests that wait for another process alternate with those that compute; otherwise all
workers would wait at the same time. With several workers, each file stays on one of them, and so do all files
with a browser.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
WAITING = (
    "e2e/browser/",
    "e2e/",
    "faults/",
    "unit/test_examples",
    "spec/test_terminal_spec",
    "spec/test_workers_spec",
)
COMPUTING = (
    "properties/",
    "contracts/",
    "security/",
    "unit/test_extending",
    "unit/testing/",
    "spec/test_endurance",
)
"""How the paths of both kinds begin, in this order."""
TOGETHER = ("tests/e2e/browser/",)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    files = list(dict.fromkeys(item.path for item in items))
    places = {path: 1.0 for path in files}
    for kind in (WAITING, COMPUTING):
        found = sorted(
            (path for path in files if _rank(path, kind) < len(kind)), key=lambda path: _rank(path, kind)
        )
        places |= {path: number / len(found) for number, path in enumerate(found)}
    items.sort(key=lambda item: places[item.path])


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


def _rank(path: Path, kind: tuple[str, ...]) -> int:
    name = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return next((rank for rank, begins in enumerate(kind) if name.startswith(begins)), len(kind))
