"""Small conversations as the engine's messages."""

from __future__ import annotations

from typing import Any

from compact.model.message import Message, Part, Role, Text, ToolCall, ToolResult, digest_of
from compact.model.summary import SummaryRequest


def message(role: Role, *parts: Part, **fields: Any) -> Message:
    return Message(role=role, parts=parts, digest=digest_of(role, parts), **fields)


def user(text: str, **fields: Any) -> Message:
    return message(Role.USER, Text(text), **fields)


def assistant(text: str, **fields: Any) -> Message:
    return message(Role.ASSISTANT, Text(text), **fields)


def call(call_id: str, name: str, arguments: Any, text: str = "") -> Message:
    parts: tuple[Part, ...] = ((Text(text),) if text else ()) + (ToolCall(call_id, name, arguments),)
    return message(Role.ASSISTANT, *parts)


def result(call_id: str, text: str, **fields: Any) -> Message:
    return message(Role.TOOL, ToolResult(call_id, text, **fields))


def asking(*messages: Message, **fields: Any) -> SummaryRequest:
    settings: dict[str, Any] = {"prompt": "", "max_tokens": 400, "strategy": "task_state"} | fields
    first = settings.pop("first_position", 0)
    settings.setdefault("positions", range(first, first + len(messages)))
    return SummaryRequest(messages=messages, **settings)


def lighthouse() -> tuple[Message, ...]:
    """A session of eight messages: a task, a rule, two tool steps, an answer."""
    return (
        user("Please repair the lamp schedule of the lighthouse. Never switch the lamp off at night."),
        call("c1", "read_file", '{"path": "lamp/schedule.toml"}', "I look at the schedule first."),
        result("c1", 'on = "19:40"\noff = "05:10"\nzone = "UTC"', name="read_file"),
        assistant("The schedule is in UTC, the lamp in local time; it goes on two hours late."),
        user("Then set the zone to Europe/Oslo and run the check."),
        call("c2", "run", {"cmd": "lampctl check --site LH-204"}),
        result("c2", "error E17: relay 3 does not answer", name="run", is_error=True),
        assistant("The zone is set. The check fails with E17 because relay 3 does not answer."),
    )
