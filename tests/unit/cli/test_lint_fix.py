"""`compact lint --fix` answers a call that nobody answered, in every format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compact.console.exits import ExitCode
from support.cli import Compact

ASKED, SAID = {"role": "user", "content": "Look."}, {"role": "user", "content": "Never mind."}
NO_RESULT = "[No result: the call was interrupted]"


def _chat_call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def _ui(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [{"type": "tool-look", "input": {}, **call} for call in calls]
    asked = {"id": "m0", "role": "user", "parts": [{"type": "text", "text": "Look."}]}
    said = {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "Never mind."}]}
    return [asked, {"id": "m1", "role": "assistant", "parts": [{"type": "step-start"}, *parts]}, said]


def _unanswered() -> dict[str, tuple[list[Any], list[Any]]]:
    """For each format a conversation in which the second of two calls has no result, and its repair."""
    chat = [ASKED, {"role": "assistant", "content": None, "tool_calls": [_chat_call("a"), _chat_call("b")]}]
    seen = {"role": "tool", "tool_call_id": "a", "content": "seen"}
    items = [
        ASKED,
        *({"type": "function_call", "call_id": i, "name": "look", "arguments": "{}"} for i in "ab"),
    ]
    output = {"type": "function_call_output", "call_id": "a", "output": "seen"}
    uses = [{"type": "tool_use", "id": call_id, "name": "look", "input": {}} for call_id in "ab"]
    blocks = [ASKED, {"role": "assistant", "content": uses}]
    block = {"type": "tool_result", "tool_use_id": "a", "content": "seen"}
    ours = {"type": "tool_result", "tool_use_id": "b", "content": NO_RESULT, "is_error": True}
    rest = {"type": "text", "text": "Never mind."}
    calls = [{"type": "tool-call", "toolCallId": i, "toolName": "look", "input": {}} for i in "ab"]
    model = [ASKED, {"role": "assistant", "content": calls}]
    results = [
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": i, "toolName": "look", "output": said}],
        }
        for i, said in (
            ("a", {"type": "text", "value": "seen"}),
            ("b", {"type": "error-text", "value": NO_RESULT}),
        )
    ]
    done = {"toolCallId": "a", "state": "output-available", "output": "seen"}
    return {
        "openai-chat": (
            [*chat, seen, SAID],
            [*chat, {"role": "tool", "tool_call_id": "b", "content": NO_RESULT}, seen, SAID],
        ),
        "openai-responses": (
            [*items, output, SAID],
            [*items, {"type": "function_call_output", "call_id": "b", "output": NO_RESULT}, output, SAID],
        ),
        "anthropic": (
            [*blocks, {"role": "user", "content": [block, rest]}],
            [*blocks, {"role": "user", "content": [ours, block, rest]}],
        ),
        "ai-sdk-model": ([*model, results[0], SAID], [*model, results[1], results[0], SAID]),
        "ai-sdk-ui": (
            _ui(done, {"toolCallId": "b", "state": "input-available"}),
            _ui(done, {"toolCallId": "b", "state": "output-error", "errorText": NO_RESULT}),
        ),
    }


UNANSWERED = _unanswered()


@pytest.mark.parametrize("name", UNANSWERED)
def test_fix_answers_a_call_that_nobody_answered(compact: Compact, name: str) -> None:
    given, expected = UNANSWERED[name]
    ended = compact("lint", "--fix", stdin=json.dumps(given))
    assert "unanswered-call" in ended.err and ended.code == ExitCode.OK
    assert json.loads(ended.out) == expected
    assert compact("lint", "--format", name, stdin=ended.out).code == ExitCode.OK


def test_an_output_whose_call_is_a_reference_stays(compact: Compact) -> None:
    items = [
        {"role": "user", "content": "Go."},
        {"type": "item_reference", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]
    ended = compact("lint", "--fix", stdin=json.dumps(items))
    assert ended.code == 0 and json.loads(ended.out) == items
    body = {"previous_response_id": "resp_1", "input": items[2:]}
    assert compact("lint", stdin=json.dumps(body)).code == 0


def test_the_bodys_model_decides_where_models_differ(compact: Compact) -> None:
    talk = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "{"}]
    for model, code in (("claude-opus-4-6", 1), ("claude-haiku-4-5", 0)):
        body = json.dumps({"model": model, "messages": talk})
        assert compact("lint", "--format", "anthropic", stdin=body).code == code


def test_a_body_of_plain_messages_is_checked_for_its_models_provider(compact: Compact) -> None:
    talk = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "On."}]
    for model, code in (("claude-sonnet-4-5", 1), ("gpt-4o", 0)):
        body = json.dumps({"model": model, "messages": [*talk, {"role": "user", "content": ""}]})
        assert compact("lint", stdin=body).code == code


def test_the_rules_are_listed(compact: Compact) -> None:
    listed = compact("lint", "--rules")
    assert listed.code == 0 and len(listed.out.splitlines()) > 109
    assert compact("lint", "--rules", "--json").json["rules"][0]["api"] == "chat"
