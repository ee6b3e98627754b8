"""Convert the view back to the caller's own format, objects and list type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from compact.core.event_data import SUMMARY_NOT_UPDATED
from compact.core.job import SentPrompt
from compact.core.view import Item
from compact.engine.reader import Call, Situation
from compact.engine.state.history import History, HistoryState
from compact.engine.tools import active_tools
from compact.formats import strip_meta
from compact.formats.base import grouped
from compact.model.event import Reason
from compact.model.message import Message
from compact.model.outcome import Compacted, Debug, Outcome, Prepared, TokenCounts, Unchanged, reason_of
from compact.model.plan import Mode
from compact.model.value import value
from compact.ports import Format

_PREFIX_SLACK = 256
"""Tokens for the text around the request for a summary, and for a count that differs slightly from ours."""


@value
class CachedPrompts:
    """A summarizer that can be asked on the prompt that its provider has cached."""

    format: str
    window: int
    instructions: int
    """The tokens that its instructions take."""


class Output:
    """What a call returns: messages and tools as the caller gave them, and what was done."""

    def __init__(self, strip_meta: bool) -> None:
        self._strip_meta = strip_meta

    def prepared(self, now: Situation, outcome: Outcome) -> Prepared:
        call, history, limits = now.call, now.history, now.limits
        out = encode_view(history, call.messages, now.head)
        before, after = now.total, limits.fixed + history.view.total
        if limits.scale != 1.0:
            before, after = limits.real(before), limits.real(after)
        cleared, replaced, after_prune = 0, 0, before
        retired = now.session.memory.retired_tools
        touched = tuple(sorted(retired))
        reason = outcome.reason if isinstance(outcome, Unchanged) else reason_of(outcome)
        if isinstance(outcome, Compacted):
            cleared, replaced = outcome.record.outputs_cleared, outcome.record.messages_replaced
            touched = (*outcome.plan.cleared_tools, *touched)
            after_prune = (
                after if outcome.plan.mode is Mode.PRUNE else before - outcome.plan.saved_by_clearing
            )
        return Prepared(
            self._as_given(call, out),
            cleared > 0,
            isinstance(outcome, Compacted) and outcome.plan.mode is not Mode.PRUNE,
            TokenCounts(before, after_prune, after, after),
            Debug(cleared, replaced, touched, reason, _warnings(outcome)),
            outcome,
            self._tools(active_tools(call.tools, retired) if retired else call.tools),
            history.base,
            stable_indexes(history, out, now.head),
        )

    def unread(self, call: Call, tokens: int, outcome: Outcome) -> Prepared:
        """The prompt unchanged."""
        out = self._as_given(call, list(call.messages))
        counts = TokenCounts(tokens, tokens, tokens, tokens)
        debug = Debug(reason=reason_of(outcome))
        return Prepared(out, False, False, counts, debug, outcome, tools=self._tools(call.tools))

    def _as_given(self, call: Call, out: list[Any]) -> Sequence[Any]:
        if self._strip_meta:
            out = [strip_meta(message) for message in out]
        return tuple(out) if isinstance(call.messages, tuple) else out

    def _tools(self, tools: Any) -> Any:
        return stripped_tools(tools) if self._strip_meta else tools


def _warnings(outcome: Outcome) -> tuple[str, ...]:
    """What a person in the conversation should know."""
    if isinstance(outcome, Compacted):
        return outcome.warnings
    aborted = isinstance(outcome, Unchanged) and outcome.reason is Reason.ABORTED
    return (SUMMARY_NOT_UPDATED,) if aborted else ()


def encode_view(history: History, messages: Sequence[Any], head: int) -> list[Any]:
    """What is sent, leading system messages first. Only what a record determines is encoded, once."""
    view = history.view
    if history.base is None and not view.has_ours and history.state is not HistoryState.UNDONE:
        return list(messages)
    if view.encoded is None:
        view.encoded = _encoded_prefix(history)
    prefix, rest = view.encoded
    out = list(messages)
    out[head : head + rest] = prefix
    return out


def sent_prompt(now: Situation, cached: CachedPrompts) -> SentPrompt | None:
    """What would be sent uncompacted, for a summarizer on the provider's cache.

    It begins with what was sent last, byte for byte. None if it does not fit there, followed by the
    instructions.
    """
    history, limits = now.history, now.limits
    taken = limits.fixed + history.view.total + cached.instructions + _PREFIX_SLACK
    room = int(cached.window / limits.scale) - taken
    tools = stripped_tools(now.tools)
    if history.format.name != cached.format or room <= 0 or now.moved or isinstance(tools, Mapping):
        return None
    messages = encode_view(history, now.call.messages, now.head)
    return SentPrompt(messages, tools, now.call.system, room)


def _encoded_prefix(history: History) -> tuple[list[Any], int]:
    # After the last item of ours, the view is the caller's own list again.
    items = history.view.items
    messages = [item.message for item in items]
    changed = [n for n, item in enumerate(items) if item.message.is_ours or item.message.changed]
    first_own = changed[-1] + 1 if changed else 0
    covered = max(history.covered, history.restored)
    for n in range(first_own, len(items)):
        position = items[n].position
        if position is None or position < covered:
            continue
        rest = history.caller.index_of(items[n].message)
        if rest is not None:
            return _encoded(history.format, messages[:n], messages[n]), rest
    return history.format.encode(messages), len(history.caller.copies)


def _encoded(format: Format, messages: list[Message], follows: Message) -> list[Any]:
    """Ours take the class of the caller's; if all of them are ours, what follows shows which that is."""
    if any(message.origin is not None for message in messages):
        return format.encode(messages)
    return format.encode([*messages, follows])[:-1]


def stable_indexes(history: History, out: Sequence[Any], head: int) -> tuple[int, ...]:
    """Where a cache breakpoint pays: after the summary, and at the last message."""
    if not out:
        return ()
    view, last = history.view, len(out) - 1
    if view.summary_objects is None:
        view.summary_objects = _objects_at(view.summaries, view.items)
    return (*[head + n for n in view.summary_objects if head + n < last], last)


def _objects_at(places: Sequence[int], items: Sequence[Item]) -> list[int]:
    """Which of the caller's objects end with these items: one may hold several messages."""
    if not places:
        return []
    runs = grouped(item.message for item in items[: places[-1] + 1])
    ends = {end - 1: number for number, end in enumerate(accumulate(map(len, runs)))}
    return [ends[n] for n in places]


def stripped_tools(tools: Any) -> Any:
    """The tool list without our marks; the same object if it has none."""
    if isinstance(tools, Mapping):
        clean = {name: strip_meta(tool) for name, tool in tools.items()}
        return clean if any(clean[name] is not tools[name] for name in clean) else tools
    if not tools:
        return tools
    found = [strip_meta(tool) for tool in tools]
    return found if any(new is not old for new, old in zip(found, tools, strict=True)) else tools
