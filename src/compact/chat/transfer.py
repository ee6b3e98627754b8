"""Exports and imports: turn objects out (docs/export.schema.json), other histories in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compact.chat.turns import FORMAT, Turn, from_message
from compact.errors import FormatError
from compact.formats import decode_all, recognize

_SYSTEM = ("system", "developer")


def exported(turns: Sequence[Turn], redact: Callable[[Any], Any]) -> list[Turn]:
    """The turns as they leave the process: redacted, without our own fields."""
    return [redact({name: value for name, value in turn.items() if name != "meta"}) for turn in turns]


def imported(messages: Sequence[Any], system: Any = None, name: str = "It") -> tuple[list[Turn], list[Turn]]:
    """Leading system turns of a history in any known format, and the turns after them; else FormatError."""
    turns = _turns(messages, name)
    if not turns:
        raise FormatError(f"{name} holds no messages. Nothing was imported.")
    head = [{"role": "system", "content": _instructions(system)}] if system else []
    while turns and turns[0].get("role") in _SYSTEM:
        head.append(turns.pop(0))
    return head, turns


def _turns(messages: Sequence[Any], name: str) -> list[Turn]:
    try:
        format = recognize(messages)
        decoded = decode_all(messages, format)
    except FormatError as error:
        raise FormatError(f"{name} was not imported: {error}") from None
    except RecursionError:
        raise FormatError(f"{name} is nested too deep. Nothing was imported.") from None
    if format.name == FORMAT:
        return list(messages)
    return [turn for message in decoded for turn in from_message(message)]


def _instructions(system: Any) -> str:
    if isinstance(system, str):
        return system
    blocks = system if isinstance(system, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
