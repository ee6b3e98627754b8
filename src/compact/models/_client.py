"""What chat clients share: sending, and sending again without what a server rejects."""

from __future__ import annotations

import json
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compact.errors import ChatError
from compact.model.chat import ReplyPiece
from compact.models._address import Address, NotTaken
from compact.models._line import Line, Reply
from compact.models._surrogates import mended

_UNSUPPORTED = re.compile(
    r"unsupported|not support|not allowed|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)|"
    r"not permitted|only the default|deprecated|instead",
    re.IGNORECASE,
)


class ChatClient(ABC):
    """Talks to one model on one server; each subclass handles one wire format.

    `first_seconds` is how long the first piece may take, `between_seconds` each later one. `extra` is merged
    into the request body. `on_wait` is called before a retry, with the seconds and the reason.
    """

    needs = "openai"
    default_base_url = ""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        label: str | None = None,
        retries: int = 2,
        first_seconds: float = 300.0,
        between_seconds: float = 120.0,
        extra: Mapping[str, Any] | None = None,
        on_wait: Callable[[float, ChatError], None] | None = None,
    ) -> None:
        self.model = model
        self.label = label or model
        self.base_url = (base_url or self.default_base_url).rstrip("/")
        self._extra = dict(extra or {})
        self._rejected: list[str] = []
        self._address = Address(
            label=self.label,
            extra=self.needs,
            url=self._url(),
            headers=self._headers(api_key),
            secrets=(api_key,) if api_key else (),
            retries=retries,
            first_seconds=first_seconds,
            between_seconds=between_seconds,
            on_wait=on_wait,
        )

    def connect_only_to(self, resolve: Callable[[str], Sequence[str] | None]) -> None:
        """Connect only to the addresses that this returns for the host; None means no restriction."""
        self._address = replace(self._address, resolve=resolve)

    def close(self) -> None:
        """Close the idle connections."""
        self._address.connections.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"  # Keeps the key out of logs.

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        return Reply(lambda line: self.pieces(line, messages, tools or (), max_tokens))

    def pieces(
        self,
        line: Line,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int | None,
    ) -> Generator[ReplyPiece, None, None]:
        """The same as `stream`, over the caller's line."""
        payload = {**self._payload(messages, tools, max_tokens), "stream": True, **self._extra}
        for rejected in self._rejected:
            payload = self._without(payload, rejected)
        while True:
            try:
                yield from self._address.reply(payload, line, self._read_whole)
                return
            except NotTaken as error:
                name = self._blamed(payload, error.detail)
                if name is None or line.started:
                    raise
                self._rejected.append(name)
                payload = self._without(payload, name)

    def _read_whole(self, events: Iterator[Any]) -> Iterator[ReplyPiece]:
        """What `_read` makes from the events, in whole characters; an unknown form is an error."""
        try:
            yield from mended(self._read(events))
        except UnicodeError:
            raise  # From an invalid address.
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise self._address.error("sent an event of an unknown form", retryable=True) from None

    def _blamed(self, payload: Mapping[str, Any], detail: str) -> str | None:
        """The parameter that this server rejects, according to its own message."""
        if not _UNSUPPORTED.search(detail):
            return None
        names = ("max_tokens", "stream_options", "temperature")
        return next((name for name in names if name in payload and name in detail), None)

    def _without(self, payload: dict[str, Any], name: str) -> dict[str, Any]:
        return {key: value for key, value in payload.items() if key != name}

    @abstractmethod
    def _url(self) -> str: ...

    @abstractmethod
    def _headers(self, api_key: str | None) -> dict[str, str]: ...

    @abstractmethod
    def _payload(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int | None,
    ) -> dict[str, Any]: ...

    @abstractmethod
    def _read(self, events: Iterator[Any]) -> Iterator[ReplyPiece]: ...


def whole_arguments(text: str) -> str | None:
    """A call's arguments if they are a complete JSON value; no arguments mean an empty object."""
    if not text.strip():
        return "{}"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return text


def new_call_id() -> str:
    """A call id, for servers that give none."""
    return f"call_{uuid.uuid4().hex[:24]}"


def assistant(text: str, reasoning: str, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A reply as a message in OpenAI's chat format."""
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = list(calls)
    return message
