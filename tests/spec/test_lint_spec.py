"""S2.20 at the wire: what a provider would refuse is seen in every format, and mended where that is safe."""

from __future__ import annotations

from typing import Any

import pytest

from compact import lint
from compact.core.lint import ViolationCode, fix_messages, lint_messages
from compact.formats import by_name, decode_all

CODES = ViolationCode


def chat_step(*ids: str) -> list[dict[str, Any]]:
    calls = [{"id": at, "type": "function", "function": {"name": "read", "arguments": "{}"}} for at in ids]
    results = [{"role": "tool", "tool_call_id": at, "content": "ok"} for at in ids]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def responses_step(*ids: str) -> list[dict[str, Any]]:
    thought = {"type": "reasoning", "id": "rs_" + ids[0], "summary": []}
    calls = [{"type": "function_call", "call_id": at, "name": "read", "arguments": "{}"} for at in ids]
    return [thought, *calls, *[{"type": "function_call_output", "call_id": at, "output": "ok"} for at in ids]]


def anthropic_step(*ids: str) -> list[dict[str, Any]]:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    calls = [{"type": "tool_use", "id": at, "name": "read", "input": {}} for at in ids]
    results = [{"type": "tool_result", "tool_use_id": at, "content": "ok"} for at in ids]
    return [{"role": "assistant", "content": [thought, *calls]}, {"role": "user", "content": results}]


def model_step(*ids: str) -> list[dict[str, Any]]:
    calls = [{"type": "tool-call", "toolCallId": at, "toolName": "read", "input": {}} for at in ids]
    value = {"type": "text", "value": "ok"}
    results = [{"type": "tool-result", "toolCallId": at, "toolName": "read", "output": value} for at in ids]
    return [{"role": "assistant", "content": calls}, {"role": "tool", "content": results}]


STEPS = {
    "openai-chat": chat_step,
    "openai-responses": responses_step,
    "anthropic": anthropic_step,
    "ai-sdk-model": model_step,
}
GO = {"role": "user", "content": "Go on."}


def codes(messages: list[Any], provider: str, format: str) -> list[ViolationCode]:
    return [violation.code for violation in lint(messages, provider, format=format)]


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("format", STEPS)
def test_sound(format: str, provider: str) -> None:
    step = STEPS[format]
    messages = [GO, *step("a", "b"), *step("c"), GO]
    assert lint(messages, provider, format=format) == []


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("format", STEPS)
def test_a_cut_through_a_tool_pair_is_seen(format: str, provider: str) -> None:
    step = STEPS[format]("a", "b")
    results = [item for item in step if "tool_result" in str(item) or item.get("role") == "tool"]
    results = results or [item for item in step if item.get("type") == "function_call_output"]
    calling = [item for item in step if item not in results]
    assert CODES.ORPHAN_RESULT in codes([GO, *results], provider, format)
    assert CODES.UNANSWERED_CALL in codes([*[GO], *calling, GO], provider, format)
    assert CODES.CALL_IN_PROGRESS in codes([GO, *calling], provider, format)


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("format", STEPS)
def test_a_mended_conversation_goes_out_in_its_own_format(format: str) -> None:
    wire = by_name(format)
    step = STEPS[format]
    orphans = [item for item in step("z") if item.get("role") in ("tool", "user") or "output" in item]
    messages = [GO, *step("a"), *orphans, GO, *step("c")]
    repaired, fixed = fix_messages(decode_all(messages, wire), wire.provider)
    assert [violation.code for violation in fixed] == [CODES.ORPHAN_RESULT]
    encoded = wire.encode(repaired)
    assert encoded == [message for message in messages if message not in orphans]
    assert lint_messages(decode_all(encoded, wire), wire.provider) == []


@pytest.mark.spec("S2.20")
def test_roles_as_the_provider_demands() -> None:
    hello = {"role": "assistant", "content": "Hello!"}
    assert codes([hello, GO], "anthropic", "openai-chat") == [CODES.FIRST_ROLE]
    assert codes([hello, GO], "openai", "openai-chat") == []
    late = [GO, {"role": "developer", "content": "Be brief."}, GO]
    assert codes(late, "anthropic", "openai-chat") == [CODES.SYSTEM_POSITION]
    assert codes(late, "openai", "openai-chat") == []


@pytest.mark.spec("S2.20")
def test_thinking_stays_with_its_call() -> None:
    thought, call = anthropic_step("a")[0]["content"]
    result = anthropic_step("a")[1]
    unsigned = {key: value for key, value in thought.items() if key != "signature"}
    turned = [GO, {"role": "assistant", "content": [call, thought]}, result]
    assert codes(turned, "anthropic", "anthropic") == [CODES.THINKING_NOT_FIRST, CODES.THINKING_LAST]
    stripped = [GO, {"role": "assistant", "content": [unsigned, call]}, result]
    assert codes(stripped, "anthropic", "anthropic") == [CODES.MISSING_SIGNATURE]
    dangling = [GO, responses_step("a")[0], GO]
    assert codes(dangling, "openai", "openai-responses") == [CODES.DANGLING_REASONING]


@pytest.mark.spec("S2.20")
def test_text_before_a_result_in_an_anthropic_message() -> None:
    asked, answered = anthropic_step("a")
    answered["content"].insert(0, {"type": "text", "text": "Here it is:"})
    assert codes([GO, asked, answered], "anthropic", "anthropic") == [CODES.RESULTS_NOT_FIRST]
