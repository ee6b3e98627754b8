"""Replies for an event loop: a model's own asynchronous stream, or its synchronous one in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from compact.model.chat import ReplyPiece
from compact.ports import AsyncChatModel, ChatModel


def astream_of(
    model: ChatModel,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    max_tokens: int | None = None,
) -> AsyncIterator[ReplyPiece]:
    """The pieces of a reply. `aclose()` also stops it on the server."""
    if isinstance(model, AsyncChatModel):
        return model.astream(messages, tools=tools, max_tokens=max_tokens)
    return AsyncReply(lambda: model.stream(messages, tools=tools, max_tokens=max_tokens))


class AsyncReply(AsyncIterator[ReplyPiece]):
    """A synchronous reply, read by its own thread, so that no pool runs out of threads.

    Canceling the reader leaves the reply open; `aclose()` hangs up immediately.
    """

    def __init__(self, open_stream: Callable[[], Iterator[ReplyPiece]]) -> None:
        self._open = open_stream
        self._stream: Iterator[ReplyPiece] | None = None
        self._queue: asyncio.Queue[ReplyPiece | BaseException | None] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def __anext__(self) -> ReplyPiece:
        if self._closed:
            raise StopAsyncIteration
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._stream = self._open()
            threading.Thread(target=self._read, name="compact-chat-reply", daemon=True).start()
        piece = await self._queue.get()
        if piece is None or isinstance(piece, BaseException):
            self._closed = True
            raise piece or StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._closed = True
        close = getattr(self._stream, "close", None)
        if close is not None:
            with suppress(ValueError):  # A plain generator that its thread is running; it ends on its own.
                close()

    def _read(self) -> None:
        assert self._stream is not None
        last: BaseException | None = None
        try:
            for piece in self._stream:
                if self._closed:
                    break
                self._hand_over(piece)
        except BaseException as error:
            last = error
        self._hand_over(last)

    def _hand_over(self, piece: ReplyPiece | BaseException | None) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # The loop is closed, so nobody is reading.
            self._loop.call_soon_threadsafe(self._queue.put_nowait, piece)
