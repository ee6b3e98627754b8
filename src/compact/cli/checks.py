"""The checks of `compact doctor`. Each one says what it found and, if needed, what to do."""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from compact.cli.measuring import Meter, certainty_of
from compact.cli.session import manager_for
from compact.config import CompactConfig, SummarizerSettings
from compact.console.context import Context
from compact.console.stored import shown_url
from compact.counters import counter_for
from compact.errors import CompactError, ConfigError, MissingExtra
from compact.model.policy import Rest
from compact.model.summary import EMBEDDED
from compact.models import limits_for
from compact.models._http import address_problem
from compact.models.choose import sources
from compact.models.limits import LimitsSource
from compact.redaction.scan import compile_user
from compact.stores import check_url
from compact.summarizers.api import refuse_template
from compact.summarizers.templates import check_strategy
from compact.wiring.vendors import missing_key, summarizer_address, vendor_of

DISTRIBUTION = "compact-context"
_PROBE_SECONDS = 4.0


class Level(StrEnum):
    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Check:
    level: Level
    name: str
    found: str
    advice: str = ""


def checks_of(config: CompactConfig, environ: Mapping[str, str], online: bool = True) -> Iterator[Check]:
    """All checks of the settings and this machine; `online` also tries the summarizer's address."""
    if not config.enabled:
        yield Check(Level.WARNING, "enabled", "compaction is switched off", "Set enabled: true.")
    yield _model(config)
    yield _counting(config, environ)
    yield from _arithmetic(config)
    yield from _refusals(config)
    yield from _summarizer(config, environ)
    if online:
        yield from _addresses(config, environ)
    yield from _archive(config)
    yield _chat_models(environ)
    yield from _extras(config)


def _window(config: CompactConfig) -> int:
    return config.max_context_tokens or limits_for(config.model, config.models).window


def _model(config: CompactConfig) -> Check:
    limits = limits_for(config.model, config.models)
    if config.max_context_tokens is not None:
        return Check(Level.OK, "model", f"{config.model}, window set to {config.max_context_tokens:,}")
    found = f"{config.model}, window {limits.window:,}, output {limits.max_output:,} ({limits.source.value})"
    if limits.source is LimitsSource.DEFAULT:
        advice = f"Set max_context_tokens, or models.{config.model}.window in the configuration."
        return Check(Level.WARNING, "model", found, advice)
    return Check(Level.OK, "model", found)


def _counting(config: CompactConfig, environ: Mapping[str, str]) -> Check:
    notes: list[str] = []
    try:
        counter = counter_for(
            config.model,
            config.counter,
            cache_dir=environ.get("TIKTOKEN_CACHE_DIR"),
            on_warning=notes.append,
        )
        counter.count("one two three")
    except CompactError as error:
        return Check(Level.PROBLEM, "counting", str(error))
    margin = "" if counter.margin == 1.0 else f", with a safety margin of {counter.margin - 1:.0%}"
    found = f"{certainty_of(counter, config.model)}, {counter.name}{margin}"
    if notes:
        return Check(Level.WARNING, "counting", found, notes[0])
    return Check(Level.OK, "counting", found)


def _arithmetic(config: CompactConfig) -> Iterator[Check]:
    """The policy's arithmetic: is there a budget, does a compaction have room, can it loop?"""
    policy, window = config.policy, _window(config)
    reserve = policy.reserve(window)
    budget, trigger = window - reserve, int(window * policy.trigger_pct)
    summary = policy.summary_tokens(window)
    sums = f"window {window:,} - reserve {reserve:,} = budget {budget:,}; trigger {trigger:,}"
    if summary >= budget:
        advice = "Lower policy.summary_max_tokens or policy.summary_max_pct."
        yield Check(Level.PROBLEM, "policy", f"a summary of {summary:,} fills the budget; {sums}", advice)
        return
    found = f"{policy.name}: {sums}; summary at most {summary:,}"
    if trigger > budget:
        advice = "The trigger lies above the budget, so compaction starts at the budget."
        yield Check(Level.INFO, "policy", found, advice)
    else:
        yield Check(Level.OK, "policy", found)
    if policy.prune and policy.prune_protect_pct + policy.prune_minimum_pct >= policy.trigger_pct:
        advice = "Lower policy.prune_protect_pct or policy.prune_minimum_pct."
        yield Check(Level.WARNING, "policy", "a prune can never save its minimum before the trigger", advice)


def _refusals(config: CompactConfig) -> Iterator[Check]:
    """Settings that are well-formed but that no manager could be created with."""
    trials: list[tuple[str, Callable[[], object]]] = [
        ("policy", partial(check_strategy, config.policy.strategy)),
        ("redaction", partial(compile_user, config.redaction.patterns)),
    ]
    if config.storage.url is not None:
        trials.append(("storage", partial(check_url, config.storage.url)))
    for name, trial in trials:
        try:
            trial()
        except MissingExtra:
            continue  # Reported with the other extras.
        except ConfigError as error:
            yield from (Check(Level.PROBLEM, name, line) for line in str(error).splitlines())


def _summarizer(config: CompactConfig, environ: Mapping[str, str]) -> Iterator[Check]:
    links = (config.summarizer, *config.summarizer.fallbacks)
    unset = [link for link in links if link.api_key_env and not environ.get(link.api_key_env)]
    for link in unset:
        advice = f"Set {link.api_key_env}, or take summarizer.api_key_env out."
        found = f"{link.name}: the variable {link.api_key_env} is not set"
        yield Check(Level.PROBLEM, "summarizer", found, advice)
    embedded = all(vendor_of(link, config.preset, environ) == EMBEDDED for link in links)
    if config.policy.rest is Rest.SUMMARIZE and embedded and Path(config.policy.strategy).is_file():
        try:
            refuse_template(config.policy.strategy, "policy.strategy")
        except ConfigError as error:
            yield Check(Level.PROBLEM, "summarizer", str(error))
            return
    if not unset:
        shown = ", else ".join(_described(link, config, environ) for link in links)
        yield Check(Level.OK, "summarizer", shown)
        for variable in filter(None, (missing_key(link, config.preset, environ) for link in links)):
            advice = f"Set {variable}, or summarizer.base_url to a server that needs no key."
            yield Check(Level.PROBLEM, "key", f"{variable} is not set", advice)


def _described(link: SummarizerSettings, config: CompactConfig, environ: Mapping[str, str]) -> str:
    name = vendor_of(link, config.preset, environ)
    shown = "extractive, the embedded one" if name == "extractive" else name
    if name == EMBEDDED:
        model = ""
    else:
        model = f", model {link.model}" if link.model else ""
        model += f" at {_shown(summarizer_address(link, name, environ))}"
    why = ""
    if link.name == "auto":
        why = " (auto: no vendor's key is set)" if name == "extractive" else " (auto: its key is set)"
    return f"{shown}{model}{why}"


def _addresses(config: CompactConfig, environ: Mapping[str, str]) -> Iterator[Check]:
    """Whether each summarizer that is a model responds; the request contains nothing of a conversation."""
    for link in (config.summarizer, *config.summarizer.fallbacks):
        vendor = vendor_of(link, config.preset, environ)
        if vendor == EMBEDDED:
            continue
        address = summarizer_address(link, vendor, environ)
        problem = trouble_at(address)
        if problem is None:
            yield Check(Level.OK, "address", f"{_shown(address)} answers")
            continue
        advice = f"Check summarizer.base_url or {vendor.upper()}_BASE_URL, and the network."
        if config.summarizer.fallback == "embedded":
            advice += " Until then the embedded summarizer writes the summaries."
        yield Check(Level.PROBLEM, "address", f"{_shown(address)} {problem}", advice)


def _shown(address: str) -> str:
    # People paste what doctor prints; a value that is no address may be a key.
    return shown_url(address) if "://" in address else "(no address)"


def trouble_at(address: str) -> str | None:
    """Why no summary can come from this address; None if a server responds, even if it requires a key."""
    if problem := address_problem(address):
        return f"is not an http:// or https:// address {problem}"
    request = urllib.request.Request(f"{address}/models", method="GET")
    try:
        urllib.request.urlopen(request, timeout=_PROBE_SECONDS).close()
    except urllib.error.HTTPError as answer:
        answer.close()
        if answer.code < 500 or answer.code == http.HTTPStatus.NOT_IMPLEMENTED:
            return None  # It requires a key, or has no list of models.
        return f"answers, but with an error of its own (status {answer.code})"
    except (OSError, ValueError) as error:
        return f"cannot be reached: {getattr(error, 'reason', error)}"
    except http.client.HTTPException as error:
        return f"cannot be reached: no HTTP answer ({type(error).__name__})"
    return None


def _chat_models(environ: Mapping[str, str]) -> Check:
    """Which models `compact chat` could use now; this contacts no server."""
    found = sources(environ)
    usable = [source.name for source in found if source.problem is None]
    unusable = [f"{source.name}: {source.problem}" for source in found if source.problem is not None]
    if not usable:
        return Check(Level.INFO, "chat models", "none can be used now", "; ".join(unusable))
    return Check(Level.OK, "chat models", f"can be used: {', '.join(usable)}", "; ".join(unusable))


def _archive(config: CompactConfig) -> Iterator[Check]:
    archive = config.archive
    waiting = sum(path.is_file() for path in Path(archive.spool).glob("*/[!.]*/[!.]*"))
    if waiting:
        advice = "Sent with the next compaction whose archive can be reached, or now by `compact flush`."
        found = f"{waiting} file{'s' if waiting > 1 else ''} could not be archived and wait to be sent"
        yield Check(Level.WARNING, "archive", found, advice)
    if archive.adapter == "none":
        yield Check(Level.INFO, "archive", "none: transcripts are not kept before pruning")
    elif archive.adapter == "s3":
        yield Check(Level.OK, "archive", f"s3://{archive.bucket}/{archive.prefix}")
    else:
        folder = Path(archive.path)
        existing = next(path for path in (folder, *folder.absolute().parents) if os.path.exists(path))
        try:
            # Permissions do not tell: root may write anywhere, but even root creates no folder in /proc.
            TemporaryDirectory(prefix=".compact-doctor-", dir=existing).cleanup()
        except OSError as error:
            found = f"no folder can be created in {existing} ({error.strerror})"
            queued = archive.on_failure == "queue"
            until = f"transcripts wait in {archive.spool}" if queued else "every compaction fails"
            advice = f"Make it writable, or set archive.path. Until then {until}."
            yield Check(Level.PROBLEM, "archive", found, advice)
        else:
            yield Check(Level.OK, "archive", f"folder {archive.path}")


def _extras(config: CompactConfig) -> Iterator[Check]:
    """Which extras are installed; a missing one matters only if the settings need it."""
    links = (config.summarizer, *config.summarizer.fallbacks)
    needed: dict[str, bool] = {link.name: True for link in links}
    needed["s3"] = config.archive.adapter == "s3"
    needed["sql"] = (config.storage.url or "").startswith(("sqlite", "postgres"))
    needed["postgres"] = (config.storage.url or "").startswith("postgres")
    present: list[str] = []
    absent: list[str] = []
    for extra, packages in extras().items():
        missing = [package for package in packages if not _installed(package)]
        (absent if missing else present).append(extra)
        if missing and needed.get(extra):
            advice = f"pip install '{DISTRIBUTION}[{extra}]'"
            yield Check(Level.PROBLEM, "extras", f"{', '.join(missing)} is needed but not installed", advice)
    found = f"installed: {', '.join(present) or 'none'}"
    if absent:
        found += f"; not installed: {', '.join(absent)}"
    yield Check(Level.INFO, "extras", found)


def extras() -> dict[str, list[str]]:
    """Every extra with its packages, read from the installed distribution to avoid a second list."""
    found: dict[str, list[str]] = {}
    for requirement in metadata.requires(DISTRIBUTION) or []:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        if name and extra and extra[1] != "dev":
            found.setdefault(extra[1], []).append(name[0])
    return found


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def conversation_checks(context: Context, config: CompactConfig) -> Iterator[Check]:
    """How much room the given conversations leave: the floor is what no compaction can remove."""
    manager, meter = manager_for(context), Meter(config, context)
    for number, conversation in enumerate(context.transcript().conversations):
        plan = manager.plan(str(number), conversation.messages, conversation.tools, conversation.system)
        name, limits = conversation.label or "conversation", plan.limits
        if plan.insufficient is not None:
            total = " + ".join(f"{part} {tokens:,}" for part, tokens in plan.insufficient.items())
            advice = "Shorten the system prompt, the tools or protected messages, or use a larger window."
            found = f"{total} does not fit the budget of {limits.budget:,}"
            yield Check(Level.PROBLEM, name, found, advice)
            continue
        tools = f", {meter.tools(conversation.tools):,} of them tools" if conversation.tools else ""
        found = f"{plan.before:,} tokens, {limits.fixed:,} fixed{tools}; trigger {limits.trigger:,}"
        if limits.fixed >= limits.trigger // 2:
            advice = "Half of the trigger is taken before the first message; shorten system prompt or tools."
            yield Check(Level.WARNING, name, found, advice)
        else:
            yield Check(Level.OK, name, found)
