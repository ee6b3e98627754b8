"""What the lint repairs, and that it leaves the rest alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.core.lint import Provider, ViolationCode, fix_messages, lint_messages
from compact.core.lint.fix import FIRST_USER_LINE, NO_RESULT
from compact.model.message import (
    Message,
    MessageKind,
    Origin,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    digest_of,
)


def message(role: Role, *parts: Part) -> Message:
    return Message(role=role, parts=parts, digest=digest_of(role, parts))


def user(text: str = "Go on.") -> Message:
    return message(Role.USER, Text(text))


def says(text: str = "Done.") -> Message:
    return message(Role.ASSISTANT, Text(text))


def calls(*ids: str) -> Message:
    return message(Role.ASSISTANT, *[ToolCall(call_id, "read", "{}") for call_id in ids])


def chat_calls(*ids: str) -> Message:
    """Calls as a chat message holds them: no provider joins it to the next one in this format."""
    origin = Origin(index=0, source={"tool_calls": list(ids)})
    return replace(calls(*ids), origin=origin)


def result(*ids: str) -> Message:
    return message(Role.TOOL, *[ToolResult(call_id, f"of {call_id}") for call_id in ids])


def shape(messages: list[Message]) -> list[str]:
    """One word a message: role and what it holds."""

    def word(part: Part) -> str:
        match part:
            case ToolCall(call_id=call_id):
                return f"call-{call_id}"
            case ToolResult(call_id=call_id):
                return f"result-{call_id}"
            case Text(text=text):
                return text
        return type(part).__name__

    return [f"{m.role}:{','.join(word(part) for part in m.parts)}" for m in messages]


GO = "user:Go on."
REPAIRS: dict[str, tuple[list[Message], list[str]]] = {
    "orphan result": ([user(), result("z"), says()], [GO, "assistant:Done."]),
    "orphan in a message with others": (
        [user(), calls("a"), result("a", "z")],
        [GO, "assistant:call-a", "tool:result-a"],
    ),
    "duplicate result": (
        [user(), calls("a"), result("a"), result("a"), user()],
        [GO, "assistant:call-a", "tool:result-a", GO],
    ),
    "displaced result": (
        [user(), calls("a"), user("Wait."), result("a")],
        [GO, "assistant:call-a", "tool:result-a", "user:Wait."],
    ),
    "displaced result in a message with others": (
        [user(), calls("a", "b"), result("a"), calls("c"), result("c", "b")],
        [
            GO,
            "assistant:call-a,call-b",
            "tool:result-b",
            "tool:result-a",
            "assistant:call-c",
            "tool:result-c",
        ],
    ),
    "text before the result in one message": (
        [user(), calls("a"), message(Role.USER, Text("Here:"), ToolResult("a", "ok"))],
        [GO, "assistant:call-a", "user:result-a", "user:Here:"],
    ),
    "result before its call": (
        [user(), result("a"), calls("a"), user()],
        [GO, "assistant:call-a", "tool:result-a", GO],
    ),
    "result before its call, and one after": (
        [user(), result("a"), calls("a"), result("a")],
        [GO, "assistant:call-a", "tool:result-a"],
    ),
    "unanswered call": (
        [user(), calls("a", "b"), result("b"), user()],
        [GO, "assistant:call-a,call-b", "tool:result-a", "tool:result-b", GO],
    ),
    "empty message inside a group": (
        [user(), calls("a"), message(Role.USER), result("a")],
        [GO, "assistant:call-a", "tool:result-a"],
    ),
}


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("name", REPAIRS)
def test_repaired_for_both(name: str, provider: Provider) -> None:
    broken, expected = REPAIRS[name]
    before = list(broken)
    repaired, fixed = fix_messages(broken, provider)
    assert shape(repaired) == expected
    assert fixed and all(violation.fixable for violation in fixed)
    assert lint_messages(repaired, provider) == []
    assert broken == before


IN_CHAT_FORMAT: dict[str, tuple[list[Message], list[str]]] = {
    "unanswered call before another": (
        [user(), chat_calls("a"), chat_calls("b"), result("b"), user()],
        [GO, "assistant:call-a", "tool:result-a", "assistant:call-b", "tool:result-b", GO],
    ),
    "unanswered call between others": (
        [user(), chat_calls("a"), chat_calls("b"), chat_calls("c"), result("a"), result("c"), user()],
        [
            GO,
            *("assistant:call-a", "tool:result-a"),
            *("assistant:call-b", "tool:result-b"),
            *("assistant:call-c", "tool:result-c"),
            GO,
        ],
    ),
    "unanswered calls in two of three messages": (
        [
            user(),
            chat_calls("a", "b"),
            chat_calls("c"),
            chat_calls("d", "e"),
            result("c"),
            result("e"),
            user(),
        ],
        [
            GO,
            *("assistant:call-a,call-b", "tool:result-a", "tool:result-b"),
            *("assistant:call-c", "tool:result-c"),
            *("assistant:call-d,call-e", "tool:result-d", "tool:result-e"),
            GO,
        ],
    ),
    "unanswered call before an answer": (
        [user(), chat_calls("a"), says(), user()],
        [GO, "assistant:call-a", "tool:result-a", "assistant:Done.", GO],
    ),
    "displaced result": (
        [user(), chat_calls("a"), chat_calls("b"), result("b"), user("Wait."), result("a")],
        [GO, "assistant:call-a", "tool:result-a", "assistant:call-b", "tool:result-b", "user:Wait."],
    ),
}


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("name", IN_CHAT_FORMAT)
def test_a_chat_call_is_answered_right_after_it_whoever_it_is_repaired_for(
    name: str, provider: Provider
) -> None:
    broken, expected = IN_CHAT_FORMAT[name]
    repaired, _ = fix_messages(broken, provider)
    assert shape(repaired) == expected
    assert [lint_messages(repaired, each) for each in Provider] == [[], []]


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("together", [True, False])
def test_chat_calls_with_any_results_missing_are_repaired_for_both(
    together: bool, provider: Provider
) -> None:
    for count in range(5):
        for present in permutations("abcde", count):
            results = [result(*present)] if together and present else [result(each) for each in present]
            asking = [chat_calls("a", "b"), chat_calls("c"), chat_calls("d", "e")]
            repaired, _ = fix_messages([user(), *asking, *results, user()], provider)
            assert [lint_messages(repaired, each) for each in Provider] == [[], []], present
            given = [part for one in repaired for part in one.parts if isinstance(part, ToolResult)]
            kept = {part.call_id for part in given if part.text == f"of {part.call_id}"}
            assert len(given) == 5 and kept == set(present)


ANTHROPIC_ONLY: dict[str, tuple[list[Message], list[str]]] = {
    "assistant first": ([says(), user()], [f"user:{FIRST_USER_LINE}", "assistant:Done.", GO]),
    "assistant first, after the system prompt": (
        [message(Role.SYSTEM, Text("S")), says(), user()],
        ["system:S", f"user:{FIRST_USER_LINE}", "assistant:Done.", GO],
    ),
    "an empty message hid it": (
        [user(" "), says(), user()],
        [f"user:{FIRST_USER_LINE}", "assistant:Done.", GO],
    ),
    "empty block": (
        [user(), message(Role.ASSISTANT, Text(""), ToolCall("a", "read", {})), result("a")],
        [GO, "assistant:call-a", "tool:result-a"],
    ),
    "prefill": ([user(), says("So:\n\n")], [GO, "assistant:So:"]),
}


@pytest.mark.parametrize("name", ANTHROPIC_ONLY)
def test_repaired_for_anthropic(name: str) -> None:
    broken, expected = ANTHROPIC_ONLY[name]
    repaired, _ = fix_messages(broken, "anthropic")
    assert shape(repaired) == expected
    assert lint_messages(repaired, "anthropic") == []
    untouched, fixed = fix_messages(broken, "openai")
    assert fixed == [] and untouched == broken


def test_a_dangling_reasoning_item_is_dropped() -> None:
    parts = (Reasoning("Hm.", signature="enc"),)
    item = Message(
        role=Role.ASSISTANT,
        parts=parts,
        digest=digest_of(Role.ASSISTANT, parts),
        origin=Origin(index=1, source={"type": "reasoning"}),
    )
    repaired, fixed = fix_messages([user(), item, user()], "openai")
    assert shape(repaired) == [GO, GO]
    assert [violation.code for violation in fixed] == [ViolationCode.DANGLING_REASONING]


def test_the_added_result_is_ours_and_says_so() -> None:
    repaired, _ = fix_messages([user(), calls("a"), user()], "openai")
    added = repaired[2]
    assert added.origin is None and added.kind is MessageKind.BRIDGE and added.role is Role.TOOL
    assert added.parts == (ToolResult("a", NO_RESULT, name="read", is_error=True),)
    assert added.digest == digest_of(Role.TOOL, added.parts)


def test_untouched_messages_are_the_same_objects() -> None:
    broken = [user(), calls("a"), user("Wait."), result("a"), says(), result("z")]
    repaired, _ = fix_messages(broken, "openai")
    assert [id(m) for m in repaired] == [id(broken[n]) for n in (0, 1, 3, 2, 4)]


def test_a_result_taken_out_of_a_message_keeps_its_origin() -> None:
    parts = (Text("Here:"), ToolResult("a", "ok"))
    origin = Origin(index=2, source={"role": "user"})
    mixed = Message(role=Role.USER, parts=parts, digest=digest_of(Role.USER, parts), origin=origin)
    repaired, _ = fix_messages([user(), calls("a"), mixed], "anthropic")
    assert [m.parts for m in repaired[2:]] == [(parts[1],), (parts[0],)]
    assert all(m.origin is origin and m.changed for m in repaired[2:])


def test_a_changed_message_is_marked_for_rebuilding() -> None:
    broken = [user(), calls("a"), result("a", "z")]
    repaired, _ = fix_messages(broken, "openai")
    assert repaired[2].changed and not broken[2].changed


NOT_REPAIRED: dict[ViolationCode, list[Message]] = {
    ViolationCode.NO_MESSAGES: [],
    ViolationCode.CALL_IN_PROGRESS: [user(), calls("a")],
    ViolationCode.DUPLICATE_CALL: [user(), calls("a", "a"), result("a")],
    ViolationCode.SYSTEM_POSITION: [user(), message(Role.SYSTEM, Text("S")), user()],
    ViolationCode.MISSING_SIGNATURE: [
        user(),
        message(Role.ASSISTANT, Reasoning("Hm."), Text("Yes.")),
        user(),
    ],
}


@pytest.mark.parametrize("code", NOT_REPAIRED)
def test_what_no_one_can_repair_safely_stays(code: ViolationCode) -> None:
    broken = NOT_REPAIRED[code]
    repaired, fixed = fix_messages(broken, "anthropic")
    assert repaired == broken and fixed == []
    assert code in [violation.code for violation in lint_messages(repaired, "anthropic")]


PIECES = [
    user(),
    user(""),
    says(),
    says(" "),
    says("So:\n"),
    message(Role.USER),
    message(Role.USER, Text("Here:"), ToolResult("a", "ok"), Text(""), ToolResult("b", "ok")),
    calls("a", "b"),
    calls("c"),
    calls("d"),
    chat_calls("a", "b"),
    chat_calls("c"),
    result("a"),
    result("b"),
    result("c", "a"),
    result("z"),
]


@pytest.mark.parametrize("provider", Provider)
@given(mess=st.lists(st.sampled_from(PIECES), max_size=12))
def test_nothing_fixable_is_left_of_any_mess(mess: list[Message], provider: Provider) -> None:
    """Shuffled, doubled and torn conversations: one call repairs all that can be, a second does nothing."""
    repaired, _ = fix_messages(mess, provider)
    left = lint_messages(repaired, provider)
    assert [violation for violation in left if violation.fixable] == []
    again, fixed = fix_messages(repaired, provider)
    assert fixed == [] and again == repaired


def test_a_blank_message_before_thinking_gets_a_line_instead_of_going() -> None:
    thinking = message(Role.ASSISTANT, Reasoning("It rains.", signature="s"), ToolCall("a", "read", "{}"))
    given = [user(), says(), user("  "), thinking, message(Role.TOOL, ToolResult("a", "wet"))]
    out, fixed = fix_messages(given, Provider.ANTHROPIC)
    assert [violation.code for violation in fixed] == [ViolationCode.EMPTY_CONTENT]
    assert lint_messages(out, Provider.ANTHROPIC) == []
    assert out[2].text == FIRST_USER_LINE and out[3] is thinking and len(out) == 5
