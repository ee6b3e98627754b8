"""Stored turns as AI SDK UI messages, with what became of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from compact.chat.conversation import Conversation
from compact.chat.turns import Turn, is_pinned, number_in, text_in, usage_of
from compact.functions import count_tokens
from compact.model.record import Cleared, Injected, Record, RecordKind
from compact.server.studio import schemas

_PLACEHOLDER = "[Tool output cleared - see conversation summary]"
_DROPPING = (RecordKind.TRIM, RecordKind.CLEAR)


@dataclass
class _Group:
    """One message as people see it: a turn, and for calls the turns with their results."""

    position: int
    number: int
    """Of the user's message that it belongs to."""
    turns: list[Turn] = field(default_factory=list)


def shown_messages(
    conversation: Conversation, before: int | None, after: int | None, limit: int
) -> schemas.MessageList:
    """A page of the full history; the newest if neither `before` nor `after` is given."""
    groups = grouped(conversation.turns)
    chosen = [
        group
        for group in groups
        if (before is None or group.position < before) and (after is None or group.position > after)
    ]
    chosen = chosen[:limit] if after is not None else chosen[-limit:]
    record = record_in_force(conversation)
    shown = [_shown(group, conversation, record) for group in chosen]
    return schemas.MessageList(
        messages=shown,
        total=len(groups),
        first=groups[0].position if groups else None,
        last=groups[-1].position if groups else None,
    )


def message_at(conversation: Conversation, position: int) -> schemas.Message | None:
    for group in grouped(conversation.turns):
        if group.position <= position < group.position + len(group.turns):
            return _shown(group, conversation, record_in_force(conversation))
    return None


def grouped(turns: Sequence[Turn]) -> list[_Group]:
    groups: list[_Group] = []
    number = 0
    for position, turn in enumerate(turns):
        if turn.get("role") == "tool" and groups:
            groups[-1].turns.append(turn)
            continue
        number += turn.get("role") == "user"
        groups.append(_Group(position, number, [turn]))
    return groups


def _shown(group: _Group, conversation: Conversation, record: Record | None) -> schemas.Message:
    turn = group.turns[0]
    config = conversation.manager.config

    def count(text: str) -> int:
        return count_tokens(text, config.model, counter=config.counter)

    return schemas.Message(
        id=f"m{group.position}",
        position=group.position,
        last_position=group.position + len(group.turns) - 1,
        turn=group.number,
        role=turn.get("role") if turn.get("role") in ("user", "assistant") else "system",  # type: ignore[arg-type]
        created_at=seconds_of(turn.get("timestamp")),
        tokens=sum(count(_counted(one)) + 4 for one in group.turns),
        state=_state(group.position, record),
        pinned=is_pinned(turn),
        finish_reason=text_in(turn, "finish_reason"),
        error=text_in(turn, "error"),
        model=text_in(turn, "agent") if turn.get("role") == "assistant" else None,
        usage=_usage(turn),
        cost=number_in(turn, "cost"),
        duration=number_in(turn, "duration"),
        parts=_parts(group, record, count),
    )


def turn_tokens(conversation: Conversation) -> list[int]:
    """The size of every stored turn, as its message shows it."""
    config = conversation.manager.config
    return [
        count_tokens(_counted(turn), config.model, counter=config.counter) + 4 for turn in conversation.turns
    ]


def record_in_force(conversation: Conversation) -> Record | None:
    """The record that the prompt begins with. Asked of the engine: a preset leaves those of others aside."""
    return conversation.manager.usage(conversation.id, conversation.history).record


def _state(position: int, record: Record | None) -> schemas.State:
    if record is None or position >= record.source_length:
        return "sent"
    for entry in record.entries:
        if not isinstance(entry, Injected) and entry.position == position:
            return "cleared" if isinstance(entry, Cleared) else "sent"
    return "dropped" if record.kind in _DROPPING or not record.summary else "summarized"


def _parts(group: _Group, record: Record | None, count: Callable[[str], int]) -> list[dict[str, Any]]:
    turn = group.turns[0]
    parts: list[dict[str, Any]] = []
    if turn.get("role") == "assistant":
        parts.append({"type": "step-start"})
        if thought := turn.get("reasoning_content"):
            parts.append({"type": "reasoning", "text": str(thought), "state": "done"})
    parts += _content_parts(turn.get("content"))
    results = {str(one.get("tool_call_id")): one for one in group.turns[1:]}
    places = {str(one.get("tool_call_id")): group.position + n for n, one in enumerate(group.turns)}
    calls = turn.get("tool_calls")
    for call in calls if isinstance(calls, Sequence) else ():
        if isinstance(call, Mapping):
            own_id = str(call.get("id"))
            part = _tool_part(call, results.get(own_id))
            part |= _compacted(own_id, places.get(own_id), results.get(own_id), record, count)
            parts.append(part)
    if turn.get("role") == "tool":  # a result whose call is not here
        parts = [{"type": "text", "text": str(turn.get("content") or ""), "state": "done"}]
    return parts


def parts_of(turns: list[Turn]) -> list[dict[str, Any]]:
    """The parts of one message, without what became of it since."""
    return _parts(_Group(0, 0, turns), None, len)


def _content_parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content, "state": "done"}] if content else []
    parts: list[dict[str, Any]] = []
    for item in content if isinstance(content, Sequence) else ():
        match item:
            case {"type": "text", "text": str(text)}:
                parts.append({"type": "text", "text": text, "state": "done"})
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                kind = url[5:].partition(";")[0] if url.startswith("data:") else "image/*"
                parts.append({"type": "file", "mediaType": kind, "url": url})
    return parts


def _tool_part(call: Mapping[str, Any], result: Turn | None) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    part: dict[str, Any] = {
        "type": "dynamic-tool",
        "toolName": str(function.get("name", "")),
        "toolCallId": str(call.get("id")),
        "input": _json_or_text(function.get("arguments")),
    }
    if result is None:
        return {**part, "state": "input-available"}
    text = _result_text(result)
    if result.get("is_error"):
        return {**part, "state": "output-error", "errorText": text}
    return {**part, "state": "output-available", "output": text}


def _compacted(
    call_id: str,
    position: int | None,
    result: Turn | None,
    record: Record | None,
    count: Callable[[str], int],
) -> dict[str, Any]:
    """What a compaction did to this output."""
    for entry in record.entries if record is not None else ():
        if isinstance(entry, Cleared) and entry.position == position and call_id in entry.call_ids:
            at = entry.call_ids.index(call_id)
            handle = entry.handles[at] if at < len(entry.handles) else None
            left = entry.texts[at] if at < len(entry.texts) else ""
            placeholder = left or (f"{_PLACEHOLDER} {handle}" if handle else _PLACEHOLDER)
            original = entry.original_tokens[at] if at < len(entry.original_tokens) else None
            state = "shortened" if left else "cleared"
            return {
                "compact": {
                    "state": state,
                    "at": record.created_at if record is not None else None,
                    "original_tokens": original or count(_result_text(result or {})),
                    "tokens": count(placeholder),
                    "handle": handle,
                    "placeholder": placeholder,
                }
            }
    return {}


def _result_text(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in _content_parts(content) if part["type"] == "text")


def _counted(turn: Turn) -> str:
    calls = turn.get("tool_calls")
    called = json.dumps(calls, ensure_ascii=False, default=str) if calls else ""
    return _result_text(turn) + called


def _json_or_text(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _usage(turn: Turn) -> dict[str, Any] | None:
    usage = usage_of(turn)
    if usage is None:
        return None
    return {"input": usage.input, "output": usage.output, "cache_read": usage.cache_read}


def seconds_of(stamp: Any) -> float | None:
    try:
        return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else None
    except ValueError:
        return None
