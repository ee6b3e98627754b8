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

from compact.config import CompactConfig, SummarizerSettings
from compact.counters import counter_for
from compact.counters.families import provider_of
from compact.counters.margin import Margined
from compact.engine.drivers import Ports
from compact.engine.engine import Engine
from compact.engine.state.size_cache import SizeCache
from compact.engine.validation import check_ports
from compact.formats import by_name, register
from compact.model.event import EventName
from compact.model.policy import Rest
from compact.model.summary import SummaryRequest
from compact.models.limits import limits_for
from compact.ports import Archive, Format, Store, TokenCounter
from compact.stores import store_for
from compact.summarizers.api import refuse_template
from compact.summarizers.chain import EMBEDDED, summarizer_for
from compact.summarizers.extractive import ExtractiveSummarizer
from compact.summarizers.fallback import WithEmbedded
from compact.summarizers.templates import check_strategy, prefix_instructions_for
from compact.tracing.archived import ArchivedEvents, EventLog
from compact.tracing.logged import LoggedFailures
from compact.tracing.stored import KeepsEvents, StoredEvents
from compact.tracing.stream import AnyExporter, EventStream

if TYPE_CHECKING:
    from compact.archives.base import FileArchive
    from compact.redaction import Redactor
    from compact.summarizers._model import ModelSummarizer

# The fast model of each vendor, and the variables that hold its key and the address of its server.
_VENDORS = {
    "anthropic": ("claude-haiku-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("gpt-4o-mini", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
_API_SECONDS, _OWN_SECONDS = 30.0, 120.0
"""For one summary, if the settings don't say. A user's own summarizer may be a slow local model."""


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
    clients = _clients(config, shared.redactor, shared.environ) if shared.summarizer is None else ()
    asked = shared.summarizer is not None or any(clients)
    embedded_fallback = asked and config.summarizer.fallback == "embedded"
    engine = Engine(
        model=config.model,
        window=config.max_context_tokens or limits.window,
        policy=config.policy,
        sizes=sizes,
        store=shared.store,
        events=shared.events,
        enabled=config.enabled,
        strip_meta=config.strip_meta,
        cached_prompts=_cached_prompts(config, clients or shared.summarizer, sizes),
        format=by_name(format) if isinstance(format, str) else format and register(format),
        provider=provider_of(config.model),
        embedded_fallback=embedded_fallback,
        starts_over=starts_over,
    )
    margined = Margined(sizes.counter)
    summarizer = _summarizer(config, shared, clients, margined)
    if embedded_fallback:
        summarizer = WithEmbedded(summarizer, _composed(config, None, margined, shared.redactor))

    @lru_cache(maxsize=1_000)
    def ports(session_id: str) -> Ports:
        return Ports(shared.store, shared.archive, summarizer, partial(shared.events.emit, session_id))

    return engine, ports


def _summarizer(
    config: CompactConfig,
    shared: Shared,
    clients: Sequence[ModelSummarizer | None],
    counter: Margined,
) -> Any:
    given = shared.summarizer
    if given is None:
        prose = _prose(config, clients, counter)
    else:
        prose = summarizer_for(given, counter, config.summarizer.timeout or _OWN_SECONDS)
    if config.policy.rest is Rest.SUMMARIZE and (prose is None or isinstance(prose, ExtractiveSummarizer)):
        refuse_template(config.policy.strategy, "policy.strategy")
    adds = given is None or config.policy.survival_floor > 0.0
    return _composed(config, prose, counter, shared.redactor, adds=adds)


def exporters_for(config: CompactConfig, redactor: Redactor, environ: Mapping[str, str]) -> list[AnyExporter]:
    """Where the settings send events."""
    settings = config.tracing
    exporters: list[AnyExporter] = []
    if settings.console:
        from compact.tracing.console import ConsoleExporter

        exporters.append(ConsoleExporter(clean=redactor.text))
    if settings.jsonl is not None:
        from compact.tracing.jsonl import JsonlExporter

        exporters.append(JsonlExporter(settings.jsonl))
    if settings.ariadne_url is not None:
        from compact.tracing.ariadne import AriadneExporter

        token = environ.get(settings.ariadne_token_env) if settings.ariadne_token_env else None
        exporters.append(
            AriadneExporter(
                settings.ariadne_url,
                settings.ariadne_timeout,
                token=token,
                tenant=config.tenant,
                clean=redactor.text,
            )
        )
    if settings.otel or settings.otlp_endpoint is not None:
        from compact.tracing.otel import OtelExporter

        capture = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").lower() == "true"
        exporters.append(OtelExporter(settings.otlp_endpoint, capture_content=capture))
    return exporters


def redactor_for(config: CompactConfig) -> Redactor:
    from compact.redaction import Redactor

    settings = config.redaction
    return Redactor(settings.patterns, settings.pii, settings.enabled)


def archive_for(config: CompactConfig, redactor: Redactor) -> Archive:
    settings = config.archive
    if settings.adapter == "none":
        from compact.archives.none import NoArchive

        return NoArchive()
    if settings.adapter == "fs":
        from compact.archives.fs import FsArchive

        archive: FileArchive = FsArchive(settings.path, redactor=redactor)
    else:
        from compact.archives.s3 import S3Archive

        archive = S3Archive(
            settings.bucket or "",
            settings.prefix,
            redactor=redactor,
            kms=settings.kms_key is not None,
            kms_key_id=settings.kms_key,
            endpoint_url=settings.endpoint_url,
            region=settings.region,
        )
    if settings.on_failure == "abort":
        return archive
    from compact.archives.queue import QueuedArchive

    return QueuedArchive(archive, settings.spool)


def _composed(
    config: CompactConfig, prose: Any, counter: TokenCounter, redactor: Redactor, *, adds: bool = True
) -> Any:
    """The prose checked, and the evidence added to it; None leaves both to the embedded summarizer."""
    from compact.summarizers.compose import Composer

    return Composer(
        prose,
        counter,
        adds=adds,
        min_chars=config.policy.summary_min_chars,
        is_secret=redactor.is_secret if redactor.enabled else None,
    )


def model_summarizer(config: CompactConfig, counter: TokenCounter, environ: Mapping[str, str]) -> Any:
    """What the settings name as a summarizer, ready to use; None for the embedded one alone."""
    return _prose(config, _clients(config, redactor_for(config), environ), counter)


def _prose(config: CompactConfig, clients: Sequence[ModelSummarizer | None], counter: TokenCounter) -> Any:
    """Each client, given no more at a time than its model can read; in a chain if there are several."""
    if not any(clients):
        return None
    from compact.summarizers.chunked import Chunked

    conversation = config.max_context_tokens or limits_for(config.model, config.models).window
    summary = config.policy.summary_tokens(conversation)
    links: list[Any] = []
    for client in clients:
        if client is None:
            links.append(EMBEDDED)
            continue
        window = limits_for(client.model, config.models).window
        links.append(Chunked(client, counter, input_limit=window - summary))
    return summarizer_for(links, counter) if len(links) > 1 else links[0]


def _clients(
    config: CompactConfig, redactor: Redactor, environ: Mapping[str, str]
) -> tuple[ModelSummarizer | None, ...]:
    """The models that write prose, in the order in which they are tried; None is the embedded summarizer."""
    asked = (config.summarizer, *config.summarizer.fallbacks)
    return tuple(_client(config, settings, redactor, environ) for settings in asked)


def _client(
    config: CompactConfig, settings: SummarizerSettings, redactor: Redactor, environ: Mapping[str, str]
) -> ModelSummarizer | None:
    vendor = vendor_of(settings, config.preset, environ)
    if vendor not in _VENDORS:
        return None
    fast_model, key_variable, address_variable = _VENDORS[vendor]
    Client: type[ModelSummarizer]
    if vendor == "openai":
        from compact.summarizers.openai import OpenAISummarizer as Client
    else:
        from compact.summarizers.anthropic import AnthropicSummarizer as Client
    client = Client(
        settings.model or fast_model,
        base_url=address_of(settings, vendor, environ),
        api_key=environ.get(settings.api_key_env or key_variable),
        timeout=settings.timeout or _API_SECONDS,
        redact=redactor.text if redactor.enabled else None,
    )
    # The conversation's text already goes to this address unredacted only if it is the conversation's own.
    own_address = (environ.get(address_variable) or Client.default_base_url).rstrip("/")
    own = settings.model == config.model and client.base_url == own_address
    client.reuse_prefix = settings.reuse_prefix == "on" or (settings.reuse_prefix == "auto" and own)
    return client


def summarizing_model(config: CompactConfig, environ: Mapping[str, str] = os.environ) -> str | None:
    """The model that is called first for summaries; None if the embedded summarizer writes them."""
    vendor = vendor_of(config.summarizer, config.preset, environ)
    return (config.summarizer.model or _VENDORS[vendor][0]) if vendor in _VENDORS else None


def address_of(settings: SummarizerSettings, vendor: str, environ: Mapping[str, str]) -> str | None:
    """Where the summarizer sends conversations: the user's own address, else the vendor's (None)."""
    return settings.base_url or environ.get(_VENDORS[vendor][2]) or None


def summarizer_address(settings: SummarizerSettings, vendor: str, environ: Mapping[str, str]) -> str:
    """The address that a summarizer of this vendor talks to, for people to check."""
    from compact.summarizers.anthropic import AnthropicSummarizer
    from compact.summarizers.openai import OpenAISummarizer

    own = OpenAISummarizer if vendor == "openai" else AnthropicSummarizer
    return (address_of(settings, vendor, environ) or own.default_base_url).rstrip("/")


def missing_key(settings: SummarizerSettings, preset: str, environ: Mapping[str, str]) -> str | None:
    """The variable that this summarizer requires; a user's own server may need no key."""
    vendor = vendor_of(settings, preset, environ)
    if vendor not in _VENDORS:
        return None
    own_server = address_of(settings, vendor, environ) is not None
    variable = settings.api_key_env or ("" if own_server else _VENDORS[vendor][1])
    return variable if variable and not environ.get(variable) else None


def _cached_prompts(config: CompactConfig, asked: Any, sizes: SizeCache) -> tuple[str, int, int] | None:
    """Of a summarizer that can be asked on the prompt that its provider has cached: its format, its window,
    and the tokens that its instructions take.
    """
    first = asked[0] if isinstance(asked, list | tuple) and asked else asked
    if not getattr(first, "reuse_prefix", False):
        return None
    policy = config.policy
    requests = (
        SummaryRequest((), "", policy.summary_max_tokens, strategy) for strategy in (policy.strategy, "brief")
    )
    instructions = max(sizes.of_text(prefix_instructions_for(request)) for request in requests)
    return first.prefix_format, limits_for(first.model, config.models).window, instructions


def vendor_of(settings: SummarizerSettings, preset: str, environ: Mapping[str, str]) -> str:
    """The one that is set; with `auto`, the vendor whose key is there, else the embedded one.

    `agent` asks OpenAI first, as its seed does (S0.2, S2.10).
    """
    if settings.name != "auto":
        return settings.name
    order = ["openai", "anthropic"] if preset == "agent" else ["anthropic", "openai"]
    return next((vendor for vendor in order if environ.get(_VENDORS[vendor][1])), EMBEDDED)
