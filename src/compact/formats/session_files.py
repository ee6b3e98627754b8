"""Reads the conversation in session files of coding agents.

Claude Code writes one line for each block of a reply, with the message inside `message`. Codex writes
Responses items inside `payload`. Lines that were never part of a prompt (snapshots, events, side chains of
subagents) are skipped. The result is in the provider's own format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compact.formats.recognition import RESPONSES_ITEMS

_SYNTHETIC = "<synthetic>"
"""The model name in Claude Code's own lines, such as an API error that it shows."""


class SessionFile(NamedTuple):
    program: str
    messages: list[Any]
    system: str | None = None
    model: str | None = None


def read_session_file(lines: Sequence[Any]) -> SessionFile | None:
    """The conversation of a session file; None if the lines are something else."""
    if not lines or not all(isinstance(line, Mapping) and "role" not in line for line in lines):
        return None
    if any(_is_claude_code(line) for line in lines):
        return _claude_code(lines)
    if any(_is_codex(line) for line in lines):
        return _codex(lines)
    return None


def _is_claude_code(line: Mapping[str, Any]) -> bool:
    message = line.get("message")
    return (
        line.get("type") in ("user", "assistant")
        and isinstance(message, Mapping)
        and "role" in message
        and isinstance(line.get("uuid"), str)
    )


def _is_codex(line: Mapping[str, Any]) -> bool:
    return line.get("type") in ("response_item", "session_meta", "turn_context") and isinstance(
        line.get("payload"), Mapping
    )


def _claude_code(lines: Sequence[Mapping[str, Any]]) -> SessionFile:
    messages: list[Any] = []
    replies: dict[str, dict[str, Any]] = {}
    model: str | None = None
    for line in lines:
        if not _is_claude_code(line) or line.get("isSidechain") is True:
            continue
        entry = line["message"]
        if entry.get("model") == _SYNTHETIC:
            continue
        model = entry.get("model") if isinstance(entry.get("model"), str) else model
        reply = replies.get(str(entry.get("id")))
        content = entry.get("content")
        if reply is not None and isinstance(content, list):
            # The blocks of one reply are on several lines, possibly with results of its calls in between.
            reply["content"] = [*reply["content"], *content]
            continue
        # Id, model and usage describe the reply; the API rejects them in a request.
        message = {"role": entry["role"], "content": content}
        if isinstance(entry.get("id"), str) and isinstance(content, list):
            replies[entry["id"]] = message
        messages.append(message)
    return SessionFile("Claude Code", messages, model=model)


def _codex(lines: Sequence[Mapping[str, Any]]) -> SessionFile:
    items: list[Any] = []
    system: str | None = None
    model: str | None = None
    for line in lines:
        payload = line.get("payload")
        if not isinstance(payload, Mapping):
            continue
        if line.get("type") == "session_meta":
            system = _instructions(payload) or system
        elif line.get("type") == "turn_context":
            model = payload.get("model") if isinstance(payload.get("model"), str) else model
        elif line.get("type") == "response_item" and payload.get("type") in RESPONSES_ITEMS:
            items.append(payload)
    return SessionFile("Codex", items, system, model)


def _instructions(meta: Mapping[str, Any]) -> str | None:
    text = meta.get("base_instructions") or meta.get("instructions")
    text = text.get("text") if isinstance(text, Mapping) else text
    return text if isinstance(text, str) and text else None
