"""A long list at first sight costs what its messages cost: twice as many, twice the work, not four times."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from support.raw import Desk, pairs


def work(turns: int, window: int) -> int:
    """Calls that the first preflight of so many turns makes: what it does, not how long it takes."""
    desk = Desk(window=window)
    history = pairs(turns)
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        desk.preflight(history)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("window", [10_000_000, 20_000], ids=["fits", "compacts"])
def test_the_work_grows_with_the_messages_and_no_faster(window: int) -> None:
    work(300, window)  # imports and caches of the process are no part of it
    assert work(1_200, window) <= 2.2 * work(600, window)
