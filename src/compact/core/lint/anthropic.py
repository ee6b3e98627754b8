"""What Anthropic's Messages API rejects in a message, beyond pairing, empty content and thinking."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compact.core.lint.raw import (
    IMAGE_TYPES,
    NAME,
    Found,
    fields_of,
    is_base64,
    kind_of,
    parts_of,
    sniffed,
    unknown_fields,
)
from compact.core.lint.types import ViolationCode as Code

MOST_MESSAGES = 100_000
_MOST_MARKS = 4
_LONGEST_NAME = 200
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_MARK = "cache_control"

# Type of a block → its fields.
_BLOCKS = {
    kind: frozenset(fields.split())
    for kind, fields in {
        "text": "cache_control citations text",
        "image": "cache_control source transformations",
        "document": "cache_control citations context source title",
        "search_result": "cache_control citations content source title",
        "thinking": "signature thinking",
        "redacted_thinking": "data",
        "tool_use": "cache_control caller id input name toolset_name",
        "tool_result": "cache_control content is_error tool_use_id toolset_name",
        "server_tool_use": "cache_control caller id input name",
        "web_search_tool_result": "cache_control caller content tool_use_id",
        "web_fetch_tool_result": "cache_control caller content tool_use_id",
        "advisor_tool_result": "cache_control content tool_use_id",
        "code_execution_tool_result": "cache_control content tool_use_id",
        "bash_code_execution_tool_result": "cache_control content tool_use_id",
        "text_editor_code_execution_tool_result": "cache_control content tool_use_id",
        "tool_search_tool_result": "cache_control content tool_use_id",
        "mcp_tool_use": "cache_control id input name server_name",
        "mcp_tool_result": "cache_control content is_error tool_use_id",
        "container_upload": "cache_control file_id",
        "compaction": "cache_control content encrypted_content signature tool_changes",
        "tool_addition": "cache_control tool",
        "tool_removal": "cache_control tool",
        "mcp_tool_listing": "mcp_server_name tools",
        "fallback": "from to trigger",
    }.items()
}
_RESULT_PARTS = frozenset({"text", "image", "document", "search_result", "tool_reference"})
_ASSISTANT_ONLY = frozenset({"thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"})
_USER_ONLY = frozenset({"image", "document", "search_result", "container_upload"})
_SOURCES = {
    "image": frozenset({"base64", "url", "file"}),
    "document": frozenset({"base64", "text", "url", "content", "file"}),
}


def check_message(fields: Mapping[str, Any]) -> Iterator[Found]:
    role = fields.get("role")
    known = ("role", "content", "output_config") if role == "system" else ("role", "content")
    yield from unknown_fields(fields, known, "The message")
    for block in parts_of(fields.get("content")):
        kind = kind_of(block)
        if kind not in _BLOCKS:
            yield Code.UNKNOWN_PART, f"Content of type {kind!r} is unknown to the API."
            continue
        yield from unknown_fields(block, _BLOCKS[kind] | {_MARK}, f"The {kind} block")
        if (
            (kind in _ASSISTANT_ONLY and role != "assistant")
            or (kind in _USER_ONLY and role != "user")
            or (role == "system" and kind != "text" and not kind.startswith("tool_"))
        ):
            yield Code.PART_ROLE, f"A block of type {kind!r} is not allowed in a message of role {role!r}."
        yield from _block(block, kind)


def _block(block: Mapping[str, Any], kind: str) -> Iterator[Found]:
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        yield from _use(block, kind)
    elif kind == "tool_result":
        yield from _result(block)
    elif kind in _SOURCES:
        yield from _source(block, kind)
    elif kind == "search_result":
        yield from _search_result(block)
    elif kind.endswith("_tool_result") and kind != "mcp_tool_result":
        identity = block.get("tool_use_id")
        if isinstance(identity, str) and _SERVER_ID.fullmatch(identity) is None:
            yield Code.ID_PATTERN, "tool_use_id of a server tool's result must begin with 'srvtoolu_'."
    yield from _mark(block, kind)


def _use(block: Mapping[str, Any], kind: str) -> Iterator[Found]:
    identity, name = block.get("id"), block.get("name")
    pattern = _SERVER_ID if kind == "server_tool_use" else NAME
    if isinstance(identity, str) and identity and pattern.fullmatch(identity) is None:
        yield Code.ID_PATTERN, f"id {identity[:40]!r} must match {pattern.pattern}."
    if not isinstance(block.get("input"), Mapping):
        yield Code.ARGUMENTS_TYPE, "input of a tool_use must be an object, not a string; parse it."
    if isinstance(name, str) and len(name) > _LONGEST_NAME:
        yield Code.NAME_LENGTH, f"name of a tool_use has {len(name)} characters, {_LONGEST_NAME} allowed."
    elif isinstance(name, str) and name and NAME.fullmatch(name) is None:
        yield Code.NAME_PATTERN, f"name {name[:60]!r} may hold only letters, digits, '_' and '-'; rename it."


def _result(block: Mapping[str, Any]) -> Iterator[Found]:
    identity, content = block.get("tool_use_id"), block.get("content")
    if isinstance(identity, str) and identity and NAME.fullmatch(identity) is None:
        yield Code.ID_PATTERN, f"tool_use_id {identity[:40]!r} may hold only letters, digits, '_' and '-'."
    failed = block.get("is_error") is True
    if failed and not content:
        yield Code.EMPTY_ERROR, "A tool_result with is_error must say what went wrong; add text."
    for part in parts_of(content):
        kind = kind_of(part)
        if kind not in _RESULT_PARTS:
            yield Code.UNKNOWN_PART, f"A tool_result may not hold a block of type {kind!r}."
        elif kind == "text" and not str(part.get("text") or "").strip():
            yield Code.EMPTY_RESULT_TEXT, "A text block in a tool_result is empty; drop the block."
        elif failed and kind != "text":
            yield Code.ERROR_NOT_TEXT, "A tool_result with is_error may hold only text; drop the rest."
        if kind in _SOURCES:
            yield from _source(part, kind)
        yield from _mark(part, kind)


def _source(block: Mapping[str, Any], kind: str) -> Iterator[Found]:
    source = fields_of(block.get("source"))
    how, data, media_type = source.get("type"), source.get("data"), source.get("media_type")
    if how not in _SOURCES[kind]:
        yield Code.INVALID_VALUE, f"source of the {kind} must be one of {', '.join(sorted(_SOURCES[kind]))}."
        return
    if how == "url" and isinstance(source.get("url"), str) and not source["url"].startswith("https://"):
        yield Code.INVALID_VALUE, f"The url of the {kind} must be https."
    if how in ("base64", "text") and not isinstance(data, str):
        yield Code.MISSING_FIELD, f"source of the {kind} lacks its data."
    if how == "text" and media_type != "text/plain":
        yield Code.MEDIA_TYPE, "media_type of a text document must be text/plain."
    if how != "base64" or not isinstance(data, str):
        return
    allowed = IMAGE_TYPES if kind == "image" else ("application/pdf",)
    if media_type not in allowed:
        yield Code.MEDIA_TYPE, f"media_type of the {kind} must be one of {', '.join(allowed)}."
    if not data or not is_base64(data):
        yield Code.INVALID_BASE64, f"data of the {kind} is not plain base64, without a data url's head."
    elif kind == "image" and (real := sniffed(data)) is not None and real != media_type:
        yield Code.MEDIA_TYPE, f"The image is {real}, but media_type says {media_type}."


def _search_result(block: Mapping[str, Any]) -> Iterator[Found]:
    if any(not isinstance(block.get(key), str) for key in ("source", "title")) or not block.get("content"):
        yield Code.MISSING_FIELD, "A search_result needs source, title and content."
    if any(kind_of(part) != "text" for part in parts_of(block.get("content"))):
        yield Code.UNKNOWN_PART, "content of a search_result may hold only text blocks."


def _mark(block: Mapping[str, Any], kind: str) -> Iterator[Found]:
    mark = block.get(_MARK)
    if mark is None:
        return
    if kind in ("thinking", "redacted_thinking"):
        yield Code.CACHE_MARK, "cache_control is not allowed on thinking; mark another block."
    if kind == "text" and not block.get("text"):
        yield Code.CACHE_MARK, "cache_control is not allowed on empty text; mark another block."
    mark = fields_of(mark)
    if mark.get("type") != "ephemeral" or mark.get("ttl") not in (None, "5m", "1h"):
        yield Code.CACHE_MARK, "cache_control must be of type ephemeral, with ttl 5m or 1h."


def check_message_list(
    sources: Sequence[Mapping[str, Any]], system: Any = None, tools: Any = None
) -> Iterator[tuple[int, Found]]:
    """Rules about several messages: cache marks, server tools and their results, the number of messages."""
    yield from _marks(sources, system, tools)
    yield from _server_tools(sources)
    if sources and sources[0].get("role") == "system" and sources[0].get("content"):
        text = "The first message is a system message; pass it as `system`."
        yield 0, (Code.SYSTEM_POSITION, text)
    if len(sources) > MOST_MESSAGES:
        text = f"{len(sources):,} messages in one request, {MOST_MESSAGES:,} allowed; leave some out."
        yield MOST_MESSAGES, (Code.TOO_MANY_MESSAGES, text)


def _marks(sources: Sequence[Mapping[str, Any]], system: Any, tools: Any) -> Iterator[tuple[int, Found]]:
    """Tools come first, then the system prompt, then the messages."""
    count, short = 0, False
    before = [(0, fields_of(tool)) for tool in parts_of(tools)] + [(0, block) for block in parts_of(system)]
    blocks = [(index, block) for index, fields in enumerate(sources) for block in _all_blocks(fields)]
    for index, block in [*before, *blocks]:
        mark = block.get(_MARK)
        if mark is None:
            continue
        count += 1
        if count == _MOST_MARKS + 1:
            yield (
                index,
                (Code.TOO_MANY_MARKS, f"More than {_MOST_MARKS} cache marks in one request; drop some."),
            )
        long = fields_of(mark).get("ttl") == "1h"
        if long and short:
            yield (
                index,
                (Code.CACHE_ORDER, "A cache mark of 1h comes after one of 5m; put the longer one first."),
            )
        short = short or not long


def _all_blocks(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for block in parts_of(fields.get("content")):
        yield from parts_of(block.get("content")) if kind_of(block) == "tool_result" else ()
        yield block


def _server_tools(sources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Found]]:
    """A server tool's result follows its use in the same turn; only a paused turn may lack it."""
    waiting: dict[str, int] = {}
    answered: set[str] = set()
    for index, fields in enumerate(sources):
        if fields.get("role") != "assistant":
            for asked, identity in ((at, one) for one, at in waiting.items()):
                text = f"The server tool use {identity!r} has no result in its message; drop it."
                yield asked, (Code.SERVER_TOOL_PAIR, text)
            waiting = {}
            continue
        for block in parts_of(fields.get("content")):
            kind, identity = kind_of(block), str(block.get("id"))
            if kind in ("server_tool_use", "mcp_tool_use"):
                waiting[identity] = index
            elif kind.endswith("_tool_result"):
                identity = str(block.get("tool_use_id"))
                if waiting.pop(identity, None) is None:
                    text = f"The {kind} has no server tool use {identity!r} before it; drop it."
                    yield index, (Code.SERVER_TOOL_PAIR, text)
                answered.add(identity)
