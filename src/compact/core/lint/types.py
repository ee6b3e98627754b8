"""The vocabulary of the provider lint: whose rules, what is wrong, where, and what the wire form implies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from compact.model.message import Message, Opaque, Reasoning


class Provider(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class ViolationCode(StrEnum):
    NO_MESSAGES = "no-messages"
    MALFORMED = "malformed"
    ORPHAN_RESULT = "orphan-result"
    RESULT_BEFORE_CALL = "result-before-call"
    DISPLACED_RESULT = "displaced-result"
    RESULTS_NOT_FIRST = "results-not-first"
    DUPLICATE_RESULT = "duplicate-result"
    DUPLICATE_CALL = "duplicate-call"
    UNANSWERED_CALL = "unanswered-call"
    CALL_IN_PROGRESS = "call-in-progress"
    EMPTY_CONTENT = "empty-content"
    EMPTY_TEXT = "empty-text"
    FIRST_ROLE = "first-role"
    SYSTEM_POSITION = "system-position"
    PREFILL_WHITESPACE = "prefill-whitespace"
    MISSING_SIGNATURE = "missing-signature"
    THINKING_NOT_FIRST = "thinking-not-first"
    THINKING_LAST = "thinking-last"
    DANGLING_REASONING = "dangling-reasoning"
    TOO_MANY_IMAGES = "too-many-images"
    IMAGE_TOO_LARGE = "image-too-large"
    IMAGE_PAYLOAD = "image-payload"
    SYSTEM_ROLE = "system-role"
    PREFILL = "prefill"
    UNKNOWN_PART = "unknown-part"
    UNKNOWN_ITEM = "unknown-item"
    UNKNOWN_FIELD = "unknown-field"
    MISSING_FIELD = "missing-field"
    INVALID_VALUE = "invalid-value"
    PART_ROLE = "part-role"
    PART_MIX = "part-mix"
    CALL_ROLE = "call-role"
    EMPTY_CALLS = "empty-calls"
    TOO_MANY_CALLS = "too-many-calls"
    TOO_MANY_MESSAGES = "too-many-messages"
    ARGUMENTS_TYPE = "arguments-type"
    NAME_PATTERN = "name-pattern"
    NAME_LENGTH = "name-length"
    ID_PATTERN = "id-pattern"
    ID_LENGTH = "id-length"
    ID_PREFIX = "id-prefix"
    DUPLICATE_ID = "duplicate-id"
    OUTPUT_TYPE = "output-type"
    TEXT_TOO_LONG = "text-too-long"
    MEDIA_TYPE = "media-type"
    INVALID_BASE64 = "invalid-base64"
    EMPTY_ERROR = "empty-error"
    ERROR_NOT_TEXT = "error-not-text"
    EMPTY_RESULT_TEXT = "empty-result-text"
    SERVER_TOOL_PAIR = "server-tool-pair"
    CACHE_MARK = "cache-mark"
    TOO_MANY_MARKS = "too-many-marks"
    CACHE_ORDER = "cache-order"


@dataclass(frozen=True, slots=True)
class Violation:
    code: ViolationCode
    index: int
    """Index of the caller's own object; the position in the list for a message without one."""
    message: str
    fixable: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Whose rules apply, and what else is in the request."""

    provider: Provider
    api: str | None = None
    """The format of the messages, if it is the provider's own: its objects are checked as they are."""
    model: str | None = None
    """Decides where models differ; without it, what the current ones accept."""
    system: Any = None
    tools: Any = None
    continues: bool = False
    """Whether the provider holds an earlier part: a result may answer a call that is not here."""


_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")


def claude_version(model: str | None) -> tuple[int, int] | None:
    """Major and minor version of a Claude model; None for others."""
    found = _CLAUDE.search(model.lower()) if model else None
    return (int(found[1]), int(found[2] or 0)) if found else None


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation with its place in the decoded list, as the repair needs it."""

    violation: Violation
    position: int
    parts: tuple[int, ...] = ()


@dataclass(slots=True)
class Report:
    """Collects findings over one list of messages."""

    messages: Sequence[Message]
    findings: list[Finding] = field(default_factory=list)

    def add(
        self,
        code: ViolationCode,
        position: int,
        text: str,
        *,
        fixable: bool = False,
        parts: tuple[int, ...] = (),
    ) -> None:
        origin = self.messages[position].origin if position < len(self.messages) else None
        index = position if origin is None else origin.index
        self.findings.append(Finding(Violation(code, index, text, fixable), position, parts))


def field_of(source: Any, name: str) -> Any:
    """A field of a caller's object, which is a mapping or an SDK's own class."""
    if type(source) is dict or isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)


def is_chat_call(message: Message) -> bool:
    """Whether the calls are in one chat message.

    There they must be answered before any other message. Responses items and Anthropic turns are joined by
    the provider, so calls may be spread over several assistant messages.
    """
    return message.origin is not None and bool(field_of(message.origin.source, "tool_calls"))


def is_reasoning_item(message: Message) -> bool:
    """Whether this is a reasoning item of the Responses API, which needs the item that came after it."""
    return message.origin is not None and field_of(message.origin.source, "type") == "reasoning"


def is_reference(message: Message) -> bool:
    """Whether this is an item_reference of the Responses API."""
    part = message.parts[0] if message.parts else None
    return isinstance(part, Opaque) and part.type == "item_reference"


def has_string_content(message: Message) -> bool:
    """Whether the content is one string; an empty one next to tool calls is then sent as no block at all."""
    return message.origin is not None and isinstance(field_of(message.origin.source, "content"), str)


def has_text_before_results(message: Message) -> bool:
    """Whether another block precedes a result in the caller's object that holds this message."""
    origin = message.origin
    content = None if origin is None or origin.parts == 1 else field_of(origin.source, "content")
    if not isinstance(content, list | tuple):
        return False
    kinds = [field_of(block, "type") == "tool_result" for block in content]
    return kinds != sorted(kinds, reverse=True)


def is_thinking(message: Message, part: Reasoning) -> bool:
    """Whether Anthropic would get this reasoning as a thinking block.

    Other vendors' reasoning has no signature that Anthropic could check, so it is left out on conversion and
    breaks no rule.
    """
    if message.origin is None:
        return True
    source = message.origin.source
    if field_of(source, "type") == "reasoning":
        return False
    if part.signature is not None or part.redacted:
        return True
    content = field_of(source, "content")
    if not isinstance(content, list | tuple):
        return False
    return any(field_of(block, "type") == "thinking" for block in content)
