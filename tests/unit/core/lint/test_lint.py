"""What each provider refuses, one line a case."""

from __future__ import annotations

from typing import Any

import pytest

from compact.core.lint import Provider, Violation, ViolationCode, lint_messages
from compact.errors import ConfigError
from compact.model.message import (
    File,
    Image,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Role,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
)

CODES = ViolationCode
CHAT: dict[str, Any] = {"role": "assistant", "tool_calls": [{"id": "x"}], "content": ""}
REASONING_ITEM: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}


def message(role: Role, *parts: Part, source: Any = None, index: int = 0) -> Message:
    origin = None if source is None else Origin(index=index, source=source)
    return Message(role=role, parts=parts, digest=digest_of(role, parts), origin=origin)


def system(text: str = "Be brief.") -> Message:
    return message(Role.SYSTEM, Text(text))


def developer(text: str = "Use tabs.") -> Message:
    return message(Role.DEVELOPER, Text(text))


def user(text: str = "Go on.") -> Message:
    return message(Role.USER, Text(text))


def says(text: str = "Done.") -> Message:
    return message(Role.ASSISTANT, Text(text))


def calls(*ids: str, source: Any = None) -> Message:
    return message(Role.ASSISTANT, *[ToolCall(call_id, "read", "{}") for call_id in ids], source=source)


def result(*ids: str, role: Role = Role.TOOL) -> Message:
    return message(role, *[ToolResult(call_id, "ok") for call_id in ids])


def thinks(*parts: Part) -> Message:
    return message(Role.ASSISTANT, *parts)


SIGNED = Reasoning("I should read it.", signature="c2ln")
REDACTED = Reasoning("", redacted=True)


def found(messages: list[Message], provider: Provider | str) -> list[tuple[ViolationCode, int]]:
    return [(violation.code, violation.index) for violation in lint_messages(messages, provider)]


SOUND: dict[str, list[Message]] = {
    "plain": [system(), user(), says(), user()],
    "one call": [user(), calls("a"), result("a"), says()],
    "parallel, answered in one message": [user(), calls("a", "b"), result("a", "b")],
    "parallel, answered in several messages": [user(), calls("a", "b"), result("b"), result("a"), says()],
    "results as a user message": [user(), calls("a", "b"), result("a", "b", role=Role.USER), says()],
    "text after the results of one message": [
        user(),
        calls("a"),
        message(Role.USER, ToolResult("a", "ok"), Text("And now?")),
    ],
    "a step follows a step": [user(), calls("a"), result("a"), calls("b"), result("b")],
    "calls over several items": [user(), calls("a"), calls("b"), result("a"), result("b")],
    "text between the calls of one turn": [
        user(),
        calls("a"),
        says("And then:"),
        calls("b"),
        result("a", "b"),
    ],
    "consecutive users": [user(), user(), says(), says("More."), user()],
    "leading instructions": [system(), developer(), user()],
    "a tool that ran at the provider": [
        user(),
        message(
            Role.ASSISTANT, ToolCall("s", "web_search", {}), ToolResult("s", "found"), Text("It says so.")
        ),
        user(),
    ],
    "an empty tool output": [user(), calls("a"), message(Role.TOOL, ToolResult("a", "")), says()],
    "an image alone": [message(Role.USER, Image("https://example.org/a.png"))],
    "a file alone": [message(Role.USER, File("https://example.org/a.pdf"))],
    "a part nobody knows": [message(Role.USER, Opaque("input_audio", "{}"))],
    "thinking before the call": [user(), thinks(SIGNED, ToolCall("a", "read", {})), result("a"), says()],
    "redacted thinking": [user(), thinks(REDACTED, SIGNED, Text("Yes.")), user()],
    "thinking in each step": [
        user(),
        thinks(SIGNED, ToolCall("a", "read", {})),
        result("a"),
        thinks(StepStart(), SIGNED, Text("So."), ToolCall("b", "read", {})),
        result("b"),
    ],
    "a prefill": [user(), says("The answer is")],
}


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("name", SOUND)
def test_sound_for_both(name: str, provider: Provider) -> None:
    assert lint_messages(SOUND[name], provider) == []


BROKEN_FOR_BOTH: dict[str, tuple[list[Message], list[tuple[ViolationCode, int]]]] = {
    "nothing": ([], [(CODES.NO_MESSAGES, 0)]),
    "orphan result": ([user(), result("a"), user()], [(CODES.ORPHAN_RESULT, 1)]),
    "orphan among good ones": (
        [user(), calls("a"), result("a", "z"), says()],
        [(CODES.ORPHAN_RESULT, 2)],
    ),
    "unanswered, user follows": ([user(), calls("a"), user()], [(CODES.UNANSWERED_CALL, 1)]),
    "unanswered, a step follows": (
        [user(), calls("a", "b"), result("b"), calls("c"), result("c")],
        [(CODES.UNANSWERED_CALL, 1)],
    ),
    "half answered at the end": ([user(), calls("a", "b"), result("a")], [(CODES.UNANSWERED_CALL, 1)]),
    "two unanswered": (
        [user(), calls("a", "b"), user()],
        [(CODES.UNANSWERED_CALL, 1), (CODES.UNANSWERED_CALL, 1)],
    ),
    "call in progress": ([user(), calls("a")], [(CODES.CALL_IN_PROGRESS, 1)]),
    "parallel calls in progress": (
        [user(), calls("a"), calls("b")],
        [(CODES.CALL_IN_PROGRESS, 1), (CODES.CALL_IN_PROGRESS, 2)],
    ),
    "result after a user message": (
        [user(), calls("a"), user(), result("a")],
        [(CODES.DISPLACED_RESULT, 3)],
    ),
    "group torn by a user message": (
        [user(), calls("a", "b"), result("a"), user(), result("b")],
        [(CODES.DISPLACED_RESULT, 4)],
    ),
    "result after the next step": (
        [user(), calls("a", "b"), result("a"), calls("c"), result("c"), result("b")],
        [(CODES.DISPLACED_RESULT, 5)],
    ),
    "text before the result in one message": (
        [user(), calls("a"), message(Role.USER, Text("Here:"), ToolResult("a", "ok"))],
        [(CODES.DISPLACED_RESULT, 2)],
    ),
    "result before its call": (
        [user(), result("a"), calls("a"), user()],
        [(CODES.RESULT_BEFORE_CALL, 1)],
    ),
    "result before and after its call": (
        [user(), result("a"), calls("a"), result("a")],
        [(CODES.RESULT_BEFORE_CALL, 1)],
    ),
    "two results": ([user(), calls("a"), result("a"), result("a")], [(CODES.DUPLICATE_RESULT, 3)]),
    "two results in one message": ([user(), calls("a"), result("a", "a")], [(CODES.DUPLICATE_RESULT, 2)]),
    "a second result later": (
        [user(), calls("a"), result("a"), says(), user(), result("a")],
        [(CODES.DUPLICATE_RESULT, 5)],
    ),
    "two calls of one id in a group": ([user(), calls("a", "a"), result("a")], [(CODES.DUPLICATE_CALL, 1)]),
    "no parts": ([user(), message(Role.ASSISTANT), user()], [(CODES.EMPTY_CONTENT, 1)]),
    "only a step start": ([user(), thinks(StepStart()), user()], [(CODES.EMPTY_CONTENT, 1)]),
    "empty message inside a group": (
        [user(), calls("a"), message(Role.USER), result("a")],
        [(CODES.EMPTY_CONTENT, 2), (CODES.DISPLACED_RESULT, 3)],
    ),
}


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("name", BROKEN_FOR_BOTH)
def test_broken_for_both(name: str, provider: Provider) -> None:
    messages, expected = BROKEN_FOR_BOTH[name]
    assert found(messages, provider) == expected


ONE_PROVIDER: dict[
    str, tuple[list[Message], list[tuple[ViolationCode, int]], list[tuple[ViolationCode, int]]]
] = {
    # name: messages, OpenAI's findings, Anthropic's findings
    "assistant first": ([system(), says(), user()], [], [(CODES.FIRST_ROLE, 1)]),
    "only a system prompt": ([system()], [], [(CODES.NO_MESSAGES, 0)]),
    "system in the middle": ([user(), system(), user()], [], [(CODES.SYSTEM_POSITION, 1)]),
    "developer at the end": ([user(), developer()], [], []),
    "developer between a user and an assistant": ([user(), developer(), says(), user()], [], []),
    "developer after an assistant": ([user(), says(), developer()], [], [(CODES.SYSTEM_POSITION, 2)]),
    "developer before a user": ([user(), developer(), user()], [], [(CODES.SYSTEM_POSITION, 1)]),
    "two developers": (
        [user(), developer(), developer(), says(), user()],
        [],
        [(CODES.SYSTEM_POSITION, 1), (CODES.SYSTEM_POSITION, 2)],
    ),
    "an id used again later": (
        [user(), calls("a"), result("a"), calls("a"), result("a")],
        [],
        [(CODES.DUPLICATE_CALL, 3)],
    ),
    "chat calls in two messages": (
        [user(), calls("a", source=CHAT), calls("b"), result("a"), result("b")],
        [(CODES.DISPLACED_RESULT, 3)],
        [],
    ),
    "chat call, then text": (
        [user(), calls("a", source=CHAT), says(), result("a")],
        [(CODES.DISPLACED_RESULT, 3)],
        [],
    ),
    "empty user string": ([user(""), says(), user()], [], [(CODES.EMPTY_CONTENT, 0)]),
    "whitespace only": ([user(), says(" \n"), user()], [], [(CODES.EMPTY_CONTENT, 1)]),
    "empty block beside a call": (
        [user(), thinks(Text(""), ToolCall("a", "read", {})), result("a")],
        [],
        [(CODES.EMPTY_TEXT, 1)],
    ),
    "empty chat string beside a call": (
        [user(), message(Role.ASSISTANT, Text(""), ToolCall("a", "read", "{}"), source=CHAT), result("a")],
        [],
        [],
    ),
    "empty chat string from the assistant": (
        [user(), message(Role.ASSISTANT, source={"role": "assistant", "content": ""}, index=1), user()],
        [],
        [(CODES.EMPTY_CONTENT, 1)],
    ),
    "empty system string": ([system(""), user()], [], []),
    "empty final assistant string": ([user(), says("")], [], []),
    "no parts in the final assistant message": (
        [user(), message(Role.ASSISTANT)],
        [(CODES.EMPTY_CONTENT, 1)],
        [],
    ),
    "whitespace in the final assistant message": ([user(), says(" ")], [], [(CODES.EMPTY_CONTENT, 1)]),
    "prefill ends with a newline": ([user(), says("Sum:\n")], [], [(CODES.PREFILL_WHITESPACE, 1)]),
    "newline at the end of an earlier reply": ([user(), says("Sum:\n"), user()], [], []),
    "unsigned thinking": (
        [user(), thinks(Reasoning("Hm."), Text("Yes.")), user()],
        [],
        [(CODES.MISSING_SIGNATURE, 1)],
    ),
    "unsigned thinking before a call": (
        [user(), thinks(Reasoning("Hm."), ToolCall("a", "read", {})), result("a")],
        [],
        [(CODES.MISSING_SIGNATURE, 1)],
    ),
    "thinking after the call": (
        [user(), thinks(ToolCall("a", "read", {}), SIGNED), result("a")],
        [],
        [(CODES.THINKING_NOT_FIRST, 1), (CODES.THINKING_LAST, 1)],
    ),
    "text before thinking": (
        [user(), thinks(Text("So."), SIGNED, ToolCall("a", "read", {})), result("a")],
        [],
        [(CODES.THINKING_NOT_FIRST, 1)],
    ),
    "a summary glued to a thinking step": (
        [user(), says("Summary."), thinks(SIGNED, ToolCall("a", "read", {})), result("a")],
        [],
        [(CODES.THINKING_NOT_FIRST, 2)],
    ),
    "text before thinking in an older turn": (
        [user(), says("Summary."), thinks(SIGNED, ToolCall("a", "read", {})), result("a"), says(), user()],
        [],
        [],
    ),
    "thinking alone": (
        [user(), thinks(SIGNED), user()],
        [(CODES.EMPTY_CONTENT, 1)],
        [(CODES.THINKING_LAST, 1)],
    ),
    "thinking and a blank": (
        [user(), thinks(SIGNED, Text(" ")), user()],
        [],
        [(CODES.EMPTY_TEXT, 1), (CODES.THINKING_LAST, 1)],
    ),
}


@pytest.mark.parametrize("name", ONE_PROVIDER)
def test_rules_that_differ(name: str) -> None:
    messages, for_openai, for_anthropic = ONE_PROVIDER[name]
    assert found(messages, "openai") == for_openai
    assert found(messages, "anthropic") == for_anthropic


def reasoning_item(index: int = 1) -> Message:
    return message(Role.ASSISTANT, Reasoning("Hm.", signature="enc"), source=REASONING_ITEM, index=index)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user(), reasoning_item(), says(), user()], []),
        ([user(), reasoning_item(), calls("a"), result("a")], []),
        ([user(), reasoning_item(1), reasoning_item(2), says()], []),
        ([user(), reasoning_item(), user()], [(CODES.DANGLING_REASONING, 1)]),
        ([user(), reasoning_item()], [(CODES.DANGLING_REASONING, 1)]),
        (
            [user(), reasoning_item(1), reasoning_item(2), user()],
            [(CODES.DANGLING_REASONING, 1), (CODES.DANGLING_REASONING, 2)],
        ),
        (
            [user(), calls("a"), reasoning_item(2), result("a")],
            [(CODES.DANGLING_REASONING, 2)],
        ),
    ],
)
def test_reasoning_items(messages: list[Message], expected: list[tuple[ViolationCode, int]]) -> None:
    assert found(messages, "openai") == expected


def test_other_vendors_reasoning_is_no_thinking_block() -> None:
    chat = message(
        Role.ASSISTANT,
        Text("Yes."),
        Reasoning("Hm."),
        source={"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
    )
    assert found([user(), chat, user()], "anthropic") == []
    assert found([user(), says(), reasoning_item(), calls("a"), result("a")], "anthropic") == []


def test_an_anthropic_block_that_lost_its_signature() -> None:
    block = {"type": "thinking", "thinking": "Hm."}
    source = {"role": "assistant", "content": [block, {"type": "text", "text": "Yes."}]}
    stripped = message(Role.ASSISTANT, Reasoning("Hm."), Text("Yes."), source=source, index=7)
    assert found([user(), stripped, user()], "anthropic") == [(CODES.MISSING_SIGNATURE, 7)]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["tool_result", "tool_result", "text"], []),
        (["text", "tool_result"], [(CODES.RESULTS_NOT_FIRST, 2)]),
        (["tool_result", "text", "tool_result"], [(CODES.RESULTS_NOT_FIRST, 2)]),
    ],
)
def test_results_stand_first_in_their_object(
    kinds: list[str], expected: list[tuple[ViolationCode, int]]
) -> None:
    """Decoding puts the results of a message first, so only the caller's object tells their place."""
    source = {"role": "user", "content": [{"type": kind} for kind in kinds]}
    parts = (ToolResult("a", "ok"),)
    origin = Origin(index=2, source=source, part=0, parts=2)
    results = Message(role=Role.TOOL, parts=parts, digest=digest_of(Role.TOOL, parts), origin=origin)
    messages = [user(), calls("a"), results, user()]
    assert found(messages, "anthropic") == expected
    assert found(messages, "openai") == []


def test_index_is_the_callers() -> None:
    late = message(Role.TOOL, ToolResult("z", "ok"), source={"role": "tool"}, index=41)
    assert found([user(), late], "openai") == [(CODES.ORPHAN_RESULT, 41)]


def picture(size: int = 0, side: int | None = None) -> Message:
    source = "data:image/png;base64," + "A" * size if size else "https://example.org/a.png"
    return message(Role.USER, Image(source, width=side, height=10))


MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("messages", "for_openai", "for_anthropic"),
    [
        ([picture()] * 100, [], []),
        ([picture()] * 101, [], [(CODES.TOO_MANY_IMAGES, 100)]),
        ([picture()] * 500, [], [(CODES.TOO_MANY_IMAGES, 100)]),
        ([picture()] * 501, [(CODES.TOO_MANY_IMAGES, 500)], [(CODES.TOO_MANY_IMAGES, 100)]),
        ([picture(side=8_000)], [], []),
        ([picture(side=8_001)], [], [(CODES.IMAGE_TOO_LARGE, 0)]),
        ([picture(side=2_001), *[picture()] * 19], [], []),
        ([picture(side=2_001), *[picture()] * 20], [], [(CODES.IMAGE_TOO_LARGE, 0)]),
        ([picture(5 * MIB)], [], []),
        ([picture(5 * MIB + 1)], [], [(CODES.IMAGE_TOO_LARGE, 0)]),
        ([picture(5 * MIB)] * 7, [], [(CODES.IMAGE_PAYLOAD, 6)]),
        ([picture(5 * MIB)] * 11, [(CODES.IMAGE_PAYLOAD, 10)], [(CODES.IMAGE_PAYLOAD, 10)]),
        (
            [user(), calls("a"), message(Role.TOOL, ToolResult("a", "", media=(Image("s", width=9_000),)))],
            [],
            [(CODES.IMAGE_TOO_LARGE, 2)],
        ),
    ],
)
def test_image_limits(
    messages: list[Message],
    for_openai: list[tuple[ViolationCode, int]],
    for_anthropic: list[tuple[ViolationCode, int]],
) -> None:
    assert found(messages, "openai") == for_openai
    assert found(messages, "anthropic") == for_anthropic


def test_each_violation_says_what_to_do() -> None:
    cases = [case[0] for case in BROKEN_FOR_BOTH.values()] + [case[0] for case in ONE_PROVIDER.values()]
    violations = [v for case in cases for provider in Provider for v in lint_messages(case, provider)]
    assert all(isinstance(violation, Violation) and "; " in violation.message for violation in violations)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ConfigError, match="openai, anthropic") as caught:
        lint_messages([user()], "gemini")
    assert caught.value.path == "provider"


def test_input_is_not_touched() -> None:
    messages = [user(), calls("a"), user(), result("a")]
    before = list(messages)
    lint_messages(messages, "openai")
    assert messages == before
