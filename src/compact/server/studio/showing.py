"""Sessions, usage and records as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compact.chat.conversation import Conversation
from compact.model import record as records
from compact.model import sections
from compact.model.outcome import ContextUsage
from compact.model.record import RecordKind
from compact.models.limits import limits_for
from compact.ports import Thread
from compact.server.studio import schemas
from compact.server.studio.messages import record_in_force
from compact.server.studio.record_details import Detail, details_of

_KINDS = {
    RecordKind.COMPACTION: "summary",
    RecordKind.PRUNE: "prune",
    RecordKind.TRIM: "trim",
    RecordKind.CLEAR: "clear",
    RecordKind.RESTORE: "restore",
}


def shown_usage(conversation: Conversation, usage: ContextUsage | None = None) -> schemas.Usage:
    usage = usage or conversation.usage
    config = conversation.manager.config
    source = limits_for(config.model, config.models).source.value
    above = config.policy.trigger_above
    return schemas.Usage(
        tokens=usage.tokens,
        window=usage.window,
        window_source="setting" if config.max_context_tokens is not None else source,
        trigger=usage.trigger,
        budget=usage.budget,
        reserve=usage.window - usage.budget,
        percent=usage.percent,
        exact=usage.exact,
        margin=getattr(usage, "margin", 1.0),
        over_by=max(0, usage.tokens - usage.budget),
        parts=shown_parts(usage.breakdown),
        compacts_next=usage.tokens > usage.trigger if above else usage.tokens >= usage.trigger,
    )


def shown_parts(parts: Mapping[str, int]) -> schemas.UsageParts:
    return schemas.UsageParts(
        system=parts.get("system", 0) + parts.get("developer", 0),
        tools=parts.get("tools", 0),
        summary=parts.get("summary", 0),
        messages=parts.get("messages", 0),
    )


def usage_with(conversation: Conversation, draft: str) -> schemas.Usage:
    """The prompt with a message that is not sent yet."""
    if not draft:
        return shown_usage(conversation)
    # Both counted here and now: an earlier report may be from another process.
    history, tools = conversation.history, conversation.tools.schemas or None
    measure = conversation.manager.usage
    without = measure(conversation.id, history, tools)
    found = shown_usage(
        conversation, measure(conversation.id, [*history, {"role": "user", "content": draft}], tools)
    )
    return found.model_copy(update={"draft": max(0, found.tokens - without.tokens)})


def shown_session(
    thread: Thread,
    settings: Mapping[str, Any],
    defaults: tuple[str, str],
    *,
    streaming: bool,
    usage: schemas.Usage | None,
    draft: str = "",
) -> schemas.Session:
    """`defaults` are preset and model for a session without its own."""
    return schemas.Session(
        id=thread.session_id,
        title=thread.title,
        space=thread.space,
        preset=settings.get("preset") or defaults[0],
        model=settings.get("model") or defaults[1],
        created_at=thread.created_at,
        updated_at=thread.updated_at,
        message_count=thread.message_count,
        compaction_count=thread.compaction_count,
        last_compaction_at=thread.last_compaction_at,
        compacting=thread.currently_compacting,
        streaming=streaming,
        usage=usage,
        draft=draft,
    )


def shown_records(conversation: Conversation, texts: bool = True) -> list[schemas.Record]:
    """`texts`: with all summaries, which are most of it; otherwise only with the one in force."""
    found = list(conversation.manager.records(conversation.id))
    standing = {record.id for record in records.standing(found)}
    here = conversation.log.standing_records()
    used = record_in_force(conversation)
    in_force = used.id if used is not None else None
    undoable = {record.id for record in here}
    details = details_of(conversation.log.store, conversation.id)
    children = {record.parent: record.version for record in here if record.parent}
    return [
        shown_record(
            record,
            in_force=record.id == in_force,
            undone=record.kind is not RecordKind.RESTORE and record.id not in standing,
            undoable=record.id in undoable,
            folded_into=children.get(record.id),
            detail=details.get(record.step),
            texts=texts or record.id == in_force or record.kind is not RecordKind.COMPACTION,
        )
        for record in found
    ]


def shown_record(
    record: records.Record,
    *,
    in_force: bool,
    undone: bool,
    undoable: bool,
    folded_into: int | None,
    detail: Detail | None = None,
    texts: bool = True,
) -> schemas.Record:
    detail = detail or Detail()
    replaced = replaced_positions(record)
    return schemas.Record(
        step=record.step,
        version=record.version,
        kind=_KINDS[record.kind],  # type: ignore[arg-type]
        reason=record.reason,
        note=record.note,
        created_at=record.created_at,
        duration=detail.duration,
        tokens_before=record.tokens_before,
        tokens_after=record.tokens_after,
        messages_replaced=record.messages_replaced,
        outputs_cleared=record.outputs_cleared,
        first_position=replaced[0] if replaced else None,
        last_position=replaced[-1] if replaced else None,
        summary=record.summary if texts else "",
        sections=shown_sections(record.sections) if texts else [],
        survival=shown_survival(record.kept),
        summarizer=detail.summarizer,
        fallback=detail.fallback,
        cost=detail.cost,
        in_force=in_force,
        folded_into=folded_into,
        undone=undone,
        undoable=undoable,
        warnings=detail.warnings,
        handle=record.handle or None,
    )


def replaced_positions(record: records.Record) -> list[int]:
    """Positions that this record's summary or marker replaced, or whose outputs it cleared."""
    if record.kind is RecordKind.RESTORE:
        return []
    kept = {entry.position for entry in record.entries if isinstance(entry, records.Kept)}
    return [position for position in range(record.source_length) if position not in kept]


def shown_sections(found: Sequence[sections.Section]) -> list[schemas.Section]:
    return [
        schemas.Section(
            title=section.title,
            kind=section.kind.value,
            items=[
                schemas.SectionItem(text=item.text, positions=list(item.positions), label=item.label or None)
                for item in section.items
            ],
        )
        for section in found
    ]


def shown_survival(kept: sections.Survival) -> schemas.Survived | None:
    if kept == sections.UNKNOWN:
        return None

    def counted(one: sections.Kept) -> schemas.Counted | None:
        return schemas.Counted(kept=one.kept, total=one.total) if one.total else None

    return schemas.Survived(
        words=counted(kept.words), conclusions=counted(kept.conclusions), values=counted(kept.values)
    )
