"""One thread that renews all leases of a store while they are held."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread, current_thread

from compact.errors import StoreError

_log = logging.getLogger("compact")
_IDLE_SECONDS = 10.0
"""How long the thread waits for the next lease before it ends."""
_SHARE = 3
"""Renewals per lease time, so that two may fail."""


class _Held:
    """A lease, and when it has to be renewed."""

    def __init__(self, seconds: float, renew: Callable[[], bool]) -> None:
        self.renew = renew
        self.every = seconds / _SHARE
        self.due = time.monotonic() + self.every


class Renewals:
    """Started with the first lease, gone soon after the last. Most leases end before they are due."""

    def __init__(self) -> None:
        self._held: set[_Held] = set()
        self._changed = Condition()
        self._thread: Thread | None = None

    @contextmanager
    def during(self, seconds: float, renew: Callable[[], bool]) -> Iterator[None]:
        """Call `renew` repeatedly until the block exits or it returns False: the lease is lost."""
        held = _Held(seconds, renew)
        with self._changed:
            self._held.add(held)
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="compact-leases", daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._held.discard(held)

    def stop(self) -> None:
        """Stop the thread when it finishes its current work; the leases expire."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._held.clear()
            self._changed.notify()
        if thread is not None:
            thread.join(_IDLE_SECONDS)

    def _run(self) -> None:
        while (held := self._next_due()) is not None:
            if not _is_renewed(held):
                with self._changed:
                    self._held.discard(held)

    def _next_due(self) -> _Held | None:
        """The next lease to renew, when it is due; None if there was none for a while."""
        idle_since = time.monotonic()
        with self._changed:
            while self._thread is current_thread():
                now = time.monotonic()
                first = min(self._held, key=lambda held: held.due, default=None)
                if first is not None and first.due <= now:
                    first.due = now + first.every
                    return first
                if first is not None:
                    idle_since = now
                elif now - idle_since >= _IDLE_SECONDS:
                    self._thread = None
                    break
                until = first.due if first is not None else idle_since + _IDLE_SECONDS
                self._changed.wait(until - now)
        return None


def _is_renewed(held: _Held) -> bool:
    try:
        return held.renew()
    except StoreError as error:
        # It is due again before it expires.
        _log.warning("A compaction lease could not be renewed: %s", error)
        return True
