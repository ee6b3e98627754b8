"""What each message may hold and where each role may be, by provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compact.core.lint.types import (
    Provider,
    Report,
    ViolationCode,
    has_string_content,
    has_text_before_results,
    is_reasoning_item,
    is_thinking,
)
from compact.model.message import Image, Message, Opaque, Reasoning, Role, StepStart, Text, ToolResult

INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_SYSTEM_SINCE = (4, 8)
"""Claude models from this one on accept a system message in mid-conversation."""
_NO_PREFILL_SINCE = (4, 6)
"""Claude models from this one on reject a conversation that ends with the assistant."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The lowest limits among a provider's current models."""

    count: int
    total_bytes: int
    each_bytes: int | None = None
    side: int | None = None
    many: int | None = None
    """Above this count the side is limited to `side_of_many`."""
    side_of_many: int | None = None


IMAGE_LIMITS = {
    Provider.OPENAI: ImageLimits(count=500, total_bytes=50 * 1024 * 1024),
    Provider.ANTHROPIC: ImageLimits(
        count=100,
        total_bytes=32 * 1024 * 1024,
        each_bytes=5 * 1024 * 1024,
        side=8_000,
        many=20,
        side_of_many=2_000,
    ),
}


def is_blank(text: str) -> bool:
    return not text or text.isspace()


def check_content(messages: Sequence[Message], provider: Provider, report: Report) -> None:
    """Empty content and images, checked message by message."""
    last = len(messages) - 1
    images: list[tuple[int, Image]] = []
    for position, message in enumerate(messages):
        filled = reasoned = False
        blanks: list[int] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, Text):
                if is_blank(part.text):
                    blanks.append(index)
                else:
                    filled = True
            elif isinstance(part, Reasoning):
                reasoned = True
            elif not isinstance(part, StepStart):
                filled = True
                if isinstance(part, Image):
                    images.append((position, part))
                elif isinstance(part, ToolResult) and part.media:
                    images += [(position, item) for item in part.media if isinstance(item, Image)]
        if filled and not blanks:
            continue
        if provider is Provider.ANTHROPIC:
            _check_blank_for_anthropic(report, position, message, filled, reasoned, blanks, position == last)
        elif not filled and not blanks and not has_string_content(message) and not is_reasoning_item(message):
            # An empty string passes; null or an empty list without tool calls does not.
            report.add(
                ViolationCode.EMPTY_CONTENT,
                position,
                "The message has neither content nor tool calls; drop it.",
                fixable=True,
            )
    if images:
        _check_images(images, IMAGE_LIMITS[provider], report)


def _check_blank_for_anthropic(
    report: Report,
    position: int,
    message: Message,
    filled: bool,
    reasoned: bool,
    blanks: list[int],
    is_last: bool,
) -> None:
    if message.role in INSTRUCTIONS:
        return
    if filled or (reasoned and blanks):
        if has_string_content(message):
            return
        report.add(
            ViolationCode.EMPTY_TEXT,
            position,
            "A text block is empty or only whitespace; drop the block.",
            fixable=True,
            parts=tuple(blanks),
        )
    elif not reasoned:
        texts = [message.parts[index] for index in blanks]
        may_be_empty = is_last and message.role is Role.ASSISTANT
        if may_be_empty and not any(isinstance(part, Text) and part.text for part in texts):
            return
        report.add(
            ViolationCode.EMPTY_CONTENT,
            position,
            "The message has no content, or only whitespace; drop it.",
            fixable=True,
        )


def _check_images(images: list[tuple[int, Image]], limits: ImageLimits, report: Report) -> None:
    count = len(images)
    if count > limits.count:
        report.add(
            ViolationCode.TOO_MANY_IMAGES,
            images[limits.count][0],
            f"{count} images in one request, {limits.count} allowed; leave some out.",
        )
    side = limits.side
    if limits.many is not None and count > limits.many:
        side = limits.side_of_many
    total = 0
    for position, image in images:
        size = payload_bytes(image.source)
        total += size
        if limits.each_bytes is not None and size > limits.each_bytes:
            report.add(
                ViolationCode.IMAGE_TOO_LARGE,
                position,
                f"An image of {size:,} base64 bytes, {limits.each_bytes:,} allowed; scale it down.",
            )
        longest = max(image.width or 0, image.height or 0)
        if side is not None and longest > side:
            report.add(
                ViolationCode.IMAGE_TOO_LARGE,
                position,
                f"An image side of {longest:,} pixels, {side:,} allowed with {count} images; scale it down.",
            )
    if total > limits.total_bytes:
        report.add(
            ViolationCode.IMAGE_PAYLOAD,
            images[-1][0],
            f"The images hold {total:,} base64 bytes, {limits.total_bytes:,} allowed; leave some out.",
        )


def payload_bytes(source: str) -> int:
    """Length of the base64 text, bare or in a data url; 0 for a link, which costs the request nothing."""
    if source.startswith("data:"):
        return len(source) - source.find(",", 0, 256) - 1
    return 0 if "://" in source[:16] else len(source)


def check_roles_for_anthropic(
    messages: Sequence[Message], report: Report, version: tuple[int, int] | None = None
) -> None:
    """Who speaks first, where instructions stand, and how the last message may end."""
    first = next((at for at, message in enumerate(messages) if message.role not in INSTRUCTIONS), None)
    if first is None:
        return
    if messages[first].role is Role.ASSISTANT:
        report.add(
            ViolationCode.FIRST_ROLE,
            first,
            "The first message after the system prompt must be the user's; put a user message before it.",
            fixable=True,
        )
    for position in range(first, len(messages)):
        message = messages[position]
        if message.role in INSTRUCTIONS:
            if version is not None and version < _SYSTEM_SINCE:
                report.add(
                    ViolationCode.SYSTEM_ROLE,
                    position,
                    "This model takes no system message among the others; send it as user text.",
                )
            elif not _may_stand(messages, position):
                report.add(
                    ViolationCode.SYSTEM_POSITION,
                    position,
                    "A system or developer message is allowed only at the start, or between the user's turn "
                    "and the assistant's; send it as user text.",
                )
        elif message.role is Role.TOOL and has_text_before_results(message):
            report.add(
                ViolationCode.RESULTS_NOT_FIRST,
                position,
                "Another block comes before a tool_result in its message; put the results first.",
            )
    last = messages[-1]
    if (
        last.role is Role.ASSISTANT
        and version is not None
        and version >= _NO_PREFILL_SINCE
        and not last.calls
    ):
        if not isinstance(last.parts[-1] if last.parts else None, Opaque):
            report.add(
                ViolationCode.PREFILL,
                len(messages) - 1,
                "The last message is the assistant's; this model answers only a user's. Add one.",
            )
    elif last.role is Role.ASSISTANT and last.parts:
        final = last.parts[-1]
        if isinstance(final, Text) and not is_blank(final.text) and final.text[-1].isspace():
            report.add(
                ViolationCode.PREFILL_WHITESPACE,
                len(messages) - 1,
                "The last message is the assistant's and ends with whitespace; strip its end.",
                fixable=True,
                parts=(len(last.parts) - 1,),
            )


def _may_stand(messages: Sequence[Message], position: int) -> bool:
    """After a user's turn or a server tool's use, and at the end or before the assistant's."""
    before = messages[position - 1] if position else None
    after = messages[position + 1] if position + 1 < len(messages) else None
    if before is None or (after is not None and after.role is not Role.ASSISTANT):
        return False
    paused = before.parts[-1] if before.role is Role.ASSISTANT and before.parts else None
    return before.role in (Role.USER, Role.TOOL) or (
        isinstance(paused, Opaque) and paused.type.endswith("_tool_use")
    )


def check_thinking(messages: Sequence[Message], report: Report) -> None:
    """Thinking blocks in Anthropic's turns; consecutive assistant messages are one turn there.

    The position of thinking matters only after the newest user text: older thinking is not read again.
    """
    users = [at for at, message in enumerate(messages) if message.role is Role.USER and not message.results]
    newest = users[-1] if users else -1
    turn: list[tuple[int, bool]] = []
    has_thinking = False
    for position, message in enumerate(messages):
        if message.role is not Role.ASSISTANT:
            if has_thinking:
                _check_turn(turn, newest, report)
            turn, has_thinking = [], False
            continue
        for part in message.parts:
            if isinstance(part, Reasoning):
                if not is_thinking(message, part):
                    continue
                has_thinking = True
                turn.append((position, True))
                if part.signature is None and not part.redacted:
                    report.add(
                        ViolationCode.MISSING_SIGNATURE,
                        position,
                        "A thinking block has no signature; send it as it came, or leave the turn out.",
                    )
            elif not isinstance(part, StepStart) and not (isinstance(part, Text) and is_blank(part.text)):
                turn.append((position, False))
    if has_thinking:
        _check_turn(turn, newest, report)


def _check_turn(turn: list[tuple[int, bool]], newest: int, report: Report) -> None:
    position, starts_with_thinking = turn[0]
    if position > newest and not starts_with_thinking:
        report.add(
            ViolationCode.THINKING_NOT_FIRST,
            next(at for at, thinking in turn if thinking),
            "An assistant turn with thinking must start with it; put a user message between, "
            "or keep the thinking first.",
        )
    if turn[-1][1]:
        report.add(
            ViolationCode.THINKING_LAST,
            turn[-1][0],
            "An assistant turn ends with thinking; keep what the model said or called after it.",
        )


def check_reasoning_items(messages: Sequence[Message], report: Report) -> None:
    """A reasoning item of the Responses API must be followed by the item it led to."""
    waiting: list[int] = []
    for position, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            if is_reasoning_item(message):
                waiting.append(position)
            elif waiting:
                waiting = []
        elif waiting:
            _report_dangling(waiting, report)
            waiting = []
    _report_dangling(waiting, report)


def _report_dangling(positions: list[int], report: Report) -> None:
    for position in positions:
        report.add(
            ViolationCode.DANGLING_REASONING,
            position,
            "A reasoning item lacks the item that must follow it; drop it.",
            fixable=True,
        )
