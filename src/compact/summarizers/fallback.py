"""The embedded summarizer after another one: the last fallback before pruning alone."""

from __future__ import annotations

from dataclasses import replace

from compact.model.summary import Summary, SummaryRequest
from compact.ports import Summarizer
from compact.summarizers._running import as_summary, summarize_async
from compact.summarizers.api import EMBEDDED_STRATEGIES

_FOR_TEMPLATES = "task_state"
"""A template is written for a model; the embedded summarizer uses its most general strategy instead."""


class WithEmbedded:
    """Calls `first`; a request with `embedded` set goes to the embedded summarizer."""

    renders_prompt = True

    def __init__(self, first: Summarizer, embedded: Summarizer) -> None:
        self.first = first
        self.embedded = embedded

    def __repr__(self) -> str:
        return f"{self.first!r}, else {self.embedded!r}"

    def summarize(self, request: SummaryRequest) -> Summary:
        chosen, asked = self._chosen(request)
        return as_summary(chosen.summarize(asked), asked)

    async def asummarize(self, request: SummaryRequest) -> Summary:
        return await summarize_async(*self._chosen(request))

    def _chosen(self, request: SummaryRequest) -> tuple[Summarizer, SummaryRequest]:
        if not request.embedded:
            return self.first, request
        known = request.strategy in EMBEDDED_STRATEGIES
        return self.embedded, request if known else replace(request, strategy=_FOR_TEMPLATES)
