"""Work for a client lasts as long as its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from compact.server.http.guard import Message, Receive, Send


async def while_connected(work: Callable[[Send], Awaitable[None]], receive: Receive, send: Send) -> None:
    """Does the work, and stops it when the client leaves: otherwise the provider would write for nobody."""
    answered = False

    async def sending(message: Message) -> None:
        nonlocal answered
        answered = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    working = asyncio.ensure_future(work(sending))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if answered:
            # The connection also ends with the reply; work after that is not cut off.
            await asyncio.wait({working})
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait({working, leaving})
    if not working.cancelled():
        working.result()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
