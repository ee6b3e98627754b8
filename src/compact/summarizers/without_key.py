"""In place of a model whose key is not set."""

from __future__ import annotations

from typing import NoReturn

from compact.errors import SummarizerError
from compact.model.summary import SummaryRequest


class WithoutKey:
    """Sends nothing, so that the conversation goes only where a key opens, and what follows is asked."""

    renders_prompt = True

    def __init__(self, model: str, variable: str) -> None:
        self.model = model
        self._variable = variable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def summarize(self, request: SummaryRequest) -> NoReturn:
        raise SummarizerError(f"{self._variable} is not set, so nothing was sent. Set the key.")

    async def asummarize(self, request: SummaryRequest) -> NoReturn:
        self.summarize(request)
