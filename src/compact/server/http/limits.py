"""How often, and how many at once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from compact.server.http.problems import Problem

_REMEMBERED = 10_000


class RateLimit:
    """A token bucket for each caller: `burst` at once, `per_second` in the long run."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request; a Problem if the caller has made too many."""
        if not self._per_second:
            return
        left = self._left(caller)
        self._buckets.pop(caller, None)
        self._buckets[caller] = (max(0.0, left - 1), self._clock())
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        self._refuse_below_one(left)

    def check(self, caller: str) -> None:
        """The same Problem, without counting."""
        if self._per_second:
            self._refuse_below_one(self._left(caller))

    def _left(self, caller: str) -> float:
        left, at = self._buckets.get(caller, (float(self._burst), self._clock()))
        return min(float(self._burst), left + (self._clock() - at) * self._per_second)

    def _refuse_below_one(self, left: float) -> None:
        if left < 1:
            wait = max(1, round((1 - left) / self._per_second))
            raise Problem(429, "too-many-requests", "Too many requests. Wait a moment.", retry_after=wait)


class Seats:
    """A number of seats. One is taken before anything is awaited, so that no two share the last."""

    def __init__(self, number: int, what: str) -> None:
        self._number = number
        self._what = what
        self.taken = 0

    def take(self) -> Seat:
        if self.taken >= self._number:
            raise Problem(503, "busy", f"{self._number} {self._what} already.", retry_after=5)
        self.taken += 1
        return Seat(self)


class Seat:
    """One seat, returned once, however often it is left."""

    def __init__(self, seats: Seats) -> None:
        self._seats: Seats | None = seats

    def leave(self) -> None:
        if self._seats is not None:
            self._seats.taken -= 1
            self._seats = None
