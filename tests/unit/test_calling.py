"""One place finds out whether a user's function is synchronous or asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import compact
from compact.calling import DeadlinePassed, acall, call


def plain(text: str) -> str:
    return f"{text}!"


async def coroutine(text: str) -> str:
    await asyncio.sleep(0)
    return f"{text}!"


class AsyncObject:
    async def __call__(self, text: str) -> str:
        return await coroutine(text)


def later(text: str) -> Awaitable[str]:
    return coroutine(text)


KINDS = [plain, coroutine, AsyncObject(), later, partial(coroutine)]


@pytest.mark.parametrize("function", KINDS, ids=["plain", "coroutine", "object", "awaitable", "partial"])
@pytest.mark.parametrize("timeout", [None, 30.0])
async def test_every_kind_from_both_sides(function: Callable[..., Any], timeout: float | None) -> None:
    assert await acall(function, "done", timeout=timeout) == "done!"
    # Inside a running loop, too.
    assert call(function, "done", timeout=timeout) == "done!"
    assert await asyncio.to_thread(call, function, "done", timeout=timeout) == "done!"


async def test_a_plain_function_leaves_the_loop_free() -> None:
    released = threading.Event()
    asyncio.get_running_loop().call_soon(released.set)
    assert await acall(released.wait, 30)


async def test_a_deadline_is_not_the_functions_own_timeout() -> None:
    def own() -> None:
        raise TimeoutError("its own")

    async def own_later() -> None:
        raise TimeoutError("its own")

    released = threading.Event()
    try:
        for failing in (own, own_later):
            with pytest.raises(TimeoutError, match="its own"):
                call(failing, timeout=30)
            with pytest.raises(TimeoutError, match="its own"):
                await acall(failing, timeout=30)
        for hanging in (partial(released.wait, 30), partial(asyncio.sleep, 30)):
            with pytest.raises(DeadlinePassed):
                call(hanging, timeout=0.001)
            with pytest.raises(DeadlinePassed):
                await acall(hanging, timeout=0.001)
    finally:
        released.set()


async def test_a_stop_iteration_does_not_hang_the_loop() -> None:
    with pytest.raises(RuntimeError, match="next raised StopIteration"):
        await acall(next, iter(()))


def test_nothing_else_in_the_package_dispatches_awaitables() -> None:
    root = Path(compact.__file__).parent
    names = ("isawaitable", "iscoroutine")
    found = {path.name for path in root.rglob("*.py") if any(name in path.read_text() for name in names)}
    assert found == {"calling.py"}
