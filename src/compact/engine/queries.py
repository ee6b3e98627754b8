"""Looking without writing: usage, overflow, calibration, recall."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compact.core.measure import PRIMING
from compact.core.view import handle, kept_positions, without_hint
from compact.engine.engine import Engine
from compact.engine.reader import Call
from compact.engine.validation import check_limit, check_query, check_session
from compact.model.message import Message, Usage, arguments_text
from compact.model.outcome import ContextUsage, OverflowCheck
from compact.ports import Hit, Searchable

# A provider's count may differ from ours by tokenizer and hidden text, not by an order of magnitude.
# One that counts too little would let prompts outgrow the window: it lowers an estimate by at most a fifth,
# and an exact count not at all.
_LEAST_SCALE, _MOST_SCALE = 0.8, 4.0
_MOST = 10**12
"""More than any prompt has tokens or any session messages; databases take no number without end."""
# What a server adds around every prompt weighs in a short one as if each token of ours were several of its
# own. Only a prompt of this size, or of this share of the window, determines the factor fully.
_FULL_WEIGHT_TOKENS, _FULL_WEIGHT_SHARE = 1_000, 0.1


def usage(engine: Engine, call: Call) -> ContextUsage:
    """What would be sent now, by share; tokens are corrected by what the provider reported."""
    now = engine.reader.look(call)
    view = now.history.view
    summary = sum(view.items[n].tokens for n in view.summaries)
    parts = {
        "system": now.breakdown["system"],
        "developer": now.breakdown["developer"],
        "tools": now.breakdown["tools_schema"],
        "summary": summary,
        "messages": view.total - summary + PRIMING,
    }
    total = now.limits.real(now.total)
    return ContextUsage(
        tokens=total,
        window=engine.window,
        percent=round(100 * total / engine.window, 2),
        breakdown={
            **now.limits.real_parts(parts, total),
            "free": max(0, engine.window - total),
        },
        budget=engine.window - engine.policy.reserve(engine.window),
        trigger=now.limits.real(now.limits.trigger),
        exact=engine.sizes.counter.exact and now.limits.scale == 1.0,
        record=now.history.base,
    )


def overflow(engine: Engine, call: Call) -> OverflowCheck:
    """The overflow check alone (S2.22)."""
    now = engine.reader.look(call)
    current = now.limits.real(now.total)
    reserve = engine.policy.reserve(engine.window)
    return OverflowCheck(
        is_overflow=now.limits.reached(now.total) or now.total > now.limits.budget,
        current=current,
        available=max(0, engine.window - reserve - current),
        model_limit=engine.window,
        output_reserve=reserve,
    )


def observe(engine: Engine, call: Call, reported: Any) -> float:
    """Correct this session's estimate by the provider's count for this prompt; returns the new factor.

    A short prompt corrects it partly, by its share of a size that determines the factor fully.
    """
    tokens = min(prompt_tokens(reported), _MOST)
    now = engine.reader.look(call)
    if tokens > 0 and now.total > 0:
        reached = tokens / now.total
        least = 1.0 if engine.sizes.counter.exact else _LEAST_SCALE
        factor = min(max(reached, least), _MOST_SCALE)
        full_weight = min(_FULL_WEIGHT_TOKENS, engine.window * _FULL_WEIGHT_SHARE)
        # Only in memory: looking writes nothing. The next call that stores saves it.
        now.session.memory.correct(1.0 + (factor - 1.0) * min(1.0, now.total / full_weight))
        if not _LEAST_SCALE <= reached <= _MOST_SCALE and now.total >= full_weight:
            engine.reporter.warn(
                now.session.id,
                f"The provider reported {tokens:,} tokens where {now.total:,} were estimated. Is it the "
                f"usage of this prompt? The estimate is corrected by {factor} only.",
            )
    return now.session.memory.scale


_WHOLE = ("prompt_tokens", "prompt_token_count", "promptTokenCount", "promptTokens")
"""Names of a count of the whole prompt: OpenAI chat, Gemini, AI SDK."""
_PARTS = (
    # OpenAI's Responses API and the AI SDK count cached tokens here too, Anthropic and Bedrock separately.
    ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
)
_HOLDERS = ("usage", "usage_metadata", "usageMetadata")
"""Where a response has its usage."""


def prompt_tokens(reported: Any) -> int:
    """Prompt tokens in a provider's usage, cached ones included; from a dict, an object or a response."""
    if isinstance(reported, int):
        return reported
    if isinstance(reported, Usage):
        return reported.input
    return _counted(reported) or next(filter(None, (_counted(_field(reported, n)) for n in _HOLDERS)), 0)


def _counted(usage: Any) -> int:
    def tokens(name: str) -> int:
        value = _field(usage, name)
        return value if isinstance(value, int) else 0

    counts = (*map(tokens, _WHOLE), *(sum(map(tokens, names)) for names in _PARTS))
    return next(filter(None, counts), 0)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recalled original; `text` is history, not an instruction."""

    position: int
    role: str
    text: str
    handles: tuple[str, ...]
    score: float


def recall(engine: Engine, session_id: str, query: str, limit: int = 5, after: int = -1) -> list[Recalled]:
    """Originals by handle or by words, best first: through the store's index if it has one."""
    check_session(session_id)
    check_limit(limit)
    check_query(query, after)
    store, query = engine.store, without_hint(query)
    limit, after = min(limit, _MOST), max(-1, min(after, _MOST))
    if isinstance(store, Searchable):
        return [_recalled(hit, query) for hit in store.search(session_id, query, limit, after)]
    first, _, rest = query.strip().partition(" ")
    named = next((record for record in store.records(session_id) if first and record.handle == first), None)
    gone = set(range(named.source_length)) - kept_positions(named) if named is not None else None
    query = query if named is None else rest
    wanted = {word.casefold() for word in re.findall(r"\w[\w./:-]*", query)}
    found = []
    for position, message in enumerate(store.originals(session_id)):
        if position <= after or (gone is not None and position not in gone):
            continue
        if query.strip() in (_handles(message) if gone is None else ("",)):
            score = float("inf")
        else:
            low = all_text(message).casefold()
            score = sum(1.0 for word in wanted if word in low) / max(1, len(wanted))
        if score > 0:
            found.append(_recalled(Hit(position, message, score), query))
    in_order = gone is not None and not rest
    found.sort(key=lambda hit: (-hit.score, hit.position if in_order else -hit.position))
    return found[:limit]


def _recalled(hit: Hit, query: str) -> Recalled:
    """The message, or if the query is the handle of one of its outputs, that output unchanged."""
    message, wanted = hit.message, query.strip()
    named = (result.text for result in message.results if handle(result) == wanted)
    text = next(named, None) or all_text(message)
    return Recalled(hit.position, message.role.value, text, _handles(message), hit.score)


def _handles(message: Message) -> tuple[str, ...]:
    return tuple(handle(result) for result in message.results)


def all_text(message: Message) -> str:
    """Prose, calls and outputs of a message."""
    calls = [f"{call.name} {arguments_text(call.arguments)}" for call in message.calls]
    return "\n".join([message.text, *calls, *(result.text for result in message.results)]).strip()
