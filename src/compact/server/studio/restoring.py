"""Undo a compaction, or show what would come back."""

from __future__ import annotations

from collections.abc import Iterable

from compact.chat.conversation import Conversation
from compact.model.record import Cleared, Record, RecordKind, standing
from compact.server.http.problems import Problem
from compact.server.studio import schemas
from compact.server.studio.showing import replaced_positions, shown_parts, shown_usage
from compact.server.studio.trial import copied, like


def previewed(conversation: Conversation, step: int) -> schemas.RestorePreview:
    """Tried on a copy of the session in memory."""
    record = _standing(conversation, step)
    before = conversation.log.standing_records()
    with copied(conversation, conversation.manager.config) as manager:
        # The copy learns the history first, so that there is something to come back to.
        manager.append(conversation.id, conversation.history)
        manager.restore(conversation.id, step)
        left = standing(manager.records(conversation.id))
        config = conversation.manager_with(conversation.choice_after_undo(before, left)).config
        again, tools = like(manager, config), conversation.tools.schemas or None
        after = again.usage(conversation.id, conversation.history, tools)
    undone = [one for one in before if one.id not in {record.id for record in left}]
    stay = [after.record] if after.record is not None else []
    cleared = _cleared(undone)
    positions = _replaced(undone) - {at for at, _ in cleared}
    now = conversation.usage
    return schemas.RestorePreview(
        # What an earlier summary replaced, it replaces again.
        messages_back=len(positions - _replaced(stay)),
        outputs_back=len(cleared - _cleared(stay)),
        summary_after=shown_parts(after.breakdown).summary,
        tokens_now=now.tokens,
        tokens_after=after.tokens,
        compacts_again=after.tokens >= after.trigger,
        preset_after=config.preset,
        steps_undone=sorted(one.step for one in undone) or [record.step],
    )


def _replaced(found: Iterable[Record]) -> set[int]:
    return {position for record in found for position in replaced_positions(record)}


def _cleared(found: Iterable[Record]) -> set[tuple[int, str]]:
    """Tool results, by position and call."""
    return {
        (entry.position, call)
        for record in found
        for entry in record.entries
        if isinstance(entry, Cleared)
        for call in entry.call_ids
    }


def restored(conversation: Conversation, step: int) -> schemas.Usage:
    _standing(conversation, step)
    conversation.restore(step)
    return shown_usage(conversation)


def _standing(conversation: Conversation, step: int) -> Record:
    known = conversation.manager.records(conversation.id)
    found = [one for one in known if one.step == step and one.kind is not RecordKind.RESTORE]
    here = {one.id for one in conversation.log.standing_records()}
    for record in found:
        if record.id in here:
            return record
    if not found:
        raise no_compaction(step)
    if any(record in found for record in standing(known)):
        raise Problem(
            409,
            "left-behind",
            f"Compaction {step} cannot be undone: the messages that it replaced were edited or removed "
            "since. Nothing was changed.",
        )
    raise Problem(409, "already-undone", f"Compaction {step} was already undone. Nothing was changed.")


def no_compaction(step: int) -> Problem:
    return Problem(
        404, "no-compaction", f"There is no compaction {step} in this session. Nothing was changed."
    )
