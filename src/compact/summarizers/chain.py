"""Several summarizers, each the fall-back of the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compact.errors import ConfigError, SummarizerError, SummaryRefused
from compact.model.summary import Summary, SummaryRequest
from compact.ports import Summarizer
from compact.summarizers._running import as_summary, summarize_async

Failure = SummarizerError | SummaryRefused


class Chain:
    """Asks one after the other until one gives a summary.

    `on_failure(summarizer, error)` hears of each that did not. When none does, the error of the last is
    raised, with the others as its notes.
    """

    renders_prompt = True

    def __init__(
        self,
        summarizers: Sequence[Summarizer],
        on_failure: Callable[[Summarizer, Failure], None] | None = None,
    ) -> None:
        if not summarizers:
            raise ConfigError("A chain needs at least one summarizer.", "summarizer")
        self._summarizers = tuple(summarizers)
        self._on_failure = on_failure

    def __repr__(self) -> str:
        return f"Chain({list(self._summarizers)!r})"

    def summarize(self, request: SummaryRequest) -> Summary:
        failures: list[Failure] = []
        for summarizer in self._summarizers:
            try:
                return as_summary(summarizer.summarize(request), request)
            except (SummarizerError, SummaryRefused) as error:
                self._note(summarizer, error, failures)
        raise _last(failures)

    async def asummarize(self, request: SummaryRequest) -> Summary:
        failures: list[Failure] = []
        for summarizer in self._summarizers:
            try:
                return await summarize_async(summarizer, request)
            except (SummarizerError, SummaryRefused) as error:
                self._note(summarizer, error, failures)
        raise _last(failures)

    def _note(self, summarizer: Summarizer, error: Failure, failures: list[Failure]) -> None:
        failures.append(error)
        if self._on_failure is not None:
            self._on_failure(summarizer, error)


def _last(failures: list[Failure]) -> Failure:
    *earlier, last = failures
    for error in earlier:
        last.add_note(f"Before that: {error}")
    return last
