"""Several policies on the live session side by side. Nothing is changed."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Any

from compact.chat.choices import choice_in
from compact.chat.conversation import Conversation
from compact.chat.turns import is_pinned
from compact.config import CompactConfig
from compact.core.view import Item
from compact.errors import CompactError
from compact.model.policy import Policy
from compact.model.record import Cleared, Kept, Record, RecordKind
from compact.model.summary import EMBEDDED
from compact.model.value import value
from compact.server.http.problems import Problem
from compact.server.studio import forecast, schemas
from compact.server.studio.compaction import compact_now
from compact.server.studio.messages import record_in_force, turn_tokens
from compact.server.studio.prompt_contents import PromptContents, unchanged_tokens
from compact.server.studio.record_details import details_of
from compact.server.studio.showing import shown_parts
from compact.server.studio.trial import config_for, copied
from compact.wiring.vendors import summarizing_model

_MODES = {
    RecordKind.COMPACTION: "summarize",
    RecordKind.PRUNE: "prune",
    RecordKind.TRIM: "discard",
    RecordKind.CLEAR: "clear",
    RecordKind.RESTORE: "none",
}


def what_if(conversation: Conversation, wanted: list[schemas.ColumnRequest]) -> schemas.WhatIf:
    """Each policy, tried on a copy of the session in memory, with the embedded summarizer."""
    looking = _Comparison(conversation)
    return schemas.WhatIf(
        at_message=len(conversation.turns),
        now=looking.now(),
        columns=[looking.column(one) for one in wanted],
    )


async def applied(conversation: Conversation, wanted: schemas.ApplyRequest) -> schemas.CompactResult:
    """Take over one column and compact; where that fails, the session has its own preset and policy again."""
    _check_unchanged(conversation, wanted.at_message)
    before = choice_in(conversation.settings)
    chosen = {**before, "policy": wanted.policy or None}
    if wanted.preset:
        chosen["preset"] = wanted.preset
    await asyncio.to_thread(conversation.use, **chosen)
    try:
        result = await compact_now(conversation, "", "auto")
    except BaseException:
        await asyncio.to_thread(conversation.use, **before)
        raise
    if result.record is not None:
        await asyncio.to_thread(conversation.chose_with, result.record.step, before)
    return result


def _check_unchanged(conversation: Conversation, at_message: int) -> None:
    if len(conversation.turns) != at_message:
        raise Problem(
            409,
            "session-went-on",
            f"The session has {len(conversation.turns):,} messages now, not {at_message:,}. Nothing was "
            "done; look at the columns again.",
        )


@value
class _ToDo:
    summarizer: str | None
    cost: float | None
    seconds: float | None


class _Comparison:
    """What all columns of one request share."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._contents = PromptContents(conversation)
        self._record = record_in_force(conversation)
        self._sent = self._contents.items(self._record)
        self._pace = forecast.pace_of(conversation)
        self._sizes = turn_tokens(conversation)

    def now(self) -> schemas.Column:
        usage, config = self._conversation.usage, self._conversation.manager.config
        pace, tokens = self._pace, usage.tokens
        return schemas.Column(
            label="now",
            preset=config.preset,
            policy=config.policy.model_dump(mode="json"),
            mode="none",
            reason="now",
            tokens_before=tokens,
            tokens_after=tokens,
            parts=shown_parts(usage.breakdown),
            percent_after=usage.percent,
            cost_next=forecast.prompt_price(pace.model, tokens, tokens),
            cached_tokens=tokens,
            turns_until_next=self._turns_left(tokens, usage.trigger, config.policy, self._record),
            summarizer=None,
            cost_to_do=0.0,
            seconds_to_do=None,
            cost_ten_turns=forecast.cost_of_turns(pace, tokens, tokens, None, 0.0),
            survival_kinds=self._contents.kinds(self._sent),
            fates=self._fates(self._record, self._sent),
            summary=self._record.summary if self._record is not None else "",
            problem=None,
        )

    def column(self, wanted: schemas.ColumnRequest) -> schemas.Column:
        conversation, before = self._conversation, self._conversation.usage
        tools = conversation.tools.schemas or None
        try:
            config = config_for(conversation, wanted.preset, wanted.policy)
        except CompactError as error:
            return self._unusable(wanted, str(error))
        record: Record | None = None
        after, problem, began = before, None, time.perf_counter()
        with copied(conversation, config) as manager:
            known = len(manager.records(conversation.id))
            try:
                manager.manual_compact(conversation.id, conversation.history, tools=tools)
                record = next(iter(manager.records(conversation.id)[known:]), None)
                took = time.perf_counter() - began
                after = manager.usage(conversation.id, conversation.history, tools)
            except CompactError as error:
                problem, took = str(error), 0.0
        items = self._contents.items(record) if record is not None else self._sent
        cached = self._cached(items) if record is not None else before.tokens
        to_do = self._to_do(config, record, took)
        until = self._turns_left(after.tokens, after.trigger, config.policy, record)
        return schemas.Column(
            label=wanted.label or wanted.preset or config.preset,
            preset=wanted.preset or config.preset,
            policy=config.policy.model_dump(mode="json"),
            mode=_MODES[record.kind] if record is not None else "none",
            reason=record.reason if record is not None else "nothing-to-shrink",
            tokens_before=before.tokens,
            tokens_after=after.tokens,
            parts=shown_parts(after.breakdown),
            percent_after=round(100 * after.tokens / before.window, 2),
            cost_next=forecast.prompt_price(self._pace.model, after.tokens, cached),
            cached_tokens=min(cached, after.tokens),
            turns_until_next=until,
            summarizer=to_do.summarizer,
            cost_to_do=to_do.cost,
            seconds_to_do=to_do.seconds,
            cost_ten_turns=self._ten_turns(after.tokens, cached, until, to_do.cost),
            survival_kinds=self._contents.kinds(items),
            fates=self._fates(record or self._record, items),
            summary=record.summary if record is not None else "",
            problem=problem,
        )

    def _unusable(self, wanted: schemas.ColumnRequest, problem: str) -> schemas.Column:
        """A policy that is not possible for this model; the other columns still are."""
        changes: dict[str, Any] = {
            "label": wanted.label or wanted.preset or "policy",
            "preset": wanted.preset,
            "policy": dict(wanted.policy or {}),
            "reason": "not-valid",
            "problem": problem,
            "summary": "",
            "survival_kinds": [],
        }
        return self.now().model_copy(update=changes)

    def _turns_left(self, tokens: int, trigger: int, policy: Policy, record: Record | None) -> int | None:
        return forecast.turns_until_next(self._pace, tokens, trigger, policy, record is not None)

    def _cached(self, items: Sequence[Item]) -> int:
        parts = self._conversation.usage.breakdown
        fixed = sum(parts.get(name, 0) for name in ("system", "developer", "tools"))
        return fixed + unchanged_tokens(self._sent, items)

    def _ten_turns(self, tokens: int, cached: int, until: int | None, to_do: float | None) -> float | None:
        found = forecast.cost_of_turns(self._pace, tokens, cached, until, to_do or 0.0)
        return found + to_do if found is not None and to_do is not None else None

    def _to_do(self, config: CompactConfig, record: Record | None, took: float) -> _ToDo:
        """Who writes the summary, what that costs and how long it takes."""
        if record is None or record.kind is not RecordKind.COMPACTION:
            return _ToDo(None, 0.0, round(took, 3))
        model = summarizing_model(config)
        if model is None:
            return _ToDo(EMBEDDED, 0.0, round(took, 3))
        kept = {entry.position for entry in record.entries if isinstance(entry, Kept | Cleared)}
        read = sum(size for at, size in enumerate(self._sizes[: record.source_length]) if at not in kept)
        details = details_of(self._conversation.log.store, self._conversation.id).values()
        times = [one.duration for one in details if one.duration is not None and one.summarizer == model]
        price = forecast.summary_price(model, read, len(record.summary) // 4)
        return _ToDo(model, price, round(statistics.median(times), 3) if times else None)

    def _fates(self, record: Record | None, items: Sequence[Item]) -> list[schemas.Fate]:
        """What becomes of every message, including those that stay: the page draws the whole conversation."""
        sent = {item.position: item for item in items}
        gone = "summarized" if record is not None and record.summary else "dropped"
        return [
            schemas.Fate(
                position=position,
                action=self._action(sent[position]) if position in sent else gone,
                tokens_before=tokens,
                tokens_after=_left(sent.get(position), tokens),
            )
            for position, tokens in enumerate(self._sizes)
        ]

    def _action(self, item: Item) -> str:
        if item.cleared is not None:
            return "shortened" if any(item.cleared.texts) else "cleared"
        assert item.position is not None
        return "pinned" if is_pinned(self._conversation.turns[item.position]) else "kept"


def _left(item: Item | None, tokens: int) -> int:
    if item is None:
        return 0
    return tokens if item.is_whole else min(tokens, item.tokens)
