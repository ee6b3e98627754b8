"""Which hosts the server may call for replies. Nobody who talks to the server can choose one.

Addresses come only from the operator: the command line, the environment, the vendors' own. What is left to
guard against is a name that leads somewhere else: one that resolves to a private address, and a redirect,
which the clients do not follow. The connection goes to the address that was checked, so a name that changes
in between leads nowhere.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from compact.config import CompactConfig
from compact.errors import ChatError, ConfigError
from compact.model.chat import ReplyPiece
from compact.models.streaming import astream_of
from compact.policies import PRESETS
from compact.ports import ChatModel
from compact.server.studio.settings import StudioSettings
from compact.wiring.vendors import summarizer_address, summarizing_model, vendor_of


class GuardedModel:
    """A model whose host is checked before each request."""

    def __init__(self, model: ChatModel, settings: StudioSettings) -> None:
        self._model = model
        self._settings = settings
        self.model = model.model
        self.label = model.label
        self._url = str(getattr(model, "base_url", ""))
        pin = getattr(model, "connect_only_to", None)
        if callable(pin):
            pin(lambda host: check_upstream(self._url, settings))

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[ReplyPiece]:
        check_upstream(self._url, self._settings)
        return self._model.stream(messages, tools=tools, max_tokens=max_tokens)

    async def astream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[ReplyPiece]:
        await asyncio.to_thread(check_upstream, self._url, self._settings)
        stream = astream_of(self._model, messages, tools, max_tokens)
        try:
            async for piece in stream:
                yield piece
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def close(self) -> None:
        close = getattr(self._model, "close", None)
        if callable(close):
            close()


def allowed_summaries(
    config: CompactConfig, base_url: str | None, hosts: Sequence[str], environ: Mapping[str, str]
) -> CompactConfig:
    """The settings, with summaries written here unless the operator named or allowed who writes them.

    A key in the environment does neither if the model has its own address or hosts are listed.
    """
    chosen = config.summarizer
    is_guessed = chosen.name == "auto" and not chosen.base_url
    if is_guessed and (base_url or _refused_hosts(config, hosts, environ)):
        config = config.model_copy(update={"summarizer": chosen.model_copy(update={"name": "extractive"})})
    if refused := _refused_hosts(config, hosts, environ):
        raise ConfigError(
            f"The summarizer would ask {', '.join(sorted(refused))}, which --allow-upstream does not list. "
            "Nothing was started: list it, or choose another summarizer.",
            "summarizer",
        )
    return config


def _refused_hosts(config: CompactConfig, hosts: Sequence[str], environ: Mapping[str, str]) -> set[str]:
    """Hosts outside the list that would write summaries, whichever preset a session chooses."""
    asked = set()
    for preset in PRESETS if hosts else ():
        for one in (config.summarizer, *config.summarizer.fallbacks):
            if summarizing_model(config.model_copy(update={"summarizer": one, "preset": preset}), environ):
                vendor = vendor_of(one, preset, environ)
                asked.add(urlsplit(summarizer_address(one, vendor, environ)).hostname or "")
    return asked - set(hosts)


def check_upstream(url: str, settings: StudioSettings) -> list[str] | None:
    """The addresses that may be connected to; ChatError if there are others. Nothing is sent to find out.

    None if there is nothing to check: the operator named the address itself, or allows any.
    """
    host = urlsplit(url).hostname or ""
    if settings.upstream_hosts and host not in settings.upstream_hosts:
        raise _refused(host, "is not an allowed host (--allow-upstream)")
    if settings.private_upstreams or _is_named(host):
        return None
    found = _addresses(host)
    if not all(address.is_global for address in found):
        raise _refused(host, "leads to a private address (--allow-private-upstream allows that)")
    return [str(address) for address in found]


def _is_named(host: str) -> bool:
    """Whether the operator named this exact machine or address, so that nothing can lead elsewhere."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    # Cloud machines serve their credentials there; nobody runs a model on it.
    return not address.is_link_local


def _addresses(host: str) -> list[IPv4Address | IPv6Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []  # the request itself says that it cannot be reached
    return [ip_address(str(one[4][0]).partition("%")[0]) for one in found]


def _refused(host: str, why: str) -> ChatError:
    return ChatError(f"The model's host {host} {why}. Nothing was sent; the conversation is unchanged.")
