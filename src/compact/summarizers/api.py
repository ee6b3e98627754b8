"""`compact.summarize()`: just the summary, without a session."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress, count
from typing import Any

from compact.counters import counter_for
from compact.errors import ConfigError, FormatError, shown
from compact.formats import by_name, decode_all, recognize
from compact.formats.nesting import refusing_deep_nesting
from compact.model.message import Message, Role, arguments_text
from compact.model.summary import Evidence, Summary, SummaryRequest
from compact.ports import TokenCounter
from compact.summarizers.chain import summarizer_for
from compact.summarizers.compose import Composer
from compact.summarizers.extractive import ExtractiveSummarizer
from compact.summarizers.extractive.strategies import STRATEGIES
from compact.summarizers.templates import load_template

EMBEDDED_STRATEGIES = frozenset(STRATEGIES)
_MOST_CHARS_PER_TOKEN = 8
"""A source with more characters than the room can hold need not be counted."""
_LEAST_TOKENS = 60


def summarize(
    messages: Sequence[Any],
    max_tokens: int,
    strategy: str = "task_state",
    summarizer: Any = None,
    counter: str | TokenCounter = "auto",
    *,
    model: str = "gpt-4o",
    previous: Summary | None = None,
    first_position: int = 0,
    focus: str = "",
    format: str | None = None,
    on_skipped: Callable[[str, str], None] | None = None,
) -> Summary:
    """A summary of at most `max_tokens` tokens, of messages in any recognized format or decoded ones.

    Without a `summarizer` the embedded one is used, offline. With another, evidence is added to its prose. In
    a list, each is the fallback of the one before, and "extractive" names the embedded one;
    `on_skipped(reason, message)` is called for each one skipped. `previous` is an earlier summary to build
    on. System and developer messages are instructions, not conversation, so they are left out. `strategy` may
    be the path of your own template, for a summarizer with a model. The embedded summarizer's text is empty
    if nothing was said, or if `max_tokens` is too few for any of it.
    """
    _check(messages, max_tokens, strategy, previous, first_position, focus)
    with refusing_deep_nesting(messages):
        return _summarize(
            messages,
            max_tokens,
            strategy,
            summarizer,
            counter if isinstance(counter, TokenCounter) else counter_for(model, counter),
            previous,
            first_position,
            focus,
            format,
            on_skipped,
        )


def _check(
    messages: Any, max_tokens: Any, strategy: Any, previous: Any, first_position: Any, focus: Any
) -> None:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Collection):
        raise FormatError(f"messages must be a list, not {type(messages).__name__}. Nothing was summarized.")
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 1:
        raise ConfigError(
            f"max_tokens must be a whole number, 1 or more, not {shown(max_tokens)}.", "max_tokens"
        )
    if not isinstance(strategy, str):
        raise ConfigError(f"strategy must be a name or a path, not {type(strategy).__name__}.", "strategy")
    checks: list[tuple[str, Any, str, Any]] = [
        ("previous", previous, "an earlier Summary", (Summary, type(None))),
        ("first_position", first_position, "a position", int),
        ("focus", focus, "text", str),
    ]
    for name, value, wanted, kinds in checks:
        if not isinstance(value, kinds) or (kinds is int and not 0 <= value < 2**62):
            raise FormatError(f"{name} must be {wanted}, not {shown(value)}. Nothing was summarized.")


def _summarize(
    messages: Sequence[Any],
    max_tokens: int,
    strategy: str,
    summarizer: Any,
    counting: TokenCounter,
    previous: Summary | None,
    first_position: int,
    focus: str,
    format: str | None,
    on_skipped: Callable[[str, str], None] | None,
) -> Summary:
    if strategy not in EMBEDDED_STRATEGIES:
        load_template(strategy)
        if summarizer is None:
            refuse_template(strategy)
    given = list(messages)
    decoded: list[Message] = given
    if not all(isinstance(message, Message) for message in given):
        decoded = decode_all(given, recognize(given) if format is None else by_name(format))
    said = [message.role not in (Role.SYSTEM, Role.DEVELOPER) for message in decoded]
    # Numbers count from the first message after the system prompt, as in plans, records and recall.
    lead = said.index(True) if True in said else 0
    request = SummaryRequest(
        messages=tuple(compress(decoded, said)),
        prompt="",
        max_tokens=max_tokens,
        strategy=strategy,
        previous_summary=previous.text if previous is not None else None,
        previous_evidence=_evidence(previous),
        positions=tuple(compress(count(first_position - lead), said)),
        focus=focus,
        on_skipped=on_skipped,
    )
    if summarizer is None:
        # Headings and citations must not make it longer than what it summarizes.
        source = None if previous is not None else _short_source(request.messages, max_tokens)
        if source is not None:
            bound = max(_LEAST_TOKENS, counting.count(source))
            request = replace(request, max_tokens=min(max_tokens, bound))
        return ExtractiveSummarizer(counting).summarize(request)
    return Composer(summarizer_for(summarizer, counting), counting).summarize(request)


def _short_source(messages: Sequence[Message], max_tokens: int) -> str | None:
    """All that was said, if it is so short that `max_tokens` may exceed it; else None."""
    room = max_tokens * _MOST_CHARS_PER_TOKEN
    shown: list[str] = []
    for message in messages:
        shown.append(_shown(message))
        room -= len(shown[-1]) + 1
        if room < 0:
            return None
    return "\n".join(shown)


def _shown(message: Message) -> str:
    calls = (f"{call.name} {arguments_text(call.arguments)}" for call in message.calls)
    return "\n".join((message.text, *calls, *(result.text for result in message.results)))


def _evidence(previous: Summary | None) -> tuple[Evidence, ...]:
    return previous.evidence if previous is not None else ()


def refuse_template(strategy: str, path: str = "strategy") -> None:
    """Raise ConfigError for a strategy that the embedded summarizer does not know."""
    if strategy not in EMBEDDED_STRATEGIES:
        raise ConfigError(
            f"{path}: {strategy!r} is a template for a model, and the embedded summarizer reads none. Give a "
            "summarizer with a model (summarizer.name in the settings, --summarizer on the command line), or "
            f"use one of {', '.join(sorted(EMBEDDED_STRATEGIES))}.",
            path,
        )
