"""Results of our own for calls that nobody answered."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from compact.core.lint import fix_messages, lint_messages
from compact.errors import FormatError
from compact.formats import by_name, decode_all
from compact.model.message import Message, Role, ToolResult, digest_of

NO_RESULT = "[No result: the call was interrupted]"
ASKED: dict[str, Any] = {"role": "user", "content": "Look."}


def repaired(name: str, items: list[Any]) -> list[Any]:
    """What goes out after the repair; it is sound, also when it is read again, and the input is untouched."""
    format, before = by_name(name), copy.deepcopy(items)
    fixed, _ = fix_messages(decode_all(items, format), format.provider)
    encoded = format.encode(fixed)
    assert items == before
    assert lint_messages(decode_all(encoded, format), format.provider) == []
    return encoded


def uses(*call_ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": call_id, "name": "look", "input": {}} for call_id in call_ids]
    return {"role": "assistant", "content": blocks}


def results(*call_ids: str, **fields: Any) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": "seen"} for call_id in call_ids]
    return {"role": "user", "content": blocks, **fields}


def call_ids(message: dict[str, Any]) -> list[str]:
    return [block["tool_use_id"] for block in message["content"]]


def test_anthropic_gets_the_results_of_a_group_in_one_message() -> None:
    thanks = {"role": "user", "content": "Thanks."}
    _, _, answers, rest = repaired("anthropic", [ASKED, uses("a", "b"), thanks])
    assert call_ids(answers) == ["a", "b"] and rest is thanks

    _, _, answers, _, _ = repaired(
        "anthropic", [ASKED, uses("a", "b"), results("a", id="m1"), uses("c"), results("c")]
    )
    assert call_ids(answers) == ["b", "a"] and answers["id"] == "m1"


def test_a_displaced_result_and_one_of_ours_stand_together() -> None:
    say = {"role": "user", "content": "Well?"}
    late = results("a")
    _, _, answers, rest, _ = repaired("anthropic", [ASKED, uses("a", "b"), say, late, say])
    assert call_ids(answers) == ["a", "b"] and rest is say


def test_legacy_functions_answer_by_name() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    _, _, answer, _ = repaired("openai-chat", [ASKED, call, ASKED])
    assert answer == {"role": "function", "name": "look", "content": NO_RESULT}


def ui_call(call_id: str, state: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool-look", "toolCallId": call_id, "state": state, "input": {}, **fields}


def test_a_ui_message_stays_one_message() -> None:
    steps = [
        {"type": "step-start"},
        ui_call("a", "input-available"),
        ui_call("b", "output-available", output="seen"),
        {"type": "step-start"},
        {"type": "text", "text": "Done."},
    ]
    said = {"id": "m2", "role": "assistant", "parts": steps}
    asked = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Look."}]}
    _, out = repaired("ai-sdk-ui", [asked, said])
    answered = ui_call("a", "output-error", errorText=NO_RESULT)
    assert out == {**said, "parts": [steps[0], answered, *steps[2:]]}


@pytest.mark.parametrize(
    ("approval", "kept"),
    [({"id": "p"}, {}), ({"id": "p", "approved": True}, {"approval": {"id": "p", "approved": True}})],
)
def test_a_ui_call_that_waited_for_approval(approval: dict[str, Any], kept: dict[str, Any]) -> None:
    waiting = ui_call("a", "approval-requested", approval=approval)
    asked = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Look."}]}
    _, out, _ = repaired("ai-sdk-ui", [asked, {"id": "m2", "role": "assistant", "parts": [waiting]}, asked])
    assert out["parts"] == [ui_call("a", "output-error", errorText=NO_RESULT, **kept)]


@pytest.mark.parametrize("name", ["openai-chat", "ai-sdk-ui"])
def test_a_result_of_ours_needs_its_call(name: str) -> None:
    parts = (ToolResult("a", NO_RESULT),)
    with pytest.raises(FormatError, match="no message before it makes that call"):
        by_name(name).encode([Message(Role.TOOL, parts, digest_of(Role.TOOL, parts))])
