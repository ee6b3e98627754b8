"""Server-sent events: each reader follows the log at its own pace, so a slow reader delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

from compact.server.http.bell import Bell
from compact.server.traces.event import to_json
from compact.server.traces.reading import Follow

Page = Callable[[int, Follow], Awaitable[tuple[list[tuple[int, str]], int]]]


async def stream(
    page: Page, bell: Bell, follow: Follow, after: int, heartbeat: float
) -> AsyncIterator[bytes]:
    """The log after `after`, then new events; the id of each message is its sequence."""
    hello = {"type": "connected", "timestamp": datetime.now(UTC).isoformat(), "sequence": after}
    yield f"retry: 1000\nid: {after}\ndata: {to_json(hello)}\n\n".encode()
    while not bell.closed:
        rung = bell.listen()
        found, reached = await page(after, follow)
        if found:
            yield "".join(f"id: {seq}\ndata: {body}\n\n" for seq, body in found).encode()
        if reached > after:
            after = reached
            continue
        try:
            async with asyncio.timeout(heartbeat):
                await rung.wait()
        except TimeoutError:
            # With the id, a reader with a narrow filter resumes where it is, not at its last event.
            yield f": heartbeat\nid: {after}\n\n".encode()
