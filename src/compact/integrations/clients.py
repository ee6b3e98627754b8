"""Compact inside the OpenAI and Anthropic clients: the same client, whose prompts fit.

    from compact.integrations.clients import wrap
    client = wrap(OpenAI())

Works for `chat.completions`, `responses` and `messages`, synchronous, asynchronous and streaming. If the
provider still rejects a prompt for its length, it is compacted hard and sent once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from compact import CompactConfig, CompactManager, ConfigError, with_cache_breakpoints
from compact.integrations._base import (
    Fitted,
    SessionId,
    acompact_hard,
    afit,
    aobserve,
    checked,
    compact_hard,
    fit,
    is_overflow,
    observe,
    session_of,
    speaking,
)

__all__ = ["wrap"]

C = TypeVar("C")
# Where a client keeps what calls a model → the format of that API.
_DOORS = {
    "chat.completions": "openai-chat",
    "responses": "openai-responses",
    "messages": "anthropic",
    "beta.messages": "anthropic",
}
_METHODS = ("create", "parse", "stream")
_COPYING = ("copy", "with_options")
# The provider holds the history and sends it whatever is passed here.
_KEPT_THERE = ("previous_response_id", "conversation")


def wrap(client: C, manager: CompactManager | None = None, session_id: SessionId = None) -> C:
    """A copy of the client that compacts what does not fit; the one you pass stays as it is.

    Without a manager, one is made for the model of the first call, with settings from the environment's file.
    `session_id` is the id, or a function from a call's arguments to it.
    """
    if all(_door(client, path) is None for path in _DOORS):
        raise ConfigError(
            f"wrap takes a client of the openai or anthropic package, not {type(client).__name__}.", "client"
        )
    # The class's own: a wrapped client's method returns a wrapped client.
    return _wrapped(type(client).with_options(client), _Managers(manager), session_id)  # type: ignore[attr-defined,no-any-return]


def _wrapped(copy: Any, managers: _Managers, session_id: SessionId) -> Any:
    """Wrap this client itself, and all copies made of it."""
    is_async = type(copy).__name__.startswith("Async")
    for path in _DOORS:
        door = _door(copy, path)
        for name in _METHODS:
            if callable(method := getattr(door, name, None)):
                wire = _Wire(managers, session_id, _DOORS[path])
                setattr(door, name, _fitting(method, name, is_async, wire))
    for name in _COPYING:
        setattr(copy, name, _copying(getattr(copy, name), managers, session_id))
    return copy


def _copying(method: Callable[..., Any], managers: _Managers, session_id: SessionId) -> Callable[..., Any]:
    @wraps(method)
    def copied(*args: Any, **options: Any) -> Any:
        return _wrapped(method(*args, **options), managers, session_id)

    return copied


def _door(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name, None)
    return client if callable(getattr(client, "create", None)) else None


class _Managers:
    """The given manager, or one per model, all on one store."""

    def __init__(self, given: CompactManager | None) -> None:
        self._given = given if given is None else checked(given)
        self._first: CompactManager | None = None

    def of(self, model: str, format: str) -> CompactManager:
        if self._given is not None:
            return speaking(self._given, format)
        if self._first is None:
            self._first = CompactManager(CompactConfig.load().model_copy(update={"model": model}))
        return speaking(self._first, format, model)


class _Wire:
    """One API of a client: where a call's arguments hold its messages, tools and system prompt."""

    def __init__(self, managers: _Managers, session_id: SessionId, format: str) -> None:
        self._managers = managers
        self._session_id = session_id
        self.format = format
        self.messages = "input" if format == "openai-responses" else "messages"
        self._system = {"openai-responses": "instructions", "anthropic": "system"}.get(format)

    def call(self, arguments: Mapping[str, Any]) -> _Call | None:
        """What this call sends; None if the provider holds the history, or there is none."""
        messages = arguments.get(self.messages)
        if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
            return None
        if any(_given(arguments.get(key)) for key in _KEPT_THERE):
            return None
        session = session_of(self._session_id, arguments, messages, _owner(arguments))
        manager = self._managers.of(str(arguments.get("model")), self.format)
        tools = _given(arguments.get("tools"))
        system = _given(arguments.get(self._system)) if self._system else None
        return _Call(manager, session, list(messages), tools, system)

    def with_fitted(self, arguments: Mapping[str, Any], call: _Call, fitted: Fitted) -> dict[str, Any]:
        changed: dict[str, Any] = {**arguments, self.messages: fitted.messages}
        if call.tools is not None and fitted.tools is not None:
            changed["tools"] = fitted.tools
        if self.format == "anthropic":
            system, tools, messages = with_cache_breakpoints(
                call.system, changed.get("tools"), fitted.messages, fitted.stable
            )
            changed["messages"] = messages
            changed |= {
                key: value for key, value in (("system", system), ("tools", tools)) if value is not None
            }
        return changed


class _Call:
    def __init__(
        self, manager: CompactManager, session: str, messages: list[Any], tools: Any, system: Any
    ) -> None:
        self.manager, self.session, self.messages = manager, session, messages
        self.tools, self.system = tools, system

    @property
    def all(self) -> tuple[CompactManager, str, list[Any], Any, Any]:
        return self.manager, self.session, self.messages, self.tools, self.system

    def observe(self, sent: Sequence[Any], usage: Any) -> None:
        observe(self.manager, self.session, sent, usage, self.system)

    async def aobserve(self, sent: Sequence[Any], usage: Any) -> None:
        await aobserve(self.manager, self.session, sent, usage, self.system)


def _given(value: Any) -> Any:
    """The SDKs mark omitted arguments with their own objects."""
    return None if type(value).__name__ in ("Omit", "NotGiven") else value


def _owner(arguments: Mapping[str, Any]) -> str:
    """The end user, if the caller names one to the provider."""
    metadata = arguments.get("metadata")
    named = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    found = _given(arguments.get("safety_identifier")) or _given(arguments.get("user")) or named
    return str(found or "")


def _fitting(method: Callable[..., Any], name: str, is_async: bool, wire: _Wire) -> Callable[..., Any]:
    @wraps(method)
    def open_stream(*args: Any, **arguments: Any) -> Any:
        return _Stream(method, args, arguments, wire)

    @wraps(method)
    def ask(*args: Any, **arguments: Any) -> Any:
        made = wire.call(arguments)
        if made is None:
            return method(*args, **arguments)
        sent = wire.with_fitted(arguments, made, fit(*made.all))
        try:
            answer = method(*args, **sent)
        except Exception as error:
            if not is_overflow(error):
                raise
            sent = wire.with_fitted(arguments, made, compact_hard(*made.all, error))
            answer = method(*args, **sent)
        if (usage := _usage(answer)) is not None:
            made.observe(sent[wire.messages], usage)
        return _watched(answer, made, sent[wire.messages])

    @wraps(method)
    async def aask(*args: Any, **arguments: Any) -> Any:
        made = wire.call(arguments)
        if made is None:
            return await method(*args, **arguments)
        sent = wire.with_fitted(arguments, made, await afit(*made.all))
        try:
            answer = await method(*args, **sent)
        except Exception as error:
            if not is_overflow(error):
                raise
            sent = wire.with_fitted(arguments, made, await acompact_hard(*made.all, error))
            answer = await method(*args, **sent)
        if (usage := _usage(answer)) is not None:
            await made.aobserve(sent[wire.messages], usage)
        return _watched(answer, made, sent[wire.messages])

    if name == "stream":
        return open_stream
    return aask if is_async else ask


def _usage(answer: Any) -> Any:
    """The provider's count in a reply or in an event of a stream; None if it has none yet."""
    for holder in (answer, getattr(answer, "response", None), getattr(answer, "message", None)):
        usage = getattr(holder, "usage", None)
        if getattr(usage, "prompt_tokens", None) or getattr(usage, "input_tokens", None):
            return usage
    return None


def _watched(stream: Any, call: _Call, sent: Sequence[Any]) -> Any:
    """The same stream, which reports its first usage; anything else unchanged."""
    kind = type(stream)
    # Some of the clients' methods call another of them, which is already watched.
    if not hasattr(kind, "__stream__") or hasattr(kind, "compact_watched"):
        return stream
    seen: list[Any] = []

    def is_first(item: Any) -> Any:
        if not seen and (usage := _usage(item)) is not None:
            seen.append(usage)
            return usage
        return None

    class Watched(kind):  # type: ignore[misc, valid-type]
        compact_watched = True

        def __next__(self) -> Any:
            item = super().__next__()
            if usage := is_first(item):
                call.observe(sent, usage)
            return item

        def __iter__(self) -> Any:
            for item in super().__iter__():
                if usage := is_first(item):
                    call.observe(sent, usage)
                yield item

        async def __anext__(self) -> Any:
            item = await super().__anext__()
            if usage := is_first(item):
                await call.aobserve(sent, usage)
            return item

        async def __aiter__(self) -> Any:
            async for item in super().__aiter__():
                if usage := is_first(item):
                    await call.aobserve(sent, usage)
                yield item

    stream.__class__ = Watched
    return stream


class _Stream:
    """A stream that sends its request when it is opened, as the clients' own do."""

    def __init__(
        self, method: Callable[..., Any], args: tuple[Any, ...], arguments: dict[str, Any], wire: _Wire
    ) -> None:
        self._method, self._args, self._arguments, self._wire = method, args, arguments, wire
        self._call = wire.call(arguments)
        self._sent: Sequence[Any] = ()
        self._opened: Any = None

    def _open(self, fitted: Fitted | None) -> Any:
        arguments = self._arguments
        if self._call is not None and fitted is not None:
            arguments = self._wire.with_fitted(arguments, self._call, fitted)
            self._sent = arguments[self._wire.messages]
        self._opened = self._method(*self._args, **arguments)
        return self._opened

    def _reporting(self, stream: Any) -> Any:
        """The clients' own streams wrap a raw one, whose events have the usage."""
        raw = getattr(stream, "_raw_stream", None)
        if self._call is not None and raw is not None:
            _watched(raw, self._call, self._sent)
        return stream

    def __enter__(self) -> Any:
        call = self._call
        try:
            return self._reporting(self._open(fit(*call.all) if call is not None else None).__enter__())
        except Exception as error:
            if call is None or not is_overflow(error):
                raise
            return self._reporting(self._open(compact_hard(*call.all, error)).__enter__())

    def __exit__(self, *problem: Any) -> Any:
        return self._opened.__exit__(*problem)

    async def __aenter__(self) -> Any:
        call = self._call
        try:
            fitted = await afit(*call.all) if call is not None else None
            return self._reporting(await self._open(fitted).__aenter__())
        except Exception as error:
            if call is None or not is_overflow(error):
                raise
            return self._reporting(await self._open(await acompact_hard(*call.all, error)).__aenter__())

    async def __aexit__(self, *problem: Any) -> Any:
        return await self._opened.__aexit__(*problem)
