"""Wakes those who follow a log."""

from __future__ import annotations

import asyncio


class Bell:
    """Rings for all who wait when something was written; belongs to one event loop."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self.closed = False

    def ring(self) -> None:
        self._rung.set()
        self._rung = asyncio.Event()

    def close(self) -> None:
        self.closed = True
        self.ring()

    def listen(self) -> asyncio.Event:
        """Taken before looking, so that a ring in between is not missed."""
        return self._rung
