"""The summarizer of a session: the user's own or what the settings name, checked, and what follows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from compact.config import CompactConfig, SummarizerSettings
from compact.counters.margin import Margined
from compact.engine.output import CachedPrompts
from compact.engine.state.size_cache import SizeCache
from compact.model.policy import Rest
from compact.model.summary import EMBEDDED, SummaryRequest
from compact.models.limits import limits_for
from compact.ports import TokenCounter
from compact.summarizers.api import refuse_template
from compact.summarizers.chain import summarizer_for
from compact.summarizers.extractive import ExtractiveSummarizer
from compact.summarizers.fallback import WithEmbedded
from compact.summarizers.templates import prefix_instructions_for
from compact.summarizers.without_key import WithoutKey
from compact.wiring.adapters import redactor_for
from compact.wiring.vendors import VENDORS, address_of, missing_key, vendor_of

if TYPE_CHECKING:
    from compact.redaction import Redactor
    from compact.summarizers._model import ModelSummarizer

_Client: TypeAlias = "ModelSummarizer | WithoutKey | None"
"""None is the embedded summarizer."""
_API_SECONDS, _OWN_SECONDS = 30.0, 120.0
"""For one summary, if the settings don't say. A user's own summarizer may be a slow local model."""


@dataclass(frozen=True)
class Summarizing:
    """How a session's summaries are made."""

    summarizer: Any
    embedded_fallback: bool
    """Whether the embedded summarizer follows the one that is called first."""
    cached_prompts: CachedPrompts | None


def summarizing_for(
    config: CompactConfig, given: Any, redactor: Redactor, environ: Mapping[str, str], sizes: SizeCache
) -> Summarizing:
    """`given` is the user's own summarizer; None: what the settings name."""
    counter = Margined(sizes.counter)
    clients = _clients(config, redactor, environ) if given is None else ()
    if given is None:
        prose = _prose(config, clients, counter)
    else:
        prose = summarizer_for(given, counter, config.summarizer.timeout or _OWN_SECONDS)
    if config.policy.rest is Rest.SUMMARIZE and (prose is None or isinstance(prose, ExtractiveSummarizer)):
        refuse_template(config.policy.strategy, "policy.strategy")
    adds = given is None or config.policy.survival_floor > 0.0
    summarizer = _composed(config, prose, counter, redactor, adds=adds)
    asks_another = given is not None or any(clients)
    embedded_fallback = asks_another and config.summarizer.fallback == "embedded"
    if embedded_fallback:
        summarizer = WithEmbedded(summarizer, _composed(config, None, counter, redactor))
    return Summarizing(summarizer, embedded_fallback, _cached_prompts(config, clients or given, sizes))


def model_summarizer(config: CompactConfig, counter: TokenCounter, environ: Mapping[str, str]) -> Any:
    """What the settings name as a summarizer, ready to use; None for the embedded one alone."""
    return _prose(config, _clients(config, redactor_for(config), environ), counter)


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
        redactor=redactor if redactor.enabled else None,
    )


def _prose(config: CompactConfig, clients: Sequence[_Client], counter: TokenCounter) -> Any:
    """Each client, given no more at a time than its model can read; in a chain if there are several."""
    if not any(clients):
        return None
    from compact.summarizers.chunked import Chunked

    conversation = config.max_context_tokens or limits_for(config.model, config.models).window
    summary = config.policy.summary_tokens(conversation)
    links: list[Any] = []
    for client in clients:
        if client is None or isinstance(client, WithoutKey):
            links.append(client or EMBEDDED)
            continue
        window = limits_for(client.model, config.models).window
        links.append(Chunked(client, counter, input_limit=window - summary))
    return summarizer_for(links, counter) if len(links) > 1 else links[0]


def _clients(config: CompactConfig, redactor: Redactor, environ: Mapping[str, str]) -> tuple[_Client, ...]:
    """The models that write prose, in the order in which they are tried."""
    asked = (config.summarizer, *config.summarizer.fallbacks)
    return tuple(_client(config, settings, redactor, environ) for settings in asked)


def _client(
    config: CompactConfig, settings: SummarizerSettings, redactor: Redactor, environ: Mapping[str, str]
) -> _Client:
    name = vendor_of(settings, config.preset, environ)
    if name not in VENDORS:
        return None
    vendor = VENDORS[name]
    model = settings.model or vendor.fast_model
    if variable := missing_key(settings, config.preset, environ):
        return WithoutKey(model, variable)
    Client = vendor.client()
    client = Client(
        model,
        base_url=address_of(settings, name, environ),
        api_key=environ.get(settings.api_key_env or vendor.key_variable),
        timeout=settings.timeout or _API_SECONDS,
        redact=redactor.text if redactor.enabled else None,
    )
    # The conversation's text already goes to this address unredacted only if it is the conversation's own.
    own_address = (environ.get(vendor.address_variable) or Client.default_base_url).rstrip("/")
    own = settings.model == config.model and client.base_url == own_address
    client.reuse_prefix = settings.reuse_prefix == "on" or (settings.reuse_prefix == "auto" and own)
    return client


def _cached_prompts(config: CompactConfig, asked: Any, sizes: SizeCache) -> CachedPrompts | None:
    first = asked[0] if isinstance(asked, list | tuple) and asked else asked
    if not getattr(first, "reuse_prefix", False):
        return None
    policy = config.policy
    requests = (
        SummaryRequest((), "", policy.summary_max_tokens, strategy) for strategy in (policy.strategy, "brief")
    )
    instructions = max(sizes.of_text(prefix_instructions_for(request)) for request in requests)
    return CachedPrompts(first.prefix_format, limits_for(first.model, config.models).window, instructions)
