"""Session files of coding agents are read as the conversation they hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compact import lint
from compact.console.files import parse
from compact.errors import FormatError
from compact.formats import recognize
from compact.formats.session_files import read_session_file


def claude(kind: str, message: Any, **more: Any) -> dict[str, Any]:
    about = {"parentUuid": None, "sessionId": "s", "cwd": "/x", "timestamp": "2026-01-01T00:00:00Z"}
    return {
        **about,
        "isSidechain": False,
        "type": kind,
        "message": message,
        "uuid": f"u{id(message)}",
        **more,
    }


def reply(block: dict[str, Any], identity: str = "msg_1") -> dict[str, Any]:
    return {"id": identity, "type": "message", "role": "assistant", "model": "claude-x", "content": [block]}


def result(call: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]}


CLAUDE_CODE = [
    {"type": "summary", "summary": "Fix it", "leafUuid": "u"},
    claude("user", {"role": "user", "content": "Fix the test."}),
    claude("assistant", reply({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})),
    claude("assistant", reply({"type": "tool_use", "id": "t1", "name": "read", "input": {}})),
    claude("user", result("t1")),
    claude("assistant", reply({"type": "tool_use", "id": "t2", "name": "read", "input": {}})),
    claude("user", result("t2")),
    claude("assistant", reply({"type": "text", "text": "side"}, "msg_9"), isSidechain=True),
    {"type": "file-history-snapshot", "snapshot": {}},
    claude("assistant", {**reply({"type": "text", "text": "API Error"}, "msg_e"), "model": "<synthetic>"}),
    claude("assistant", reply({"type": "text", "text": "Done."}, "msg_2")),
]
CODEX = [
    {"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "instructions": "Be brief."}},
    {"timestamp": "t", "type": "turn_context", "payload": {"model": "gpt-5-codex", "cwd": "/x"}},
    {"timestamp": "t", "type": "event_msg", "payload": {"type": "user_message", "message": "Hi."}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
    },
    {"type": "response_item", "payload": {"type": "ghost_snapshot", "commit": "c"}},
    {"type": "response_item", "payload": {"type": "reasoning", "id": "rs_1", "summary": []}},
    {
        "type": "response_item",
        "payload": {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c1", "output": "ok"}},
]


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_claude_code() -> None:
    [conversation] = parse(lines(CLAUDE_CODE), "x").conversations
    assert conversation.model == "claude-x"
    assert [message["role"] for message in conversation.messages] == [
        "user",
        "assistant",
        "user",
        "user",
        "assistant",
    ]
    kinds = [block["type"] for block in conversation.messages[1]["content"]]
    assert kinds == ["thinking", "tool_use", "tool_use"]
    assert recognize(conversation.messages).name == "anthropic"
    # The last message is the assistant's: that alone some models refuse.
    assert [found.code for found in lint(conversation.messages[:-1], "anthropic")] == []
    assert CLAUDE_CODE[3]["message"]["content"] == [
        {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    ]


def test_codex() -> None:
    [conversation] = parse(lines(CODEX), "x").conversations
    assert (conversation.model, conversation.system) == ("gpt-5-codex", "Be brief.")
    assert [item["type"] for item in conversation.messages] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert recognize(conversation.messages).name == "openai-responses"


def test_messages_and_items_are_no_session_file() -> None:
    assert read_session_file([]) is None
    assert read_session_file([{"role": "user", "content": "x"}]) is None
    assert read_session_file([{"type": "function_call_output", "call_id": "c", "output": ""}]) is None


def test_gemini_body() -> None:
    body = {
        "model": "gemini-x",
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi."}]}],
    }
    [conversation] = parse(json.dumps(body), "x").conversations
    assert conversation.system == [{"text": "Be brief."}] and conversation.model == "gemini-x"
    assert recognize(conversation.messages).name == "gemini"


def test_a_body_names_the_model_that_counts_unless_the_bodies_differ() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi."}]}
    assert parse(json.dumps(body), "x").model == "gpt-4o"
    assert parse(lines([body, {**body, "model": "o3"}]), "x").model is None


def test_a_file_of_another_kind_is_refused_with_the_list_to_pass() -> None:
    with pytest.raises(FormatError, match="pass its 'output'"):
        parse(json.dumps({"object": "response", "output": [{"type": "message", "role": "assistant"}]}), "x")
