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
from compact.ports import Summarizer

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


async def summarize_async(summarizer: Summarizer, request: SummaryRequest) -> Summary:
    """Ask through `asummarize` where there is one, else in a thread so that the loop stays free."""
    ask = getattr(summarizer, "asummarize", None)
    answer = await (ask(request) if ask else asyncio.to_thread(summarizer.summarize, request))
    if inspect.isawaitable(answer):
        answer = await answer
    return as_summary(answer, request)


def as_summary(answer: Summary | str, request: SummaryRequest, model: str = "") -> Summary:
    """Plain text as a summary; anything else passes through."""
    if isinstance(answer, Summary):
        return answer
    return Summary(text=answer, strategy=request.strategy, model=model)
