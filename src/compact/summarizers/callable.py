"""A user's own summarizer: any callable, sync or async, or any object with `summarize(request)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any

from compact.calling import DeadlinePassed, acall, call
from compact.errors import CompactError, ConfigError, SummarizerError
from compact.model.summary import Summary, SummaryRequest
from compact.models._http import hide_keys
from compact.ports import Summarizer
from compact.summarizers._running import as_summary
from compact.summarizers.templates import input_for, instructions_for

Answer = Summary | str | Awaitable[Summary | str]


class CallableSummarizer:
    """Passes a callable the request with a finished prompt: instructions and transcript, ready to send.

    Whatever the callable raises becomes a SummarizerError, so that the fallbacks can take over. With a
    `timeout` in seconds, so does a hang: a coroutine is canceled; a plain function runs in its own thread and
    is abandoned. Without a timeout, a plain function is called in the caller's thread.
    """

    renders_prompt = True

    def __init__(
        self, given: Callable[[SummaryRequest], Answer] | Summarizer, timeout: float | None = None
    ) -> None:
        ask = getattr(given, "summarize", None) or given
        if isinstance(given, type) or not callable(ask):
            raise ConfigError(
                f"A summarizer is a callable or has a method summarize(request); got {_described(given)}.",
                "summarizer",
            )
        self._ask: Callable[[SummaryRequest], Any] = ask
        self._ask_async: Callable[[SummaryRequest], Any] | None = getattr(given, "asummarize", None)
        self.name = str(getattr(given, "__name__", type(given).__name__))
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"CallableSummarizer({self.name})"

    def summarize(self, request: SummaryRequest) -> Summary:
        answer = call(self._ask, _complete(request), timeout=self.timeout, translate=self._error)
        return self._checked(answer, request)

    async def asummarize(self, request: SummaryRequest) -> Summary:
        """On the caller's loop if the callable is async; else in a thread, so that the loop stays free."""
        ask = self._ask_async or self._ask
        answer = await acall(ask, _complete(request), timeout=self.timeout, translate=self._error)
        return self._checked(answer, request)

    def _checked(self, answer: Any, request: SummaryRequest) -> Summary:
        if answer is None:
            answer = ""  # The checks reject an empty summary with a reason of its own.
        if not isinstance(answer, Summary | str):
            raise SummarizerError(
                f"The summarizer {self.name} returned {type(answer).__name__}, not text. "
                "That is no summary; return a str or a Summary."
            )
        return as_summary(answer, request, model=self.name)

    def _error(self, error: Exception) -> Exception:
        """What the callable raised, as an error that the fallbacks know."""
        if isinstance(error, CompactError):
            return error
        if isinstance(error, DeadlinePassed):
            return SummarizerError(
                f"The summarizer {self.name} gave no summary within {self.timeout:g} s; what it still does "
                "is ignored. summarizer.timeout can be raised.",
                retryable=True,
            )
        said = hide_keys(" ".join(str(error).split()))[:300]
        return SummarizerError(
            f"The summarizer {self.name} raised {type(error).__name__}{f': {said}' if said else ''}. "
            "It gave no summary.",
            retryable=isinstance(error, TimeoutError | ConnectionError),
        )


def as_summarizer(value: Any, timeout: float | None = None) -> Any:
    """`value` itself if it fills templates on its own, as ours do; else wrapped, with this deadline."""
    return value if getattr(value, "renders_prompt", False) else CallableSummarizer(value, timeout)


def _described(wrong: Any) -> str:
    if isinstance(wrong, type):
        return f"the class {wrong.__name__}, pass an object of it"
    if isinstance(wrong, str):
        return 'str. "extractive" alone is a name here; CompactConfig(summarizer={"name": …}) takes others'
    return type(wrong).__name__


class _Complete(SummaryRequest):
    """A request whose prompt is written when it is first read: many callables read only the messages."""

    @property
    def prompt(self) -> str:
        text = self.__dict__.get("text")
        if text is None:
            bare: SummaryRequest = self.__dict__["bare"]
            text = self.__dict__["text"] = f"{instructions_for(bare)}\n\n{input_for(bare)}"
        return str(text)

    @prompt.setter
    def prompt(self, text: str) -> None:
        self.__dict__["text"] = text


def _complete(request: SummaryRequest) -> SummaryRequest:
    complete = _Complete(**{field.name: getattr(request, field.name) for field in fields(request)})
    complete.__dict__.update(bare=request, text=None)
    return complete
