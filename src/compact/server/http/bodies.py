"""Read a request's body within its limits, however it is sent."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from compact.server.http.problems import Problem

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_PIECE = 64 * 1024
# A sender that has only just begun has no speed yet.
_FAIR_START = 1.0


async def drain(chunks: AsyncIterator[bytes], limit: int = 1 << 21, seconds: float = 1.0) -> None:
    """Lets a rejected sender finish, within bounds: one that is cut off may never read why."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                limit -= len(chunk)
                if limit < 0:
                    return


class BodyRoom:
    """The memory that all bodies together may take.

    It counts the bytes that have arrived, so stalled senders hold nothing that others need. When it is full,
    the slowest sender is dropped: many slow ones cannot keep out one that sends.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._bodies: set[IncomingBody] = set()

    def open(self) -> IncomingBody:
        body = IncomingBody(self)
        self._bodies.add(body)
        return body

    def _take(self, asking: IncomingBody, size: int) -> None:
        while self._taken + size > self._limit:
            slowest = min((body for body in self._bodies if body.held or body is asking), key=_speed)
            if slowest is asking or slowest.timeout is None:
                raise Problem(
                    503,
                    "busy",
                    "Too many large requests are coming in at once. Nothing was stored; try again.",
                    retry_after=1,
                )
            slowest.timeout.reschedule(asyncio.get_running_loop().time())
            self._release(slowest)
        self._taken += size
        asking.held += size

    def _release(self, body: IncomingBody) -> None:
        self._taken -= body.held
        body.held = 0
        self._bodies.discard(body)


class IncomingBody:
    """One body on its way in; closing it gives its memory back."""

    def __init__(self, room: BodyRoom) -> None:
        self._room = room
        self.held = 0
        self.started = asyncio.get_running_loop().time()
        self.timeout: asyncio.Timeout | None = None
        """Set while it is read; a complete body is no longer dropped."""

    def __enter__(self) -> IncomingBody:
        return self

    def __exit__(self, *problem: object) -> None:
        self._room._release(self)

    async def read(self, chunks: AsyncIterator[bytes], encoding: str, limit: int, seconds: float) -> bytes:
        """The body, decompressed; a Problem as soon as it is larger than `limit`, compressed or not.

        What counts are the bytes that arrive, not what a header promises.
        """
        try:
            async with asyncio.timeout(seconds) as self.timeout:
                return await _unpacked(chunks, encoding, limit, self._grow)
        except TimeoutError:
            raise Problem(
                408, "body-too-slow", f"The body did not arrive in time ({seconds:g} s). Nothing was stored."
            ) from None
        finally:
            self.timeout = None

    def _grow(self, size: int) -> None:
        self._room._take(self, size)


def _speed(body: IncomingBody) -> float:
    elapsed = asyncio.get_running_loop().time() - body.started
    return body.held / elapsed if elapsed > _FAIR_START else float("inf")


async def _unpacked(
    chunks: AsyncIterator[bytes], encoding: str, limit: int, grow: Callable[[int], None]
) -> bytes:
    name = encoding.strip().lower()
    if name not in ("", "identity") and name not in _WINDOW_BITS:
        raise Problem(
            415,
            "unknown-encoding",
            f"The content encoding {encoding[:40]!r} is not known here; use gzip or none.",
        )
    unpack = zlib.decompressobj(_WINDOW_BITS[name]) if name in _WINDOW_BITS else None
    body, arrived = bytearray(), 0
    try:
        async for chunk in chunks:
            arrived += len(chunk)
            if arrived > limit:
                raise too_large(limit)
            before = len(body)
            if unpack is None:
                body += chunk
            else:
                _unpack(unpack, chunk, body, limit)
            grow(len(body) - before)
    except zlib.error as error:
        raise Problem(400, "bad-encoding", f"The body is not {name}: {error}. Nothing was stored.") from None
    if unpack is not None and not unpack.eof:
        raise Problem(400, "bad-encoding", f"The {name} body ends too early. Nothing was stored.")
    return bytes(body)


def _unpack(unpack: Any, chunk: bytes, body: bytearray, limit: int) -> None:
    """A little at a time: a bomb is noticed when it exceeds the limit, not when it has been unpacked."""
    while chunk:
        body += unpack.decompress(chunk, _PIECE)
        if len(body) > limit:
            raise too_large(limit)
        chunk = unpack.unconsumed_tail


def parse_json(body: bytes) -> Any:
    try:
        # Python writes NaN where JSON has none; its name says what it was.
        return json.loads(body, parse_constant=str)
    except RecursionError:
        raise Problem(400, "bad-json", "The JSON is nested too deeply. Nothing was stored.") from None
    except ValueError as error:
        raise Problem(400, "bad-json", f"The body is not JSON: {error}. Nothing was stored.") from None


def json_bytes(value: Any) -> bytes:
    """JSON that is the same bytes every time for the same values."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a character, which tools do return
        return json.dumps(value, separators=(",", ":")).encode()


def too_large(limit: int) -> Problem:
    return Problem(
        413,
        "too-large",
        f"The body is larger than {limit:,} bytes, compressed or uncompressed. Nothing was stored."
        " Send less at a time.",
    )
