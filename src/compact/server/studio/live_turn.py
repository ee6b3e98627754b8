"""A reply while it is written: its chunks, and its readers."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

from compact.server.http.bell import Bell
from compact.server.studio.ui_stream import DONE, encoded


class LiveTurn:
    """The reply continues whoever reads or leaves. Each chunk has an id: the turn's, then its number."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.id = secrets.token_hex(6)
        self._chunks: list[bytes] = []
        self._bell = Bell()
        self.done = False

    def add(self, chunk: Mapping[str, Any]) -> None:
        self._chunks.append(encoded(chunk, f"{self.id}-{len(self._chunks) + 1}"))
        self._bell.ring()

    def finish(self, *end: Mapping[str, Any]) -> None:
        """It is over, with these as its last chunks."""
        for chunk in end:
            self.add(chunk)
        self.done = True
        self._bell.ring()

    def after(self, last_event_id: str) -> int | None:
        """How many chunks a reader with this id has seen; None if the id belongs to another turn."""
        turn, _, number = last_event_id.rpartition("-")
        if turn != self.id or not (number.isascii() and number.isdigit()):
            return None
        return min(int(number[:9]), len(self._chunks))

    async def follow(self, seen: int = 0) -> AsyncIterator[bytes]:
        """The chunks after the first `seen`, until the reply is done."""
        while True:
            rung = self._bell.listen()
            if seen < len(self._chunks):
                new = self._chunks[seen:]
                seen += len(new)
                yield b"".join(new)
            elif self.done:
                yield DONE
                return
            else:
                await rung.wait()
