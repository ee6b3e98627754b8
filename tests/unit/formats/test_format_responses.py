"""OpenAI Responses items: calls and outputs by call id, everything else as it is."""

from __future__ import annotations

from typing import Any

import pytest

from compact.errors import FormatError, MalformedMessage
from compact.formats import by_name, decode_all
from compact.formats.media import read_note
from compact.model.message import Image, Opaque, Reasoning, Role, Text, ToolCall, ToolResult, with_parts
from compact.testing.formats import CLEARED, cleared
from unit.formats.samples import PNG, responses

FORMAT = by_name("openai-responses")


def decode(item: Any) -> Any:
    (message,) = FORMAT.decode(item, 0)
    return message


def by_type(kind: str) -> dict[str, Any]:
    return next(item for item in responses() if item.get("type") == kind)


def test_reasoning_is_signed_by_its_encrypted_content_or_its_id() -> None:
    item = by_type("reasoning")
    assert decode(item).parts == (Reasoning("Look at both.", "gAAAA"),)
    del item["encrypted_content"]
    assert decode(item).parts == (Reasoning("Look at both.", "rs_1"),)


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [
        ("function_call", "look", '{"at": 1}'),
        ("custom_tool_call", "grep", "needle"),
        ("computer_call", "computer", {"type": "screenshot"}),
        ("shell_call", "shell", {"commands": ["make"]}),
        ("apply_patch_call", "apply_patch", {"type": "delete_file", "path": "x.c"}),
        ("mcp_approval_request", "send", "{}"),
    ],
)
def test_calls(kind: str, name: str, arguments: Any) -> None:
    message = decode(by_type(kind))
    assert message.role is Role.ASSISTANT
    assert [(call.name, call.arguments) for call in message.calls] == [(name, arguments)]


@pytest.mark.parametrize(
    ("kind", "text", "is_error"),
    [
        ("function_call_output", "a cat " * 40, False),
        ("custom_tool_call_output", "12 hits", False),
        ("shell_call_output", "cc main.c\nerror: x", True),
        ("apply_patch_call_output", "no such file", True),
        ("local_shell_call_output", "a.txt", False),
        ("mcp_approval_response", "", False),
    ],
)
def test_outputs(kind: str, text: str, is_error: bool) -> None:
    message = decode(by_type(kind))
    assert message.role is Role.TOOL
    assert [(result.text, result.is_error) for result in message.results] == [(text, is_error)]


def test_a_cleared_screenshot_is_a_picture_that_says_so() -> None:
    message = decode(by_type("computer_call_output"))
    assert isinstance(message.results[0].media[0], Image)
    (encoded,) = FORMAT.encode([cleared(message)])
    assert encoded["output"]["type"] == "computer_screenshot"
    assert read_note(encoded["output"]["image_url"]) == CLEARED
    assert decode(encoded).results[0].text == CLEARED


def test_a_cleared_shell_output_still_tells_that_it_failed() -> None:
    (encoded,) = FORMAT.encode([cleared(decode(by_type("shell_call_output")))])
    assert encoded["output"] == [
        {"stdout": CLEARED, "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}
    ]


def test_hosted_tools_and_references_stay_opaque() -> None:
    search = decode(by_type("web_search_call")).parts[0]
    assert isinstance(search, Opaque) and search.type == "web_search_call" and "ws_1" not in search.text
    assert "msg_9" in decode(by_type("item_reference")).parts[0].text
    assert decode({"id": "msg_9"}).parts == decode({"id": "msg_9", "type": "item_reference"}).parts


HOSTED = [
    (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "s",
            "name": "get",
            "arguments": "{}",
            "output": "x",
        },
        "get",
        "x",
    ),
    (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "s",
            "name": "get",
            "arguments": "{}",
            "error": "no",
        },
        "get",
        "no",
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "container_id": "k",
            "code": "print(1)",
            "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": "https://x/y.png"}],
        },
        "code_interpreter",
        "1",
    ),
    (
        {
            "type": "file_search_call",
            "id": "fs_1",
            "queries": ["q"],
            "results": [{"filename": "a.md", "text": "port 8443", "score": 0.9}, {"text": "none"}],
        },
        "file_search",
        "a.md:\nport 8443\nnone",
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "result": PNG, "status": "completed"},
        "image_generation",
        "",
    ),
    (
        {"type": "oracle_call", "id": "or_1", "question": "q", "result": {"answer": 42}},
        "oracle",
        '{"answer":42}',
    ),
]


@pytest.mark.parametrize(("item", "name", "text"), HOSTED)
def test_a_hosted_tool_that_carries_output_is_a_call_and_its_result(
    item: dict[str, Any], name: str, text: str
) -> None:
    call, result = decode_all([item], FORMAT)
    assert (call.role, result.role) == (Role.ASSISTANT, Role.TOOL)
    assert call.calls[0].name == name and result.results[0].text == text
    assert call.calls[0].call_id == result.results[0].call_id == item["id"]
    assert FORMAT.encode([call, result])[0] is item
    (encoded,) = FORMAT.encode([call, cleared(result)])
    assert {key: encoded.get(key) for key in ("type", "id")} == {key: item[key] for key in ("type", "id")}
    assert [found.text for message in decode_all([encoded], FORMAT) for found in message.results] == [CLEARED]


def test_a_hosted_tool_without_output_stays_opaque() -> None:
    assert isinstance(decode({"type": "file_search_call", "id": "fs_1", "queries": []}).parts[0], Opaque)


def test_kinds_that_came_later_still_pair_by_call_id() -> None:
    asked = decode({"type": "robot_call", "call_id": "r1", "move": "left"})
    answer = decode({"type": "robot_call_output", "call_id": "r1", "output": "moved"})
    assert asked.parts == (ToolCall("r1", "robot", {"move": "left"}),)
    assert answer.parts == (ToolResult("r1", "moved"),)
    assert isinstance(decode({"type": "weather", "sky": "blue"}).parts[0], Opaque)


def test_tool_definitions_found_by_search_are_never_cleared() -> None:
    item = {"type": "tool_search_output", "call_id": "t1", "tools": [{"type": "function", "name": "f"}]}
    message = decode(item)
    assert message.results[0].call_id == "t1"
    assert FORMAT.encode([cleared(message)]) == [item]
    assert isinstance(decode({**item, "call_id": None}).parts[0], Opaque)


def test_easy_and_full_messages_read_alike() -> None:
    easy = decode({"role": "user", "content": "Hi"})
    full = decode({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]})
    assert easy.digest == full.digest


def test_text_added_to_a_reply_has_the_type_of_a_reply() -> None:
    message = decode(
        by_type("message") | {"role": "assistant", "content": [{"type": "output_text", "text": "A"}]}
    )
    (encoded,) = FORMAT.encode([with_parts(message, (Text("A"), Text("B")))])
    assert encoded["content"][1] == {"type": "output_text", "text": "B", "annotations": []}


def test_text_cannot_be_added_to_a_call() -> None:
    message = decode(by_type("function_call"))
    with pytest.raises(FormatError, match="function_call"):
        FORMAT.encode([with_parts(message, (*message.parts, Text("x")))])


def test_an_incomplete_item_says_so() -> None:
    assert decode({**by_type("function_call"), "status": "incomplete"}).finish_reason == "incomplete"
    assert decode(by_type("function_call")).finish_reason is None


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"content": "x"}, "no role and no type"),
        ({"type": 5}, "unknown type 5"),
        ({"type": "input_text", "text": "x"}, "the type of a content part"),
        ({"role": "tool", "content": "x"}, "unknown role 'tool'"),
        ({"role": "user", "content": None}, "but is missing or null"),
        ({"role": "user", "content": [{"type": "input_image"}]}, "neither image_url nor file_id"),
        ({"role": "user", "content": [{"type": "input_file"}]}, "none of file_data, file_url and file_id"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "function_call has no call_id"),
        ({"type": "function_call", "call_id": "c", "arguments": "{}"}, "function_call has no name"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": [1]}, "got array"),
        ({"type": "function_call_output", "output": "x"}, "function_call_output has no call_id"),
        ({"type": "function_call_output", "call_id": "c"}, "but is missing or null"),
        ({"type": "function_call_output", "call_id": "c", "output": {"a": 1}}, "got object"),
        ({"type": "computer_call_output", "call_id": "c", "output": "x"}, "output must be an object"),
        ({"type": "shell_call_output", "call_id": "c", "output": 3}, "must be an array of chunks"),
        ({"type": "reasoning", "summary": "x"}, "summary of a reasoning item must be an array"),
        ({"type": "shell_call", "action": {}}, "shell_call has no call_id"),
    ],
)
def test_broken_items_are_refused_with_index_and_reason(item: Any, problem: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        FORMAT.decode(item, 3)
    assert caught.value.index == 3
    assert problem in caught.value.problem
