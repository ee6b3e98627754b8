"""Call any summarizer, an object or a plain callable, from synchronous or asynchronous code."""

from __future__ import annotations

from typing import Any

from compact.calling import acall, call
from compact.model.summary import Summary, SummaryRequest


def summarize_now(summarizer: Any, request: SummaryRequest) -> Summary:
    return as_summary(call(getattr(summarizer, "summarize", summarizer), request), request)


async def summarize_async(summarizer: Any, request: SummaryRequest) -> Summary:
    """Through `asummarize` if the summarizer has it."""
    ask = getattr(summarizer, "asummarize", None) or getattr(summarizer, "summarize", summarizer)
    return as_summary(await acall(ask, request), request)


def as_summary(answer: Any, request: SummaryRequest, model: str = "") -> Summary:
    """Plain text as a summary; None is an empty one, which the checks reject."""
    if isinstance(answer, Summary):
        return answer
    if answer is not None and not isinstance(answer, str):
        raise TypeError(f"the summarizer returned {type(answer).__name__}; it must return text or a Summary")
    return Summary(text=answer or "", strategy=request.strategy, model=model)
