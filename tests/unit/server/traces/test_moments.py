"""Times as senders write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.server.traces.moments import iso, micros, milliseconds

NOON = 1_777_636_800_000_000
"""2026-05-01T12:00:00Z"""


@pytest.mark.parametrize(
    "written",
    [
        "2026-05-01T12:00:00Z",
        "2026-05-01T12:00:00",
        "2026-05-01T14:00:00+02:00",
        "2026-05-01T06:30:00-05:30",
        " 2026-05-01 12:00:00.000000000Z ",
        1_777_636_800,
        1_777_636_800.0,
        1_777_636_800_000,
        1_777_636_800_000_000,
        1_777_636_800_000_000_000,
        "1777636800000000000",
        "1777636800.0",
    ],
)
def test_all_ways_to_write_noon(written: Any) -> None:
    assert micros(written) == NOON
    assert iso(NOON) == "2026-05-01T12:00:00.000000Z"


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_time_is_none(nothing: Any) -> None:
    assert micros(nothing) is None and iso(None) is None


@pytest.mark.parametrize(
    "wrong",
    [
        *(True, [], {}, "soon", -1, float("nan"), float("inf"), 10**30, 10**400, "9" * 21),
        *("2026-13-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_what_is_no_time_is_refused(wrong: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        micros(wrong)


@given(st.integers(0, 253_402_300_799_999_999))
def test_what_is_written_is_read_again(moment: int) -> None:
    assert micros(iso(moment)) == moment


def test_a_clock_that_went_backwards_makes_no_negative_time() -> None:
    assert milliseconds(NOON, NOON - 5) == 0.0
    assert milliseconds(NOON, NOON + 1_500) == 1.5
    assert milliseconds(None, NOON) is None
