"""Browsers and terminals are paced by other processes, also by the tests beside them.

A test here that fails is tried once more on fresh fixtures, and a warning names it: a fault fails twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

_HERE = Path(__file__).parent


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not item.path.is_relative_to(_HERE):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if any(report.failed for report in reports):
        item.warn(pytest.PytestWarning(f"{item.nodeid} failed once and was tried again"))
        item._initrequest()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
