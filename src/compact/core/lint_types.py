"""The words of the provider lint: whose rules, what is wrong, where, and what the wire form implies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from compact.model.message import Message, Reasoning


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


@dataclass(frozen=True, slots=True)
class Violation:
    code: ViolationCode
    index: int
    """Index of the caller's own object; the position in the list for a message without one."""
    message: str
    fixable: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation with where it stands in the decoded list, as the repair needs it."""

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
    """Whether the calls stand in one chat message.

    There they must be answered before any other message. Responses items and Anthropic turns are
    joined by the provider, so calls may be spread over several assistant messages.
    """
    return message.origin is not None and bool(field_of(message.origin.source, "tool_calls"))


def is_reasoning_item(message: Message) -> bool:
    """Whether this is a reasoning item of the Responses API, which needs the item that came after it."""
    return message.origin is not None and field_of(message.origin.source, "type") == "reasoning"


def has_string_content(message: Message) -> bool:
    """Whether the content is one string; an empty one beside tool calls is then sent as no block at all."""
    return message.origin is not None and isinstance(field_of(message.origin.source, "content"), str)


def has_text_before_results(message: Message) -> bool:
    """Whether another block stands before a result in the caller's object that holds this message."""
    origin = message.origin
    content = None if origin is None or origin.parts == 1 else field_of(origin.source, "content")
    if not isinstance(content, list | tuple):
        return False
    kinds = [field_of(block, "type") == "tool_result" for block in content]
    return kinds != sorted(kinds, reverse=True)


def is_thinking(message: Message, part: Reasoning) -> bool:
    """Whether Anthropic would get this reasoning as a thinking block.

    Other vendors' reasoning has no signature that Anthropic could check, so it is left out on the
    way there and breaks no rule.
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
