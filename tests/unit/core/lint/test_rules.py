"""Every line of the rule table has an example that is found, and sound conversations are left alone."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from typing import Any

import pytest

from compact import lint
from compact.core.lint import RULES, Rule

APIS = {
    "chat": ("openai", "openai-chat"),
    "responses": ("openai", "openai-responses"),
    "messages": ("anthropic", "anthropic"),
}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAAC0lEQVR42mNggAAAAAgAAST8BHIAAAAASUVORK5CYII="
USER = {"role": "user", "content": "Go."}
SAYS = {"role": "assistant", "content": "Done."}
SYSTEM = {"role": "system", "content": "Be brief."}


def call(identity: str = "c1", **more: Any) -> dict[str, Any]:
    made = {"id": identity, "type": "function", "function": {"name": "read", "arguments": "{}"}, **more}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def named(name: str) -> dict[str, Any]:
    return call(function={"name": name, "arguments": "{}"})


def tool(identity: str = "c1", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def parts(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def picture(url: str = "https://x/y.png", **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def fc(identity: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": identity, "name": "read", "arguments": "{}", **more}


def out(identity: str = "c1", output: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": output, **more}


def image_in(**more: Any) -> dict[str, Any]:
    return {"type": "input_image", "image_url": "https://x/y.png", **more}


def reasoning(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], **more}


def use(identity: str = "t1", **more: Any) -> dict[str, Any]:
    return parts({"type": "tool_use", "id": identity, "name": "read", "input": {}, **more}, role="assistant")


def result(identity: str = "t1", **more: Any) -> dict[str, Any]:
    return parts({"type": "tool_result", "tool_use_id": identity, "content": "ok", **more})


def text(said: str = "Go.", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def block(kind: str, source: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "source": source, **more}


def base64(data: str = PNG, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "base64", "data": data, "media_type": media_type}


def wide(width: int) -> dict[str, Any]:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", width, 1, 8, 0, 0, 0, 0, 0)
    return block("image", base64(b64encode(head).decode()))


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
MARK = {"type": "ephemeral"}
SHELL = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}


def answered(*, output: Any, kind: str = "shell_call_output") -> list[Any]:
    return [USER, SHELL, {"type": kind, "call_id": "c1", "output": output}]


PATCH = {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "a"}}
APPROVAL = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "s",
    "name": "go",
    "arguments": "{}",
}
COMPUTER = {"type": "computer_call", "call_id": "c1", "id": "cu_1", "action": {"type": "screenshot"}}

# (api, what the line says) → conversations that break it; a pair adds arguments of `lint`.
BROKEN: dict[tuple[str, str], list[Any]] = {
    ("chat", "an empty list"): [[]],
    ("responses", "an empty list"): [[]],
    ("messages", "no message but the system prompt"): [[SYSTEM]],
    ("chat", "more than 2,048 messages"): [[USER] * 2_049],
    ("messages", "more than 100,000 messages"): [[USER] * 100_001],
    ("chat", "an unknown role"): [[{"role": "robot", "content": "x"}]],
    ("chat", "content that is missing, or neither text nor parts"): [
        [{"role": "user"}],
        [{**USER, "content": 7}],
    ],
    ("chat", "a call without id, name or arguments"): [
        [USER, call(id=None), tool()],
        [USER, call(function={"arguments": "{}"}), tool()],
        [USER, call(function={"name": "read"}), tool()],
    ],
    ("chat", "a tool message without tool_call_id"): [[USER, call(), {"role": "tool", "content": "ok"}]],
    ("chat", "a part without its type or its text"): [[parts({"text": "x"})], [parts({"type": "text"})]],
    ("responses", "an unknown role"): [
        [{"role": "robot", "content": "x"}],
        [{"role": "tool", "content": "x"}],
    ],
    ("responses", "content that is missing, or neither text nor parts"): [
        [{"type": "message", "role": "user"}],
        [{"role": "user", "content": 7}],
    ],
    ("responses", "a call without call_id, name or arguments"): [
        [USER, fc(call_id=None), out()],
        [USER, fc(name=None), out()],
        [USER, fc(arguments=None), out()],
    ],
    ("responses", "an output that is missing, or neither text nor parts"): [
        [USER, fc(), {"type": "function_call_output", "call_id": "c1"}],
        [USER, fc(), out(output=7)],
    ],
    ("responses", "an image or file without its source"): [
        [parts({"type": "input_image"})],
        [parts({"type": "input_file"})],
    ],
    ("messages", "an unknown role"): [
        [{"role": "tool", "content": "x"}],
        [{"role": "developer", "content": "x"}],
    ],
    ("messages", "content that is missing, or neither text nor blocks"): [
        [{"role": "user"}],
        [{**USER, "content": 7}],
    ],
    ("messages", "a tool_use without id, name or input"): [
        [USER, use(id=None), result()],
        [USER, use(name=None), result()],
        [USER, use(input=None), result()],
    ],
    ("messages", "a tool_result without tool_use_id"): [[USER, use(), result(tool_use_id=None)]],
    ("messages", "a tool_use in a user message, a tool_result in an assistant's"): [
        [{**use(), "role": "user"}],
        [USER, use(), {**result(), "role": "assistant"}],
    ],
    ("messages", "redacted_thinking without data"): [
        [USER, parts({"type": "redacted_thinking"}, role="assistant")]
    ],
    ("chat", "a tool message whose call is not there"): [[USER, tool()]],
    ("responses", "an output whose call is not there"): [[USER, out()]],
    ("messages", "a tool_result whose tool_use is not there"): [[result()]],
    ("chat", "a tool message before its call"): [[USER, tool(), call(), USER]],
    ("responses", "an output before its call"): [[USER, out(), fc(), USER]],
    ("messages", "a tool_result before its tool_use"): [[USER, result(), use(), USER]],
    ("chat", "a message between a call and its results"): [[USER, call(), USER, tool()]],
    ("messages", "a message between a tool_use and its result"): [[USER, use(), USER, result()]],
    ("messages", "a block before the tool_results of a message"): [
        [USER, use(), parts(text(), result()["content"][0])]
    ],
    ("chat", "two results of one call"): [[USER, call(), tool(), tool()]],
    ("responses", "two outputs of one call"): [[USER, fc(), out(), out()]],
    ("messages", "two results of one tool_use"): [[USER, use(), parts(*result()["content"] * 2)]],
    ("chat", "two calls of one message with one id"): [
        [USER, {**call(), "tool_calls": call()["tool_calls"] * 2}, tool()]
    ],
    ("responses", "two open calls with one call_id"): [[USER, fc(), fc(), out()]],
    ("messages", "two tool_uses with one id"): [[USER, use(), result(), use(), result()]],
    ("chat", "a call without a result"): [[USER, call(), USER]],
    ("responses", "a call without an output"): [[USER, fc(), USER]],
    ("messages", "a tool_use without a result"): [[USER, use(), USER]],
    ("chat", "a call at the end"): [[USER, call()]],
    ("responses", "a call at the end"): [[USER, fc()]],
    ("messages", "a tool_use at the end"): [[USER, use()]],
    ("chat", "neither content nor calls"): [[USER, {"role": "assistant", "content": None}], [parts()]],
    ("messages", "no content, or blank content"): [
        [parts()],
        [{**USER, "content": ""}],
        [{**USER, "content": " "}],
    ],
    ("messages", "a blank text block"): [[parts(text(), text(" "))]],
    ("messages", "an assistant message first"): [[SAYS, USER]],
    ("messages", "a system message first"): [[SYSTEM, USER]],
    ("messages", "a system message after an assistant's"): [[USER, SAYS, SYSTEM]],
    ("messages", "a system message before a user's"): [[USER, SYSTEM, USER]],
    ("messages", "two system messages in a row"): [[USER, SYSTEM, SYSTEM]],
    ("messages", "a system message in mid-conversation"): [([USER, SYSTEM], {"model": "claude-opus-4-7"})],
    ("messages", "an assistant message last"): [
        ([USER, SAYS], {"model": "claude-opus-4-6"}),
        ([USER, SAYS], {"model": "anthropic/claude-sonnet-4.8"}),
    ],
    ("messages", "an assistant message last that ends with whitespace"): [
        [USER, {**SAYS, "content": "The "}]
    ],
    ("messages", "thinking without its signature"): [
        [USER, parts({"type": "thinking", "thinking": "Hm."}, text(), role="assistant"), USER]
    ],
    ("messages", "a turn with thinking that begins with something else"): [
        [USER, parts(text(), THINKING, use()["content"][0], role="assistant"), result()]
    ],
    ("messages", "a turn that ends with thinking"): [[USER, parts(THINKING, role="assistant"), USER]],
    ("responses", "a reasoning item without the item after it"): [[USER, reasoning(), USER]],
    ("chat", "more than 500 images"): [[parts(*[picture()] * 501)]],
    ("responses", "more than 500 images"): [[parts(*[image_in()] * 501)]],
    ("messages", "more than 100 images"): [[parts(*[block("image", base64())] * 101)]],
    ("messages", "an image over 5 MB"): [[parts(block("image", base64(PNG + "A" * 6_000_000)))]],
    ("messages", "an image side over 8,000 pixels, 2,000 with many"): [
        [parts(wide(8_001))],
        [parts(*[wide(2_001)] * 21)],
    ],
    ("chat", "images over 50 MB together"): [[parts(picture("data:image/png;base64," + "A" * 53_000_000))]],
    ("messages", "a request over 32 MB"): [[parts(*[block("image", base64(PNG + "A" * 5_000_000))] * 7)]],
    ("chat", "a text over 10,485,760 characters"): [[{**USER, "content": "x" * 10_485_761}]],
    ("responses", "a text over 10,485,760 characters"): [[{**USER, "content": "x" * 10_485_761}]],
    ("chat", "a part of unknown type"): [[parts({"type": "hologram"})]],
    ("responses", "a part of unknown type, such as chat's text"): [[parts({"type": "text", "text": "x"})]],
    ("responses", "an output with other parts than input ones"): [
        [USER, fc(), out(output=[{"type": "output_text", "text": "x"}])]
    ],
    ("responses", "a reasoning summary or content with other parts"): [
        [USER, reasoning(summary=[{"type": "text", "text": "x"}]), SAYS]
    ],
    ("messages", "a block of unknown type"): [[parts({"type": "hologram"})], [parts({"type": "input_text"})]],
    ("messages", "a tool_result with a block that is no content"): [
        [USER, use(), result(content=[THINKING])]
    ],
    ("messages", "a search_result with other blocks than text"): [
        [parts({"type": "search_result", "source": "s", "title": "t", "content": [block("image", base64())]})]
    ],
    ("responses", "an item of unknown type"): [[USER, {"type": "hologram"}]],
    ("responses", "a field that the item does not have"): [
        [{**USER, "name": "ada"}],
        [USER, fc(parsed_arguments={}), out()],
    ],
    ("messages", "a field that the message or block does not have"): [
        [{**USER, "id": "msg_1"}],
        [parts(text(index=0))],
    ],
    ("chat", "a file without file_id or file_data, or without filename"): [
        [parts({"type": "file", "file": {}})],
        [parts({"type": "file", "file": {"file_data": "x"}})],
    ],
    ("chat", "an assistant's audio without id"): [[USER, {**SAYS, "audio": {}}]],
    ("responses", "an item without a field that it must have"): [
        [USER, {"type": "reasoning", "id": "rs_1"}, SAYS],
        [USER, {"type": "web_search_call", "id": "ws_1"}],
        [USER, {"type": "code_interpreter_call", "id": "ci_1", "code": "x"}],
        [USER, {"type": "mcp_call", "id": "mcp_1", "name": "go", "arguments": "{}"}],
    ],
    ("responses", "file_data without filename"): [[parts({"type": "input_file", "file_data": "x"})]],
    ("responses", "a screenshot without its image"): [
        [
            USER,
            COMPUTER,
            {"type": "computer_call_output", "call_id": "c1", "output": {"type": "computer_screenshot"}},
        ]
    ],
    ("responses", "a shell output without stdout, stderr or outcome"): [
        answered(output=[{"stdout": "x", "stderr": ""}]),
        answered(output=[{"stdout": "x", "stderr": "", "outcome": {"type": "exit"}}]),
    ],
    ("messages", "an image or document without data"): [[parts(block("image", {"type": "base64"}))]],
    ("messages", "a search_result without source, title or content"): [[parts({"type": "search_result"})]],
    ("chat", "an image url that is none, or no object"): [
        [parts(picture("y.png"))],
        [parts({"type": "image_url", "image_url": "https://x/y.png"})],
    ],
    ("chat", "an unknown detail of an image"): [[parts(picture(detail="huge"))]],
    ("chat", "audio that is neither wav nor mp3"): [
        [parts({"type": "input_audio", "input_audio": {"data": "x", "format": "ogg"}})]
    ],
    ("chat", "a call without its type"): [[USER, call(type=None), tool()]],
    ("responses", "an unknown status"): [[USER, fc(status="done"), out()]],
    ("responses", "an unknown detail of an image, or a url that is none"): [
        [parts(image_in(detail="huge"))],
        [parts(image_in(image_url="y.png"))],
    ],
    ("responses", "a file given in two ways"): [
        [parts({"type": "input_file", "file_id": "f", "file_url": "https://x"})]
    ],
    ("responses", "a computer output that is no screenshot"): [
        [USER, COMPUTER, {"type": "computer_call_output", "call_id": "c1", "output": {"type": "input_image"}}]
    ],
    ("responses", "an unknown operation or status of a patch"): [
        [
            USER,
            {**PATCH, "operation": {"type": "move_file"}},
            {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"},
        ],
        [USER, PATCH, {"type": "apply_patch_call_output", "call_id": "c1", "status": "incomplete"}],
    ],
    ("responses", "a status that is no text"): [
        [USER, {"type": "message", "role": "assistant", "content": "x", "status": status}]
        for status in ({}, [], 5)
    ],
    ("responses", "an approval that is neither true nor false"): [
        [USER, APPROVAL, {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": "yes"}]
    ],
    ("messages", "a source of unknown type, or a url that is not https"): [
        [parts(block("image", {"type": "blob", "data": "x"}))],
        [parts(block("image", {"type": "url", "url": "http://x/y.png"}))],
    ],
    ("chat", "an image of another type than PNG, JPEG, GIF, WebP"): [
        [parts(picture("data:image/bmp;base64,AAAA"))]
    ],
    ("responses", "an image of another type than PNG, JPEG, GIF, WebP"): [
        [parts(image_in(image_url="data:image/svg+xml;base64,AAAA"))]
    ],
    ("messages", "an image of another type, or of another than it says"): [
        [parts(block("image", base64(media_type="image/bmp")))],
        [parts(block("image", base64(media_type="image/jpeg")))],
    ],
    ("messages", "a document that is neither PDF nor plain text"): [
        [parts(block("document", base64("AAAA", "application/msword")))],
        [parts(block("document", {"type": "text", "data": "x", "media_type": "text/html"}))],
    ],
    ("messages", "data that is not plain base64"): [
        [parts(block("image", base64("data:image/png;base64," + PNG)))],
        [parts(block("image", base64("no base64!")))],
    ],
    ("chat", "images, audio or files outside user messages"): [
        [USER, call(), tool(content=[picture()])],
        [parts(picture(), role="system"), USER],
        [USER, parts(picture(), role="assistant"), USER],
    ],
    ("chat", "a refusal outside assistant messages"): [[parts({"type": "refusal", "refusal": "No."})]],
    ("responses", "input parts in an assistant message, output parts elsewhere"): [
        [USER, parts({"type": "input_text", "text": "x"}, role="assistant")],
        [parts({"type": "output_text", "text": "x"})],
    ],
    ("messages", "thinking or server tools in a user message"): [
        [parts(THINKING, text())],
        [parts(SERVER, text())],
    ],
    ("messages", "images or documents in an assistant message"): [
        [USER, parts(block("image", base64()), text(), role="assistant"), USER]
    ],
    ("chat", "a refusal beside other parts"): [
        [USER, parts({"type": "refusal", "refusal": "No."}, text(), role="assistant"), USER]
    ],
    ("chat", "calls in a message that is not the assistant's"): [
        [{**USER, "tool_calls": call()["tool_calls"]}]
    ],
    ("chat", "an empty array of calls"): [[USER, {**SAYS, "tool_calls": []}, USER]],
    ("chat", "more than 128 calls in a message"): [
        [
            USER,
            {**call(), "tool_calls": [call(f"c{n}")["tool_calls"][0] for n in range(129)]},
            *[tool(f"c{n}") for n in range(129)],
        ]
    ],
    ("chat", "arguments that are no string"): [
        [USER, call(function={"name": "read", "arguments": {}}), tool()]
    ],
    ("responses", "arguments that are no string"): [[USER, fc(arguments={}), out()]],
    ("messages", "input that is no object"): [[USER, use(input="{}"), result()]],
    ("chat", "a tool's name with other characters than letters, digits, _ and -"): [
        [USER, named("a.b"), tool()]
    ],
    ("chat", "a speaker's name with spaces or < | \\ / >"): [[{**USER, "name": "Ada L"}]],
    ("responses", "a tool's name with other characters"): [[USER, fc(name="a.b"), out()]],
    ("messages", "a tool's name with other characters"): [[USER, use(name="a.b"), result()]],
    ("chat", "a name over 64 characters"): [[USER, named("n" * 65), tool()], [{**USER, "name": "n" * 65}]],
    ("responses", "a name over 128 characters"): [[USER, fc(name="n" * 129), out()]],
    ("messages", "a name over 200 characters"): [[USER, use(name="n" * 201), result()]],
    ("responses", "an id with other characters than letters, digits, _ and -"): [
        [USER, fc(id="fc_a.b"), out()]
    ],
    ("messages", "a tool_use id with other characters"): [[USER, use("a.b"), result("a.b")]],
    ("messages", "a server tool's id without srvtoolu_"): [
        [USER, parts({**SERVER, "id": "t1"}, {**FOUND, "tool_use_id": "t1"}, text(), role="assistant"), USER]
    ],
    ("chat", "a call's id over 40 characters"): [[USER, call("c" * 41), tool("c" * 41)]],
    ("responses", "an id or call_id over 64 characters"): [
        [USER, fc("c" * 65), out("c" * 65)],
        [USER, fc(id="fc_" + "a" * 64), out()],
    ],
    ("responses", "an id without its type's prefix"): [
        [USER, fc(id="item_1"), out()],
        [USER, {"type": "message", "id": "chatcmpl-1", **SAYS}],
    ],
    ("responses", "two items with one id"): [[USER, fc(id="fc_1"), out(), fc("c2", id="fc_1"), out("c2")]],
    ("responses", "an output of another type than its call"): [
        [USER, fc(), {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"}]
    ],
    ("messages", "a blank text block in a tool_result"): [[USER, use(), result(content=[text("")])]],
    ("messages", "a failed tool_result without content"): [
        [USER, use(), result(content="", is_error=True)],
        [USER, use(), result(content=[], is_error=True)],
    ],
    ("messages", "a failed tool_result with other content than text"): [
        [USER, use(), result(content=[block("image", base64())], is_error=True)]
    ],
    ("messages", "a server tool's use without its result"): [
        [USER, parts(SERVER, text(), role="assistant"), USER]
    ],
    ("messages", "a server tool's result without its use"): [
        [USER, parts(FOUND, text(), role="assistant"), USER]
    ],
    ("messages", "a cache mark on thinking"): [
        [USER, parts({**THINKING, "cache_control": MARK}, text(), role="assistant"), USER]
    ],
    ("messages", "a cache mark on empty text"): [[parts(text(), text("", cache_control=MARK))]],
    ("messages", "a cache mark of another type or time"): [
        [parts(text(cache_control={"type": "forever"}))],
        [parts(text(cache_control={"type": "ephemeral", "ttl": "2h"}))],
    ],
    ("messages", "more than four cache marks"): [
        [parts(*[text(cache_control=MARK)] * 5)],
        (
            [parts(*[text(cache_control=MARK)] * 3)],
            {"system": [text(cache_control=MARK)], "tools": [{"name": "read", "cache_control": MARK}]},
        ),
    ],
    ("messages", "a cache mark of 1h after one of 5m"): [
        [parts(text(cache_control=MARK), text(cache_control={**MARK, "ttl": "1h"}))]
    ],
}
SOUND: dict[str, list[Any]] = {
    "chat": [
        # A server's own ids, longer than OpenAI's.
        [USER, call("chatcmpl-tool-" + "0af3" * 8), tool("chatcmpl-tool-" + "0af3" * 8)],
        [SYSTEM, {**USER, "name": "ada-1"}, call("c" * 40), tool("c" * 40), SAYS, USER],
        [parts(text(), picture(f"data:image/png;base64,{PNG}", detail="low")), {**SAYS, "refusal": None}],
        [parts({"type": "file", "file": {"file_data": "x", "filename": "a.pdf"}})],
    ],
    "responses": [
        [
            {"role": "developer", "content": "x"},
            USER,
            reasoning(),
            fc(id="fc_1"),
            out(),
            {"id": "msg_9"},
            USER,
        ],
        [
            parts({"type": "input_text", "text": "x"}, image_in(detail="low")),
            reasoning(),
            fc("a"),
            fc("b"),
            out("a"),
            out("b"),
        ],
        [USER, {"type": "item_reference", "id": "fc_1"}, out("c9"), USER],
        [
            USER,
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                **parts({"type": "output_text", "text": "x", "annotations": []}, role="assistant"),
            },
        ],
        [
            USER,
            COMPUTER,
            {
                "type": "computer_call_output",
                "call_id": "c1",
                "output": {"type": "computer_screenshot", "image_url": "https://x"},
            },
        ],
        answered(output=[{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]),
        [
            USER,
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            },
            SAYS,
        ],
    ],
    "messages": [
        [
            USER,
            parts(THINKING, use()["content"][0], role="assistant"),
            result(content=[text("x")], is_error=True),
            SAYS,
            USER,
        ],
        [USER, parts(SERVER, FOUND, text(), role="assistant"), USER],
        [USER, parts(SERVER, role="assistant")],
        ([USER, SYSTEM, SAYS, USER], {"model": "claude-opus-4-8"}),
        [USER, use(), result(), SYSTEM],
        ([USER, SAYS], {"model": "claude-haiku-4-5"}),
        [USER, SAYS],
        [
            parts(
                block("image", base64()), text(cache_control={**MARK, "ttl": "1h"}), text(cache_control=MARK)
            )
        ],
        [parts(block("document", base64("AAAA", "application/pdf"))), {"role": "assistant", "content": []}],
    ],
}


def found(given: Any, api: str) -> set[str]:
    messages, more = given if isinstance(given, tuple) else (given, {})
    provider, format = APIS[api]
    return {violation.code.value for violation in lint(messages, provider, format=format, **more)}


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.api}: {rule.refuses}"[:60])
def test_every_line_of_the_table_is_found(rule: Rule) -> None:
    examples = BROKEN[(rule.api, rule.refuses)]
    assert examples
    for example in examples:
        assert rule.id.value in found(example, rule.api), json.dumps(example)[:300]


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("api", SOUND)
def test_sound_conversations_raise_no_alarm(api: str) -> None:
    for example in SOUND[api]:
        assert found(example, api) == set(), json.dumps(example)[:300]


def test_the_table_is_one_line_a_rule() -> None:
    assert len({(rule.api, rule.refuses) for rule in RULES}) == len(RULES) > 109
    assert all(rule.source for rule in RULES)
