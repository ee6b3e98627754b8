"""The rules as a table: what is rejected, by which API, since which model, and where that is documented.

An id may have several lines, one for each thing that the API rejects under it. `check_sources` runs those
that check the caller's own objects; the others are found while messages are paired and read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from compact.core.lint.anthropic import check_message, check_message_list
from compact.core.lint.chat import check_chat, check_chat_list
from compact.core.lint.raw import Found, fields_of
from compact.core.lint.responses import check_item, check_item_list
from compact.core.lint.types import Report, Target
from compact.core.lint.types import ViolationCode as Code
from compact.model.message import Message


class Rule(NamedTuple):
    id: Code
    api: str
    """chat and responses are OpenAI's, messages is Anthropic's."""
    refuses: str
    source: str
    since: str = ""
    """The first model that rejects it; empty if all do."""


_CHAT = "OpenAI reference: chat/create"
_RESP = "OpenAI reference: responses/create"
_TOOLS = "OpenAI guide: function calling"
_REASON = "OpenAI guide: reasoning"
_MSG = "Anthropic reference: messages"
_USE = "Anthropic guide: tool use"
_THINK = "Anthropic guide: extended thinking"
_CACHE = "Anthropic guide: prompt caching"
_VISION = "Anthropic guide: vision"
_MID = "Anthropic guide: mid-conversation system messages"

RULES: tuple[Rule, ...] = (
    Rule(Code.NO_MESSAGES, "chat", "an empty list", _CHAT),
    Rule(Code.NO_MESSAGES, "responses", "an empty list", _RESP),
    Rule(Code.NO_MESSAGES, "messages", "no message but the system prompt", _MSG),
    Rule(Code.TOO_MANY_MESSAGES, "chat", "more than 2,048 messages", _CHAT),
    Rule(Code.TOO_MANY_MESSAGES, "messages", "more than 100,000 messages", _MSG),
    Rule(Code.MALFORMED, "chat", "an unknown role", _CHAT),
    Rule(Code.MALFORMED, "chat", "content that is missing, or neither text nor parts", _CHAT),
    Rule(Code.MALFORMED, "chat", "a call without id, name or arguments", _TOOLS),
    Rule(Code.MALFORMED, "chat", "a tool message without tool_call_id", _TOOLS),
    Rule(Code.MALFORMED, "chat", "a part without its type or its text", _CHAT),
    Rule(Code.MALFORMED, "responses", "an unknown role", _RESP),
    Rule(Code.MALFORMED, "responses", "content that is missing, or neither text nor parts", _RESP),
    Rule(Code.MALFORMED, "responses", "a call without call_id, name or arguments", _RESP),
    Rule(Code.MALFORMED, "responses", "an output that is missing, or neither text nor parts", _RESP),
    Rule(Code.MALFORMED, "responses", "an image or file without its source", _RESP),
    Rule(Code.MALFORMED, "messages", "an unknown role", _MSG),
    Rule(Code.MALFORMED, "messages", "content that is missing, or neither text nor blocks", _MSG),
    Rule(Code.MALFORMED, "messages", "a tool_use without id, name or input", _USE),
    Rule(Code.MALFORMED, "messages", "a tool_result without tool_use_id", _USE),
    Rule(Code.MALFORMED, "messages", "a tool_use in a user message, a tool_result in an assistant's", _USE),
    Rule(Code.MALFORMED, "messages", "redacted_thinking without data", _THINK),
    Rule(Code.ORPHAN_RESULT, "chat", "a tool message whose call is not there", _TOOLS),
    Rule(Code.ORPHAN_RESULT, "responses", "an output whose call is not there", _TOOLS),
    Rule(Code.ORPHAN_RESULT, "messages", "a tool_result whose tool_use is not there", _USE),
    Rule(Code.RESULT_BEFORE_CALL, "chat", "a tool message before its call", _TOOLS),
    Rule(Code.RESULT_BEFORE_CALL, "responses", "an output before its call", _TOOLS),
    Rule(Code.RESULT_BEFORE_CALL, "messages", "a tool_result before its tool_use", _USE),
    Rule(Code.DISPLACED_RESULT, "chat", "a message between a call and its results", _TOOLS),
    Rule(Code.DISPLACED_RESULT, "messages", "a message between a tool_use and its result", _USE),
    Rule(Code.RESULTS_NOT_FIRST, "messages", "a block before the tool_results of a message", _USE),
    Rule(Code.DUPLICATE_RESULT, "chat", "two results of one call", _TOOLS),
    Rule(Code.DUPLICATE_RESULT, "responses", "two outputs of one call", _TOOLS),
    Rule(Code.DUPLICATE_RESULT, "messages", "two results of one tool_use", _USE),
    Rule(Code.DUPLICATE_CALL, "chat", "two calls of one message with one id", _TOOLS),
    Rule(Code.DUPLICATE_CALL, "responses", "two open calls with one call_id", _TOOLS),
    Rule(Code.DUPLICATE_CALL, "messages", "two tool_uses with one id", _USE),
    Rule(Code.UNANSWERED_CALL, "chat", "a call without a result", _TOOLS),
    Rule(Code.UNANSWERED_CALL, "responses", "a call without an output", _TOOLS),
    Rule(Code.UNANSWERED_CALL, "messages", "a tool_use without a result", _USE),
    Rule(Code.CALL_IN_PROGRESS, "chat", "a call at the end", _TOOLS),
    Rule(Code.CALL_IN_PROGRESS, "responses", "a call at the end", _TOOLS),
    Rule(Code.CALL_IN_PROGRESS, "messages", "a tool_use at the end", _USE),
    Rule(Code.EMPTY_CONTENT, "chat", "neither content nor calls", _CHAT),
    Rule(Code.EMPTY_CONTENT, "messages", "no content, or blank content", _MSG),
    Rule(Code.EMPTY_TEXT, "messages", "a blank text block", _MSG),
    Rule(Code.FIRST_ROLE, "messages", "an assistant message first", _MSG),
    Rule(Code.SYSTEM_POSITION, "messages", "a system message first", _MID),
    Rule(Code.SYSTEM_POSITION, "messages", "a system message after an assistant's", _MID),
    Rule(Code.SYSTEM_POSITION, "messages", "a system message before a user's", _MID),
    Rule(Code.SYSTEM_POSITION, "messages", "two system messages in a row", _MID),
    Rule(Code.SYSTEM_ROLE, "messages", "a system message in mid-conversation", _MID, "all before claude 4.8"),
    Rule(Code.PREFILL, "messages", "an assistant message last", "Anthropic: what's new in 4.6", "claude 4.6"),
    Rule(Code.PREFILL_WHITESPACE, "messages", "an assistant message last that ends with whitespace", _MSG),
    Rule(Code.MISSING_SIGNATURE, "messages", "thinking without its signature", _THINK),
    Rule(Code.THINKING_NOT_FIRST, "messages", "a turn with thinking that begins with something else", _THINK),
    Rule(Code.THINKING_LAST, "messages", "a turn that ends with thinking", _THINK),
    Rule(Code.DANGLING_REASONING, "responses", "a reasoning item without the item after it", _REASON),
    Rule(Code.TOO_MANY_IMAGES, "chat", "more than 500 images", "OpenAI guide: images"),
    Rule(Code.TOO_MANY_IMAGES, "responses", "more than 500 images", "OpenAI guide: images"),
    Rule(Code.TOO_MANY_IMAGES, "messages", "more than 100 images", _VISION),
    Rule(Code.IMAGE_TOO_LARGE, "messages", "an image over 5 MB", _VISION),
    Rule(Code.IMAGE_TOO_LARGE, "messages", "an image side over 8,000 pixels, 2,000 with many", _VISION),
    Rule(Code.IMAGE_PAYLOAD, "chat", "images over 50 MB together", "OpenAI guide: images"),
    Rule(Code.IMAGE_PAYLOAD, "messages", "a request over 32 MB", _VISION),
    Rule(Code.TEXT_TOO_LONG, "chat", "a text over 10,485,760 characters", _CHAT),
    Rule(Code.TEXT_TOO_LONG, "responses", "a text over 10,485,760 characters", _RESP),
    Rule(Code.UNKNOWN_PART, "chat", "a part of unknown type", _CHAT),
    Rule(Code.UNKNOWN_PART, "responses", "a part of unknown type, such as chat's text", _RESP),
    Rule(Code.UNKNOWN_PART, "responses", "an output with other parts than input ones", _RESP),
    Rule(Code.UNKNOWN_PART, "responses", "a reasoning summary or content with other parts", _RESP),
    Rule(Code.UNKNOWN_PART, "messages", "a block of unknown type", _MSG),
    Rule(Code.UNKNOWN_PART, "messages", "a tool_result with a block that is no content", _USE),
    Rule(Code.UNKNOWN_PART, "messages", "a search_result with other blocks than text", _MSG),
    Rule(Code.UNKNOWN_ITEM, "responses", "an item of unknown type", _RESP),
    Rule(Code.UNKNOWN_FIELD, "responses", "a field that the item does not have", _RESP),
    Rule(Code.UNKNOWN_FIELD, "messages", "a field that the message or block does not have", _MSG),
    Rule(Code.MISSING_FIELD, "chat", "a file without file_id or file_data, or without filename", _CHAT),
    Rule(Code.MISSING_FIELD, "chat", "an assistant's audio without id", _CHAT),
    Rule(Code.MISSING_FIELD, "responses", "an item without a field that it must have", _RESP),
    Rule(Code.MISSING_FIELD, "responses", "file_data without filename", _RESP),
    Rule(Code.MISSING_FIELD, "responses", "a screenshot without its image", _RESP),
    Rule(Code.MISSING_FIELD, "responses", "a shell output without stdout, stderr or outcome", _RESP),
    Rule(Code.MISSING_FIELD, "messages", "an image or document without data", _VISION),
    Rule(Code.MISSING_FIELD, "messages", "a search_result without source, title or content", _MSG),
    Rule(Code.INVALID_VALUE, "chat", "an image url that is none, or no object", _CHAT),
    Rule(Code.INVALID_VALUE, "chat", "an unknown detail of an image", _CHAT),
    Rule(Code.INVALID_VALUE, "chat", "audio that is neither wav nor mp3", _CHAT),
    Rule(Code.INVALID_VALUE, "chat", "a call without its type", _CHAT),
    Rule(Code.INVALID_VALUE, "responses", "an unknown status", _RESP),
    Rule(Code.INVALID_VALUE, "responses", "an unknown detail of an image, or a url that is none", _RESP),
    Rule(Code.INVALID_VALUE, "responses", "a file given in two ways", _RESP),
    Rule(Code.INVALID_VALUE, "responses", "a computer output that is no screenshot", _RESP),
    Rule(Code.INVALID_VALUE, "responses", "an unknown operation or status of a patch", _RESP),
    Rule(Code.INVALID_VALUE, "responses", "an approval that is neither true nor false", _RESP),
    Rule(Code.INVALID_VALUE, "messages", "a source of unknown type, or a url that is not https", _VISION),
    Rule(Code.MEDIA_TYPE, "chat", "an image of another type than PNG, JPEG, GIF, WebP", _CHAT),
    Rule(Code.MEDIA_TYPE, "responses", "an image of another type than PNG, JPEG, GIF, WebP", _RESP),
    Rule(Code.MEDIA_TYPE, "messages", "an image of another type, or of another than it says", _VISION),
    Rule(Code.MEDIA_TYPE, "messages", "a document that is neither PDF nor plain text", _MSG),
    Rule(Code.INVALID_BASE64, "messages", "data that is not plain base64", _VISION),
    Rule(Code.PART_ROLE, "chat", "images, audio or files outside user messages", _CHAT),
    Rule(Code.PART_ROLE, "chat", "a refusal outside assistant messages", _CHAT),
    Rule(Code.PART_ROLE, "responses", "input parts in an assistant message, output parts elsewhere", _RESP),
    Rule(Code.PART_ROLE, "messages", "thinking or server tools in a user message", _THINK),
    Rule(Code.PART_ROLE, "messages", "images or documents in an assistant message", _MSG),
    Rule(Code.PART_MIX, "chat", "a refusal beside other parts", _CHAT),
    Rule(Code.CALL_ROLE, "chat", "calls in a message that is not the assistant's", _CHAT),
    Rule(Code.EMPTY_CALLS, "chat", "an empty array of calls", _CHAT),
    Rule(Code.TOO_MANY_CALLS, "chat", "more than 128 calls in a message", _CHAT),
    Rule(Code.ARGUMENTS_TYPE, "chat", "arguments that are no string", _TOOLS),
    Rule(Code.ARGUMENTS_TYPE, "responses", "arguments that are no string", _TOOLS),
    Rule(Code.ARGUMENTS_TYPE, "messages", "input that is no object", _USE),
    Rule(
        Code.NAME_PATTERN, "chat", "a tool's name with other characters than letters, digits, _ and -", _TOOLS
    ),
    Rule(Code.NAME_PATTERN, "chat", "a speaker's name with spaces or < | \\ / >", _CHAT),
    Rule(Code.NAME_PATTERN, "responses", "a tool's name with other characters", _TOOLS),
    Rule(Code.NAME_PATTERN, "messages", "a tool's name with other characters", _USE),
    Rule(Code.NAME_LENGTH, "chat", "a name over 64 characters", _TOOLS),
    Rule(Code.NAME_LENGTH, "responses", "a name over 128 characters", _TOOLS),
    Rule(Code.NAME_LENGTH, "messages", "a name over 200 characters", _USE),
    Rule(Code.ID_PATTERN, "responses", "an id with other characters than letters, digits, _ and -", _RESP),
    Rule(Code.ID_PATTERN, "messages", "a tool_use id with other characters", _USE),
    Rule(Code.ID_PATTERN, "messages", "a server tool's id without srvtoolu_", _USE),
    Rule(
        Code.ID_LENGTH, "chat", "a call's id over 40 characters", "github.com/microsoft/autogen/issues/6377"
    ),
    Rule(Code.ID_LENGTH, "responses", "an id or call_id over 64 characters", _RESP),
    Rule(
        Code.ID_PREFIX, "responses", "an id without its type's prefix", "github.com/openai/codex/issues/33176"
    ),
    Rule(Code.DUPLICATE_ID, "responses", "two items with one id", "github.com/earendil-works/pi/issues/5149"),
    Rule(Code.OUTPUT_TYPE, "responses", "an output of another type than its call", _TOOLS),
    Rule(Code.EMPTY_RESULT_TEXT, "messages", "a blank text block in a tool_result", _USE),
    Rule(Code.EMPTY_ERROR, "messages", "a failed tool_result without content", _USE),
    Rule(Code.ERROR_NOT_TEXT, "messages", "a failed tool_result with other content than text", _USE),
    Rule(Code.SERVER_TOOL_PAIR, "messages", "a server tool's use without its result", _USE),
    Rule(
        Code.SERVER_TOOL_PAIR,
        "messages",
        "a server tool's result without its use",
        "github.com/anthropics/claude-code/issues/95406",
    ),
    Rule(Code.CACHE_MARK, "messages", "a cache mark on thinking", _CACHE),
    Rule(Code.CACHE_MARK, "messages", "a cache mark on empty text", _CACHE),
    Rule(Code.CACHE_MARK, "messages", "a cache mark of another type or time", _CACHE),
    Rule(Code.TOO_MANY_MARKS, "messages", "more than four cache marks", _CACHE),
    Rule(Code.CACHE_ORDER, "messages", "a cache mark of 1h after one of 5m", _CACHE),
)


def check_sources(messages: Sequence[Message], target: Target, report: Report) -> None:
    """Run the rules of the API whose own objects these are; none if the list has to be converted."""
    if target.api is None:
        return
    sources: list[Mapping[str, Any]] = []
    positions: list[int] = []
    for position, message in enumerate(messages):
        if message.origin is not None and message.origin.part == 0:
            sources.append(fields_of(message.origin.source))
            positions.append(position)
    for index, (code, text) in _found(sources, target):
        report.add(code, positions[min(index, len(positions) - 1)], text)


def _found(sources: Sequence[Mapping[str, Any]], target: Target) -> Iterator[tuple[int, Found]]:
    match target.api:
        case "openai-chat":
            yield from ((at, found) for at, fields in enumerate(sources) for found in check_chat(fields))
            yield from check_chat_list(sources)
        case "openai-responses":
            yield from ((at, found) for at, fields in enumerate(sources) for found in check_item(fields))
            yield from check_item_list(sources)
        case "anthropic":
            yield from ((at, found) for at, fields in enumerate(sources) for found in check_message(fields))
            yield from check_message_list(sources, target.system, target.tools)
