"""Composition root: settings become objects here, and only here is the environment read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from compact.config import CompactConfig
from compact.counters import counter_for
from compact.engine.drivers import Ports
from compact.engine.prepare import Engine
from compact.model.event import Event, EventName
from compact.model.summary import SummaryRequest
from compact.models.limits import limits_for
from compact.ports import Archive, Exporter, Store, TokenCounter
from compact.stores.memory import MemoryStore
from compact.tracing.stream import EventStream


def wire(
    config: CompactConfig,
    summarizer: Any,
    store: Store | None,
    archive: Archive | None,
    exporters: Sequence[Exporter | Callable[[Event], None]],
    format: str | None,
) -> tuple[Engine, Callable[[str], Ports]]:
    """The engine, and the ports a session's flow runs on."""
    events = EventStream(exporters, time.time)
    warnings: list[str] = []
    counter = counter_for(
        config.model,
        config.counter,
        cache_dir=os.environ.get("TIKTOKEN_CACHE_DIR"),
        on_warning=warnings.append,
    )
    limits = limits_for(config.model, config.models)
    if limits.warning and config.max_context_tokens is None:
        warnings.append(limits.warning)
    for warning in warnings:
        events.emit("", EventName.WARNING, {"message": warning})
    store = store if store is not None else MemoryStore()
    engine = Engine(
        model=config.model,
        window=config.max_context_tokens or limits.window,
        policy=config.policy,
        counter=counter,
        store=store,
        events=events,
        prompt_for=prompt_for,
        enabled=config.enabled,
        strip_meta=config.strip_meta,
        format=format,
    )
    archive = archive if archive is not None else archive_for(config)
    composed = compose(config, summarizer, counter)

    @lru_cache(maxsize=1_000)
    def ports(session_id: str) -> Ports:
        return Ports(store, archive, composed, partial(events.emit, session_id))

    return engine, ports


def prompt_for(request: SummaryRequest) -> str:
    from compact.summarizers.templates import instructions_for

    return instructions_for(request)


def archive_for(config: CompactConfig) -> Archive:
    from compact.archives.memory import MemoryArchive

    return MemoryArchive()


def compose(config: CompactConfig, summarizer: Any, counter: TokenCounter) -> Any:
    return summarizer
