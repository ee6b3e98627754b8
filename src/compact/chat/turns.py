"""Turn objects: OpenAI chat messages that also name their time, session and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from compact.engine.state.caller_list import objects_of
from compact.errors import FormatError
from compact.formats import recognize
from compact.model.message import (
    File,
    Image,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    arguments_text,
)

Turn = dict[str, Any]
FORMAT = "openai-chat"
"""In all turns."""
_LARGEST = 1e15
"""For a number in a turn; anything larger is not a cost or a duration."""


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def user_turn(content: Any, at: float, session_id: str, agent: str) -> Turn:
    """`content` is text, or parts as OpenAI's chat format writes them."""
    return {
        "role": "user",
        "content": content,
        "timestamp": stamp(at),
        "session_id": session_id,
        "agent": agent,
    }


def reply_turn(
    message: Mapping[str, Any], at: float, session_id: str, agent: str, usage: Usage | None, **more: Any
) -> Turn:
    """A reply as a turn, with what the provider reported for it."""
    turn = {**message, "timestamp": stamp(at), "session_id": session_id, "agent": agent}
    if usage is not None:
        turn["usage"] = {"prompt_tokens": usage.input, "completion_tokens": usage.output}
        if usage.cache_read:
            turn["usage"]["prompt_tokens_details"] = {"cached_tokens": usage.cache_read}
    return {**turn, **{name: value for name, value in more.items() if value is not None}}


def context_of(turn: Mapping[str, Any]) -> int | None:
    """The size of the context when this reply was finished, if the provider reported it."""
    usage = usage_of(turn)
    return (usage.input + usage.output or None) if usage is not None else None


# An imported turn may hold anything in fields that are not part of its format.


def usage_of(turn: Mapping[str, Any]) -> Usage | None:
    """What the provider reported for this reply."""
    reported = turn.get("usage")
    if not isinstance(reported, Mapping):
        return None
    details = reported.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    given = (reported.get("prompt_tokens"), reported.get("completion_tokens"), cached)
    sent, received, read = (size if isinstance(size, int) else 0 for size in given)
    return Usage(input=sent, output=received, cache_read=read)


def from_elsewhere(turn: Turn) -> Turn:
    """The turn with a mark: what its reply reports was not sent here."""
    found = turn.get("meta")
    return {**turn, "meta": {**(found if isinstance(found, Mapping) else {}), "imported": True}}


def was_sent(turn: Mapping[str, Any]) -> bool:
    """Whether a model was asked for this reply here: if so, the reply says at least how it ended."""
    meta = turn.get("meta")
    is_imported = isinstance(meta, Mapping) and meta.get("imported") is True
    return not is_imported and any(turn.get(name) for name in ("usage", "finish_reason", "error"))


def number_in(turn: Mapping[str, Any], name: str) -> float | None:
    """A number in the turn, such as its `cost`; None if it is not a number."""
    found = turn.get(name)
    return float(found) if isinstance(found, int | float) and abs(found) <= _LARGEST else None


def text_in(turn: Mapping[str, Any], name: str) -> str | None:
    found = turn.get(name)
    return found if isinstance(found, str) else None


def is_said(turn: Mapping[str, Any]) -> bool:
    """Whether it counts as a turn: tool results belong to their assistant turn."""
    return turn.get("role") in ("user", "assistant")


def text_of(turn: Mapping[str, Any]) -> str:
    """What a person reads of a turn."""
    content = turn.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping)).strip()


def result_turn(call_id: str, text: str, at: float, session_id: str, agent: str, is_error: bool) -> Turn:
    """What a tool returned."""
    turn = {"role": "tool", "tool_call_id": call_id, "content": text}
    stamped = {"timestamp": stamp(at), "session_id": session_id, "agent": agent}
    return {**turn, **stamped} | ({"is_error": True} if is_error else {})


NO_RESULT = "[This call was not run: the reply was cut off before.]"


def with_results(turns: Sequence[Turn]) -> list[Turn]:
    """The same turns; a call without a result gets one that says so, or no provider accepts the prompt."""
    whole: list[Turn] = []
    open_calls: list[str] = []

    def close_calls() -> None:
        whole.extend({"role": "tool", "tool_call_id": call, "content": NO_RESULT} for call in open_calls)
        open_calls.clear()

    for turn in turns:
        if turn.get("role") == "tool":
            if turn.get("tool_call_id") in open_calls:
                open_calls.remove(turn["tool_call_id"])
        else:
            close_calls()
            open_calls += calls_of(turn)
        whole.append(turn)
    close_calls()
    return whole


def calls_of(turn: Mapping[str, Any]) -> list[str]:
    """The ids of the tool calls in a turn."""
    calls = turn.get("tool_calls")
    found = calls if isinstance(calls, Sequence) and turn.get("role") == "assistant" else ()
    return [str(call["id"]) for call in found if isinstance(call, Mapping) and call.get("id")]


def what_is_said(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    """What identifies a turn: not when or where it was said."""
    return {name: turn.get(name) for name in ("role", "content", "tool_calls", "tool_call_id")}


def is_pinned(turn: Mapping[str, Any]) -> bool:
    meta = turn.get("meta")
    return isinstance(meta, Mapping) and meta.get("protected") is True


def pinned_turn(turn: Turn, pinned: bool) -> Turn:
    changed = {name: value for name, value in turn.items() if name != "meta"}
    found = turn.get("meta")
    given = found if isinstance(found, Mapping) else {}
    meta = {name: value for name, value in given.items() if name != "protected"}
    if pinned:
        meta["protected"] = True
    return {**changed, "meta": meta} if meta else changed


def as_turns(messages: Sequence[Message]) -> list[Turn]:
    """Stored messages as turns; those that another door wrote in its own format are converted."""
    objects = objects_of(messages)
    try:
        if all(isinstance(item, dict) for item in objects) and recognize(objects).name == FORMAT:
            return objects
    except FormatError:
        pass  # a session that several doors wrote into
    return [turn for message in messages for turn in from_message(message)]


def from_message(message: Message) -> list[Turn]:
    """A message of another format as OpenAI chat messages: results first, then what is said or called."""
    turns: list[Turn] = [_result(part) for part in message.results]
    calls = [wire_call(part) for part in message.calls]
    content = _content(message.parts)
    if calls or content:
        turn: Turn = {"role": _role(message), "content": content or None}
        if calls:
            turn["tool_calls"] = calls
        thoughts = [part.text for part in message.parts if isinstance(part, Reasoning) and part.text]
        if thoughts:
            turn["reasoning_content"] = "\n".join(thoughts)
        if message.name:
            turn["name"] = message.name
        turns.append(turn)
    if message.created is not None:
        turns = [{**turn, "timestamp": stamp(message.created)} for turn in turns]
    return turns


def _role(message: Message) -> str:
    # A tool message that says something besides its results is odd; a person can still read it.
    return Role.USER.value if message.role is Role.TOOL else message.role.value


def _result(part: ToolResult) -> Turn:
    media = [_named(item) for item in part.media]
    return {"role": "tool", "tool_call_id": part.call_id, "content": "\n".join([part.text, *media]).strip()}


def wire_call(part: ToolCall) -> Turn:
    """A call as OpenAI's chat format writes it."""
    function = {"name": part.name, "arguments": arguments_text(part.arguments)}
    return {"id": part.call_id, "type": "function", "function": function}


def _content(parts: Sequence[Part]) -> str | list[Turn]:
    shown: list[Turn] = []
    for part in parts:
        if isinstance(part, Text):
            shown.append({"type": "text", "text": part.text})
        elif isinstance(part, Image) and part.source.startswith(("http://", "https://", "data:")):
            shown.append({"type": "image_url", "image_url": {"url": part.source}})
        elif not isinstance(part, ToolCall | ToolResult | Reasoning) and (name := _named(part)):
            shown.append({"type": "text", "text": name})
    if all(part["type"] == "text" for part in shown):
        return "\n".join(part["text"] for part in shown if part["text"])
    return shown


def _named(part: Part) -> str:
    match part:
        case Image():
            return "[image]"
        case File(name=name):
            return f"[file {name}]" if name else "[file]"
        case _:
            return ""
