"""Several summarizers, each the fallback of the one before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from compact.errors import ConfigError, SummarizerError, SummaryRefused
from compact.model.summary import EMBEDDED, RefusalReason, Summary, SummaryRequest
from compact.models._http import hide_keys
from compact.ports import Summarizer, TokenCounter
from compact.summarizers.callable import as_summarizer
from compact.summarizers.extractive import ExtractiveSummarizer

CHANGES_THE_REQUEST = frozenset({RefusalReason.TOO_LONG, RefusalReason.REFUSAL})
"""The flow follows these with a changed request: half the length, or `brief`."""
Failure = SummarizerError | SummaryRefused


class Chain:
    """Tries one after the other until one gives a summary.

    A link is anything that can be a summarizer: an object or a plain callable. The request's `on_skipped` is
    called for each link that another follows. If none gives a summary, the last error is raised (or before
    it, one that a changed request may fix), with the others as its notes.
    """

    renders_prompt = True

    def __init__(self, summarizers: Sequence[Any]) -> None:
        if not summarizers:
            raise ConfigError("A chain needs at least one summarizer.", "summarizer")
        self.links: tuple[Summarizer, ...] = tuple(map(as_summarizer, summarizers))

    def __repr__(self) -> str:
        return f"Chain({list(self.links)!r})"

    def first(self, request: SummaryRequest, ask: Callable[[Summarizer, SummaryRequest], Summary]) -> Summary:
        """What `ask` returns for the first link for which it raises nothing; `ask` also checks the answer."""
        failures: list[Exception] = []
        for number, link in enumerate(self.links):
            try:
                return ask(link, request)
            except Exception as error:
                self._note(number, error, request, failures)
            request = request.without_prefix()  # In the format of the first link, whose server has it cached.
        raise self._counted(failures)

    async def afirst(
        self, request: SummaryRequest, ask: Callable[[Summarizer, SummaryRequest], Awaitable[Summary]]
    ) -> Summary:
        failures: list[Exception] = []
        for number, link in enumerate(self.links):
            try:
                return await ask(link, request)
            except Exception as error:
                self._note(number, error, request, failures)
            request = request.without_prefix()
        raise self._counted(failures)

    def _note(
        self, number: int, error: Exception, request: SummaryRequest, failures: list[Exception]
    ) -> None:
        failures.append(error)
        if request.on_skipped is not None and number + 1 < len(self.links):
            reason = error.reason if isinstance(error, SummaryRefused) else type(error).__name__
            request.on_skipped(reason, f"{_name(self.links[number])} was skipped. {_explained(error)}")

    def _counted(self, failures: list[Exception]) -> Exception:
        mendable = [error for error in failures if getattr(error, "reason", "") in CHANGES_THE_REQUEST]
        counts = (mendable or failures)[-1]
        if len(failures) == 1:
            return counts
        raised = counts
        if not isinstance(counts, Failure):
            raised = SummarizerError(f"No summarizer of the chain gave a summary. {_explained(counts)}")
            raised.__cause__ = counts
        for error in failures:
            if error is not counts:
                raised.add_note(f"Also: {_explained(error)}")
        return raised


def summarizer_for(value: Any, counter: TokenCounter, timeout: float | None = None) -> Summarizer | Chain:
    """A user's own summarizer: an object, a callable, or a list of them that may include "extractive"."""
    if not isinstance(value, list | tuple):
        return (
            ExtractiveSummarizer(counter)
            if isinstance(value, str) and value == EMBEDDED
            else as_summarizer(value, timeout)
        )
    if any(isinstance(link, list | tuple) for link in value):
        raise ConfigError("A chain of summarizers is one list, with no list in it.", "summarizer")
    return Chain([summarizer_for(link, counter, timeout) for link in value])


def _name(link: Summarizer) -> str:
    """The name that people know it by: the model's id or the function's name."""
    link = getattr(link, "inner", link)
    return str(getattr(link, "model", None) or getattr(link, "name", None) or repr(link))


def _explained(error: Exception) -> str:
    if isinstance(error, Failure):
        return str(error)
    said = hide_keys(" ".join(str(error).split()))[:300]
    return f"{type(error).__name__}{f': {said}' if said else ''}"
