"""Reading a request's body within its limits, however it is sent."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from compact.server.traces.fields import BadBody

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_PIECE = 64 * 1024


async def drain(chunks: AsyncIterator[bytes], limit: int = 1 << 21, seconds: float = 1.0) -> None:
    """Lets a refused sender finish, within bounds: one that is cut off may never read why."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                limit -= len(chunk)
                if limit < 0:
                    return


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int, seconds: float) -> bytes:
    """The body, unpacked; BadBody as soon as it is larger than `limit`, packed or unpacked.

    What counts are the bytes that arrive, not what a header promises.
    """
    name = encoding.strip().lower()
    if name not in ("", "identity") and name not in _WINDOW_BITS:
        raise BadBody(f"The content encoding {encoding[:40]!r} is not known here; use gzip or none.", 415)
    unpack = zlib.decompressobj(_WINDOW_BITS[name]) if name in _WINDOW_BITS else None
    body, arrived = bytearray(), 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                arrived += len(chunk)
                if arrived > limit:
                    raise too_large(limit)
                if unpack is None:
                    body += chunk
                else:
                    _unpack(unpack, chunk, body, limit)
    except TimeoutError:
        raise BadBody(f"The body did not arrive within {seconds:g} s. Nothing was stored.", 408) from None
    except zlib.error as error:
        raise BadBody(f"The body is not {name}: {error}. Nothing was stored.") from None
    if unpack is not None and not unpack.eof:
        raise BadBody(f"The {name} body ends too early. Nothing was stored.")
    return bytes(body)


def parse_json(body: bytes) -> Any:
    try:
        # Python writes NaN where JSON has none; its name says what it was.
        return json.loads(body, parse_constant=str)
    except RecursionError:
        raise BadBody("The JSON is nested too deeply. Nothing was stored.") from None
    except ValueError as error:
        raise BadBody(f"The body is not JSON: {error}. Nothing was stored.") from None


def _unpack(unpack: Any, chunk: bytes, body: bytearray, limit: int) -> None:
    """A little at a time: a bomb is noticed when it has swollen past the limit, not when it is all there."""
    while chunk:
        body += unpack.decompress(chunk, _PIECE)
        if len(body) > limit:
            raise too_large(limit)
        chunk = unpack.unconsumed_tail


def too_large(limit: int) -> BadBody:
    return BadBody(
        f"The body is larger than {limit:,} bytes, packed or unpacked. Nothing was stored."
        " Send less at a time.",
        413,
    )
