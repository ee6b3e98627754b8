"""Points in time, as senders write them; kept as whole microseconds since 1970."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 253_402_300_799_999_999
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,9})?")
_MICROSECOND = timedelta(microseconds=1)


def micros(value: Any) -> int | None:
    """ISO 8601 with any offset (none means UTC), or a number of s, ms, µs or ns, distinguished by its size.

    ValueError if it is neither.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return _of_number(float(text) if "." in text else int(text))
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return _checked((moment - _EPOCH) // _MICROSECOND)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("neither text nor a number")
    return _of_number(value)


def iso(moment: int | None) -> str | None:
    if moment is None:
        return None
    return (_EPOCH + timedelta(microseconds=moment)).isoformat(timespec="microseconds")[:-6] + "Z"


def milliseconds(start: int | None, end: int | None) -> float | None:
    """How long it took; 0 if the clock went backward in between."""
    return None if start is None or end is None else max(0, end - start) / 1000


def _of_number(number: int | float) -> int:
    if not math.isfinite(number) or number < 0:
        raise ValueError("not a time")
    # The year 5138 in seconds is 1973 in milliseconds, and so on: no real time is mistaken.
    if number < 1e11:
        return _checked(round(number * 1_000_000))
    if number < 1e14:
        return _checked(round(number * 1_000))
    return _checked(int(number) if number < 1e17 else int(number) // 1_000)


def _checked(moment: int) -> int:
    if not 0 <= moment <= _LATEST:
        raise ValueError("outside the years 1970 to 9999")
    return moment
