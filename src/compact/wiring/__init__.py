"""Composition root: settings become objects here. Of the library, only this reads the environment, besides
`CompactConfig.load` if it gets no mapping; front doors read their own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from compact.config import CompactConfig
from compact.counters import counter_for
from compact.counters.families import provider_of
from compact.engine.drivers import Ports
from compact.engine.engine import Engine
from compact.engine.state.size_cache import SizeCache
from compact.engine.validation import check_ports
from compact.formats import by_name, register
from compact.model.event import EventName
from compact.model.policy import Rest
from compact.models.limits import limits_for
from compact.ports import Archive, Format, Store
from compact.stores import store_for
from compact.summarizers.templates import check_strategy
from compact.tracing.archived import ArchivedEvents, EventLog
from compact.tracing.logged import LoggedFailures
from compact.tracing.stored import KeepsEvents, StoredEvents
from compact.tracing.stream import AnyExporter, EventStream
from compact.wiring.adapters import archive_for, exporters_for, redactor_for
from compact.wiring.summarizer import summarizing_for

if TYPE_CHECKING:
    from compact.redaction import Redactor


@dataclass(frozen=True)
class Shared:
    """What a manager and its siblings for other models share."""

    store: Store
    archive: Archive
    events: EventStream
    redactor: Redactor
    summarizer: Any
    """The one that the user gave; None: what the settings name."""
    environ: Mapping[str, str]
    sizes: dict[tuple[str, str], SizeCache] = field(default_factory=dict)
    """Counters and the sizes they found, by model and kind of counter."""

    def sizes_for(self, config: CompactConfig) -> SizeCache:
        key = (config.model, config.counter)
        if key not in self.sizes:
            cache = self.environ.get("TIKTOKEN_CACHE_DIR")
            counter = counter_for(
                config.model, config.counter, cache_dir=cache, on_warning=partial(_warn, self.events)
            )
            self.sizes[key] = SizeCache(counter)
        return self.sizes[key]


def _warn(events: EventStream, message: str, severity: str = "low") -> None:
    events.emit("", EventName.WARNING, {"severity": severity, "message": message})


Wired = tuple[Engine, Callable[[str], Ports]]
"""The engine, and the ports a session's flow runs on."""


def share(
    config: CompactConfig,
    summarizer: Any,
    store: Store | None,
    archive: Archive | None,
    exporters: Sequence[AnyExporter],
    environ: Mapping[str, str] | None = None,
) -> Shared:
    """Everything that holds a thread, a file or a connection: created once for a manager and its siblings."""
    environ = os.environ if environ is None else environ
    check_ports(store, archive, exporters)
    redactor = redactor_for(config)
    archive = archive if archive is not None else archive_for(config, redactor)
    store = store if store is not None else store_for(config)
    if config.archive.adapter != "none" and isinstance(archive, EventLog):
        exporters = [*exporters, ArchivedEvents(archive, immediate=config.archive.adapter == "fs")]
    if config.storage.url is not None and isinstance(store, KeepsEvents):
        exporters = [*exporters, StoredEvents(store)]
    events = EventStream(
        [LoggedFailures(), *exporters, *exporters_for(config, redactor, environ)],
        time.time,
        redactor=redactor if redactor.enabled else None,
        queue_size=config.tracing.queue_size,
    )
    shared = Shared(store, archive, events, redactor, summarizer, environ)
    for warning in filter(None, [redactor.warning_when_disabled()]):
        _warn(events, warning, "high")
    return shared


def assemble(
    config: CompactConfig, shared: Shared, format: str | Format | None = None, starts_over: bool = True
) -> Wired:
    """An engine for one model and policy; nothing it creates holds a thread or a file."""
    if config.policy.rest is Rest.SUMMARIZE:
        check_strategy(config.policy.strategy)
    sizes = shared.sizes_for(config)
    limits = limits_for(config.model, config.models)
    if limits.warning and config.max_context_tokens is None:
        _warn(shared.events, limits.warning)
    summarizing = summarizing_for(config, shared.summarizer, shared.redactor, shared.environ, sizes)
    engine = Engine(
        model=config.model,
        window=config.max_context_tokens or limits.window,
        policy=config.policy,
        sizes=sizes,
        store=shared.store,
        events=shared.events,
        enabled=config.enabled,
        strip_meta=config.strip_meta,
        cached_prompts=summarizing.cached_prompts,
        format=by_name(format) if isinstance(format, str) else format and register(format),
        provider=provider_of(config.model),
        embedded_fallback=summarizing.embedded_fallback,
        starts_over=starts_over,
    )

    @lru_cache(maxsize=1_000)
    def ports(session_id: str) -> Ports:
        return Ports(
            shared.store, shared.archive, summarizing.summarizer, partial(shared.events.emit, session_id)
        )

    return engine, ports
