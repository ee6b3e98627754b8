"""Calling summarizers from where we are: sync from async and async from sync."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from compact.model.summary import Summary, SummaryRequest

T = TypeVar("T")


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also when the caller stands inside a running loop (it is then blocked)."""
    if not _inside_loop():
        return asyncio.run(make())
    context = copy_context()
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(context.run, lambda: asyncio.run(make())).result()


def in_own_thread(call: Callable[[], T]) -> Future[T]:
    """Run it in a thread that nobody has to wait for, not even the interpreter at its end."""
    answer: Future[T] = Future()
    context = copy_context()

    def work() -> None:
        try:
            answer.set_result(context.run(call))
        except BaseException as error:
            answer.set_exception(error)

    answer.set_running_or_notify_cancel()
    threading.Thread(target=work, name="compact-summarizer", daemon=True).start()
    return answer


def _inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def summarize_now(summarizer: Any, request: SummaryRequest) -> Summary:
    """Ask any summarizer, an object or a plain callable; one that is async is run to its end."""
    answer = getattr(summarizer, "summarize", summarizer)(request)
    if inspect.isawaitable(answer):
        waiting = answer

        async def awaited() -> Any:
            return await waiting

        answer = run_sync(awaited)
    return as_summary(answer, request)


async def summarize_async(summarizer: Any, request: SummaryRequest) -> Summary:
    """The same on an event loop: through `asummarize` where there is one, else in a thread."""
    ask = getattr(summarizer, "asummarize", None) or getattr(summarizer, "summarize", summarizer)
    if inspect.iscoroutinefunction(ask) or hasattr(summarizer, "asummarize"):
        answer = ask(request)
    else:
        answer = await asyncio.to_thread(ask, request)
    if inspect.isawaitable(answer):
        answer = await answer
    return as_summary(answer, request)


def as_summary(answer: Any, request: SummaryRequest, model: str = "") -> Summary:
    """Plain text as a summary; None is an empty one, which the checks refuse."""
    if isinstance(answer, Summary):
        return answer
    if answer is not None and not isinstance(answer, str):
        raise TypeError(f"the summarizer returned {type(answer).__name__}; it must return text or a Summary")
    return Summary(text=answer or "", strategy=request.strategy, model=model)
