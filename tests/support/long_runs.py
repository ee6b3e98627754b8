"""How the long tests share the machine with the many short ones.

Folders whose tests run whole programs, browsers, models or thousands of random sessions go first, so that
the short tests fill the end evenly. They are not traced for coverage either: tracing doubles their time, and
`unit` and `spec` alone must cover the package. With several workers a file stays on one of them, and so do
all files that share a browser or the local model, so that each is started once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
LONG = ("e2e", "faults", "frameworks", "properties", "contracts", "security")
"""In this order."""
TOGETHER = ("tests/e2e/browser/",)


def pytest_configure(config: pytest.Config) -> None:
    # pytest-cov knows it; where that is not installed, nothing is traced.
    config.addinivalue_line("markers", "no_cover: not traced for coverage")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        top = _folders(item.path)[:1]
        return LONG.index(top[0]) if top and top[0] in LONG else len(LONG)

    items.sort(key=rank)
    for item in items:
        if rank(item) < len(LONG):
            item.add_marker("no_cover")


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


def _folders(path: Path) -> tuple[str, ...]:
    return path.relative_to(TESTS).parts[:-1] if path.is_relative_to(TESTS) else ()
