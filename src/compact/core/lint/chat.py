"""What OpenAI's chat completions reject in a message, beyond pairing and empty content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compact.core.lint.raw import IMAGE_TYPES, Found, fields_of, kind_of, parts_of, wrong_name
from compact.core.lint.types import ViolationCode as Code

MOST_MESSAGES = 2_048
_MOST_CALLS = 128
_LONGEST_ID = 40
_OTHERS_ID = re.compile(r"chatcmpl-tool-[0-9a-f]{32}(?:[-_]\d+)?")
"""Ids that vLLM gives its calls: a server that gives such ids accepts them."""
_LONGEST_NAME = 64
_LONGEST_TEXT = 10_485_760
_SPEAKER = re.compile(r"[^\s<|\\/>]+")
_PARTS = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
}
_TEXT_ONLY = frozenset({"text"})
_KNOWN = frozenset({"text", "image_url", "input_audio", "file", "refusal"})


def check_chat(fields: Mapping[str, Any]) -> Iterator[Found]:
    role, content = str(fields.get("role")), fields.get("content")
    if isinstance(content, str) and len(content) > _LONGEST_TEXT:
        yield (
            Code.TEXT_TOO_LONG,
            f"{len(content):,} characters, {_LONGEST_TEXT:,} allowed; split the message.",
        )
    parts = parts_of(content)
    for part in parts:
        yield from _part(part, role)
    if role == "assistant":
        refusals = sum(kind_of(part) == "refusal" for part in parts)
        if refusals and len(parts) > 1:
            yield Code.PART_MIX, "A refusal must be alone in an assistant message; drop the other parts."
        yield from _calls(fields)
        audio = fields.get("audio")
        if audio is not None and not isinstance(fields_of(audio).get("id"), str):
            yield Code.MISSING_FIELD, "audio of an assistant message lacks its id; drop it."
    elif fields.get("tool_calls") is not None or fields.get("function_call") is not None:
        yield Code.CALL_ROLE, f"A message of role {role!r} makes tool calls; only an assistant's may."
    name = fields.get("name")
    if role in ("user", "assistant", "system", "developer") and isinstance(name, str):
        if not name or _SPEAKER.fullmatch(name) is None:
            yield (
                Code.NAME_PATTERN,
                f"name {name[:60]!r} may hold no spaces and none of < | \\ / >; rename it.",
            )
        elif len(name) > _LONGEST_NAME:
            yield Code.NAME_LENGTH, f"name has {len(name)} characters, {_LONGEST_NAME} allowed; shorten it."
    if role == "tool":
        yield from _wrong_id(fields.get("tool_call_id"), "tool_call_id")
    if role == "function":
        yield from wrong_name(name, _LONGEST_NAME, "name of the function")


def _part(part: Mapping[str, Any], role: str) -> Iterator[Found]:
    kind = kind_of(part)
    if kind not in _KNOWN:
        yield Code.UNKNOWN_PART, f"Content of type {kind!r} is unknown to the API; drop it."
        return
    if kind not in _PARTS.get(role, _TEXT_ONLY):
        yield (
            Code.PART_ROLE,
            f"A part of type {kind!r} is not allowed in a message of role {role!r}; move it.",
        )
    inner = part.get(kind)
    if kind == "image_url":
        yield from _image(fields_of(inner) if not isinstance(inner, str) else {"url": inner}, inner)
    elif kind == "input_audio" and fields_of(inner).get("format") not in ("wav", "mp3"):
        yield Code.INVALID_VALUE, "input_audio.format must be wav or mp3."
    elif kind == "file":
        held = fields_of(inner)
        if not held.get("file_id") and not held.get("file_data"):
            yield Code.MISSING_FIELD, "A file needs file_id or file_data."
        elif held.get("file_data") and not held.get("filename"):
            yield Code.MISSING_FIELD, "A file given as file_data needs a filename."


def _image(image: Mapping[str, Any], given: Any) -> Iterator[Found]:
    if isinstance(given, str):
        yield Code.INVALID_VALUE, 'image_url must be an object with "url", not a string.'
    url, detail = image.get("url"), image.get("detail")
    if detail is not None and detail not in ("auto", "low", "high", "original"):
        yield Code.INVALID_VALUE, f"detail of an image must be auto, low or high, not {detail!r}."
    yield from wrong_image_url(url)


def wrong_image_url(url: Any) -> Iterator[Found]:
    if not isinstance(url, str):
        return
    if url.startswith("data:"):
        media_type = url[5:].partition(";")[0].partition(",")[0].lower()
        if media_type not in (*IMAGE_TYPES, "image/jpg"):
            yield Code.MEDIA_TYPE, f"Images of type {media_type!r} are not taken; convert it to PNG or JPEG."
    elif not url.startswith(("https://", "http://")):
        yield Code.INVALID_VALUE, "The url of an image must be http(s) or a data url."


def _calls(fields: Mapping[str, Any]) -> Iterator[Found]:
    calls = fields.get("tool_calls")
    if not isinstance(calls, list | tuple):
        return
    if not calls:
        yield Code.EMPTY_CALLS, "tool_calls is an empty array; leave the field out."
    if len(calls) > _MOST_CALLS:
        yield Code.TOO_MANY_CALLS, f"{len(calls)} tool calls in one message, {_MOST_CALLS} allowed."
    for call in parts_of(calls):
        yield from _wrong_id(call.get("id"), "id of a tool call")
        kind = call.get("type")
        if kind not in ("function", "custom"):
            yield Code.INVALID_VALUE, f"type of a tool call must be function or custom, not {kind!r}."
            continue
        made = fields_of(call.get(kind))
        yield from wrong_name(made.get("name"), _LONGEST_NAME, "name of a tool call")
        said = made.get("arguments" if kind == "function" else "input")
        if not isinstance(said, str):
            yield Code.ARGUMENTS_TYPE, "arguments of a tool call must be a JSON string; serialize the object."


def _wrong_id(value: Any, what: str) -> Iterator[Found]:
    if isinstance(value, str) and len(value) > _LONGEST_ID and not _OTHERS_ID.fullmatch(value):
        yield Code.ID_LENGTH, f"{what} has {len(value)} characters, {_LONGEST_ID} allowed; shorten it."


def check_chat_list(sources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Found]]:
    if len(sources) > MOST_MESSAGES:
        text = f"{len(sources):,} messages in one request, {MOST_MESSAGES:,} allowed; leave some out."
        yield MOST_MESSAGES, (Code.TOO_MANY_MESSAGES, text)
