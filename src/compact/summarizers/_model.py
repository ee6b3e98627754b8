"""What summarizers that call a model share: one deadline, warm and cold requests, adapting the request."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from compact.calling import run_sync
from compact.core.summary_checks.citations import drop_false_citations
from compact.errors import FormatError, SummarizerError, SummaryRefused
from compact.formats.fields import as_mapping
from compact.model.message import Usage
from compact.model.summary import RefusalReason, Summary, SummaryRequest
from compact.summarizers._http import Body, Endpoint, InputTooLong, NotTaken
from compact.summarizers.templates import input_for, instructions_for, prefix_instructions_for

if TYPE_CHECKING:
    import httpx2

_UNSUPPORTED = re.compile(
    r"unsupported|not support|not allowed|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)|"
    r"not permitted|only the default|deprecated|instead",
    re.IGNORECASE,
)
# A request on the cached prefix that ends this way is worth retrying as a cold one.
_COLD_REASONS = frozenset({RefusalReason.TOOL_CALL, RefusalReason.EMPTY, RefusalReason.REASONING_ONLY})


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    usage: Usage | None = None
    model: str = ""


class ModelSummarizer(ABC):
    """Asks a model for a summary. Each subclass speaks one wire format.

    `timeout` covers all attempts together, in seconds. With `reuse_prefix`, a request that carries the last
    prompt is tried on the provider's cache first. `client` makes the httpx2.AsyncClient of one summary
    (proxies, certificates, transports); `redact` is applied to what a cold request sends; `extra` is merged
    into the request's body: stop sequences, another temperature, `{"stream": True}`.
    """

    renders_prompt = True
    """It fills the template itself, so it needs the request unchanged."""
    service = "The summarizer"
    needs = "openai"

    default_base_url = ""
    prefix_format = ""
    """The format whose messages its requests take unchanged."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        *,
        retries: int = 3,
        reuse_prefix: bool = False,
        extra: Mapping[str, Any] | None = None,
        redact: Callable[[str], str] | None = None,
        client: Callable[[], httpx2.AsyncClient] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.model = model
        self.base_url = (base_url or self.default_base_url).rstrip("/")
        self.timeout = timeout
        self.reuse_prefix = reuse_prefix
        self._extra = dict(extra or {})
        self._redact = redact
        self._endpoint = Endpoint(
            label=self.service,
            extra=self.needs,
            url=self._url(),
            headers=self._headers(api_key),
            secrets=(api_key,) if api_key else (),
            retries=retries,
            client=client,
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"  # the key must not get into a log this way

    def summarize(self, request: SummaryRequest) -> Summary:
        return run_sync(lambda: self.asummarize(request))

    async def asummarize(self, request: SummaryRequest) -> Summary:
        try:
            async with asyncio.timeout(self.timeout):
                on_prefix = await self.on_prefix(request)
                if on_prefix is not None:
                    return on_prefix
                answer = await self._ask(self._cold_payload(request))
        except TimeoutError as error:
            problem = f"gave no summary within {self.timeout:g} s"
            raise self._endpoint.error(problem, retryable=True) from error
        return self._summary(request, answer)

    def _summary(self, request: SummaryRequest, answer: Answer) -> Summary:
        return Summary(
            text=answer.text,
            tokens=answer.usage.output if answer.usage else 0,
            strategy=request.strategy,
            model=answer.model or self.model,
            usage=answer.usage,
        )

    async def on_prefix(self, request: SummaryRequest) -> Summary | None:
        """The summary requested on the cached prefix, or None if the cold request has to be made."""
        if not (self.reuse_prefix and request.prefix_messages):
            return None
        try:
            # A hang must leave time for the cold request.
            async with asyncio.timeout(self.timeout / 2):
                answer = await self._ask(self._prefix_payload(request, prefix_instructions_for(request)))
        except (FormatError, TimeoutError, TypeError, ValueError):
            return None  # The caller's objects may hold values that JSON does not have.
        except SummarizerError as error:
            if error.retryable or isinstance(error, InputTooLong | NotTaken):
                return None
            raise
        except SummaryRefused as refused:
            if refused.reason in _COLD_REASONS:
                return None
            raise
        # Without labels before the messages, the model can only have guessed citations.
        text = drop_false_citations(answer.text, ())
        return self._summary(request, Answer(text, answer.usage, answer.model))

    async def _ask(self, payload: dict[str, Any]) -> Answer:
        """Send; if the model rejects a parameter, send again without it."""
        payload = {**payload, **self._extra}
        while True:
            try:
                return await self._endpoint.post(payload, self._read)
            except NotTaken as error:
                adapted = self._adapt(payload, error.detail) if _UNSUPPORTED.search(error.detail) else None
                if adapted is None:
                    raise
                payload = adapted

    def _adapt(self, payload: dict[str, Any], detail: str) -> dict[str, Any] | None:
        """The payload without what `detail` complains about; None if nothing is left to remove."""
        for name in ("temperature", "seed", "stream_options"):
            if name in payload and name in detail:
                return {key: value for key, value in payload.items() if key != name}
        return None

    def _cold_texts(self, request: SummaryRequest) -> tuple[str, str]:
        if self._redact is None:
            return instructions_for(request), input_for(request)
        # The note of a manual compaction is in the instructions.
        noted = replace(request, focus=self._redact(request.focus))
        return instructions_for(noted), self._redact(input_for(request))

    def _read(self, body: Body) -> Answer:
        if body.events is None:
            return self._read_value(body.value)
        return self._read_value(self._assemble(body))

    def _cut(self) -> SummarizerError:
        return self._endpoint.error("broke off its answer in the middle", retryable=True)

    @abstractmethod
    def _url(self) -> str: ...

    @abstractmethod
    def _headers(self, api_key: str | None) -> dict[str, str]: ...

    @abstractmethod
    def _cold_payload(self, request: SummaryRequest) -> dict[str, Any]: ...

    @abstractmethod
    def _prefix_payload(self, request: SummaryRequest, instructions: str) -> dict[str, Any]: ...

    @abstractmethod
    def _assemble(self, body: Body) -> Mapping[str, Any]:
        """The events of a stream, as the object that would have come without streaming."""

    @abstractmethod
    def _read_value(self, value: Mapping[str, Any]) -> Answer: ...


def refused(reason: RefusalReason, problem: str) -> SummaryRefused:
    return SummaryRefused(reason.value, f"The model gave no usable summary: {problem}.")


def as_sent(messages: Iterable[Any], fields: Container[str]) -> list[dict[str, Any]]:
    """Only the fields that the provider knows: `meta` is ours (S4.6), and sessions keep more with a turn."""
    mappings = (as_mapping(item, index) for index, item in enumerate(messages))
    return [{key: value for key, value in item.items() if key in fields} for item in mappings]


def positive(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
