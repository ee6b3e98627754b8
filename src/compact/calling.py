"""Call a function that may be synchronous or asynchronous, from either side.

Summarizers and tools are the user's own functions. This is the one place that finds out which kind it has.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
Owner = TypeVar("Owner")
Twin = TypeVar("Twin", bound=Callable[..., Any])
Translate = Callable[[Exception], Exception]


class DeadlinePassed(Exception):
    """The function did not return within its `timeout`."""


def _unchanged(error: Exception) -> Exception:
    return error


def call(
    function: Callable[..., Any],
    *arguments: Any,
    timeout: float | None = None,
    translate: Translate = _unchanged,
) -> Any:
    """From synchronous code. An awaitable result is run to its end.

    With a `timeout` in seconds, a plain function runs in a thread of its own, which is abandoned when the
    time is up; a coroutine is canceled. `translate` maps what the function raises to what is raised here.
    """
    invoke = partial(_invoke, function, arguments, translate)
    if timeout is None or _is_async(function):
        result = invoke()
    else:
        running = _in_own_thread(invoke)
        if not wait([running], timeout).done:
            raise translate(DeadlinePassed())
        result = running.result()
    if inspect.isawaitable(result):
        return run_sync(partial(_finish, result, timeout, translate))
    return result


async def acall(
    function: Callable[..., Any],
    *arguments: Any,
    timeout: float | None = None,
    translate: Translate = _unchanged,
) -> Any:
    """From an event loop: an asynchronous function runs on the loop, a plain one in a thread of its own."""
    invoke = partial(_invoke, function, arguments, translate)
    if _is_async(function):
        result = invoke()
    else:
        running = asyncio.wrap_future(_in_own_thread(invoke))
        try:
            if not (await asyncio.wait([running], timeout=timeout))[0]:
                raise translate(DeadlinePassed())
            result = running.result()
        finally:
            # The thread goes on where nobody waits any longer; what it raises then is nobody's business.
            running.cancel()
    if inspect.isawaitable(result):
        return await _finish(result, timeout, translate)
    return result


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also when the caller is inside a running loop (which is then blocked)."""
    if not _inside_loop():
        return asyncio.run(make())
    context = copy_context()
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(context.run, lambda: asyncio.run(make())).result()


def in_thread(
    method: Callable[Concatenate[Owner, P], T],
) -> Callable[Concatenate[Owner, P], Coroutine[Any, Any, T]]:
    """The asynchronous twin of a method: it calls the method, or what a subclass made of it, in a thread."""

    @wraps(method)
    async def twin(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(getattr(self, method.__name__), *args, **kwargs)

    return twin


def documented_by(method: Callable[..., Any]) -> Callable[[Twin], Twin]:
    """For an asynchronous twin that is written out: `help` shows the method's own words."""

    def document(twin: Twin) -> Twin:
        twin.__doc__ = method.__doc__
        return twin

    return document


def _invoke(function: Callable[..., Any], arguments: tuple[Any, ...], translate: Translate) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        raised = translate(error)
        if isinstance(raised, StopIteration):
            # No future can carry it out of a thread; a coroutine turns it into the same (PEP 479).
            raised = RuntimeError(f"{getattr(function, '__name__', function)} raised StopIteration")
        if raised is error:
            raise
        raise raised from error


async def _finish(result: Awaitable[Any], timeout: float | None, translate: Translate) -> Any:
    deadline = asyncio.timeout(timeout)
    try:
        async with deadline:
            return await result
    except Exception as error:
        expired = isinstance(error, TimeoutError) and deadline.expired()
        raised = translate(DeadlinePassed() if expired else error)
        if raised is error:
            raise
        raise raised from error


def _in_own_thread(function: Callable[[], T]) -> Future[T]:
    """Run it in a thread that nobody has to wait for, not even the interpreter at exit."""
    result: Future[T] = Future()
    context = copy_context()

    def work() -> None:
        try:
            result.set_result(context.run(function))
        except BaseException as error:
            result.set_exception(error)

    result.set_running_or_notify_cancel()
    threading.Thread(target=work, name="compact-call", daemon=True).start()
    return result


def _is_async(function: Callable[..., Any]) -> bool:
    # An object whose __call__ is async is not a coroutine function itself.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
