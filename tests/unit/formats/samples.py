"""A rich conversation in each format: every kind of part, unknown fields, parallel and failing calls."""

from __future__ import annotations

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAAC0lEQVR42mNggAAAAAgAAST8BHIAAAAASUVORK5CYII="
"""A picture of three by two pixels."""


def chat() -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You are careful."},
        {"role": "developer", "content": [{"type": "text", "text": "Answer briefly."}]},
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "What is in these?"},
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"},
                },
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {
                    "type": "file",
                    "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"},
                },
                {"type": "hologram", "beam": 7},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "reasoning_content": "Look at both.",
            "x_vendor": {"trace": 1},
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
                {"id": "c2", "type": "custom", "custom": {"name": "grep", "input": "needle"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "a cat " * 40},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "12 hits"}]},
        {
            "role": "assistant",
            "content": "A cat. Shall I read the file?",
            "function_call": {"name": "read", "arguments": "{}"},
        },
        {"role": "function", "name": "read", "content": "%PDF"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I can't say more."}]},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "Thanks."},
    ]


def responses() -> list[dict[str, Any]]:
    return [
        {"role": "developer", "content": "Answer briefly."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is in these?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
                {"type": "input_file", "file_id": "file-1", "filename": "a.pdf"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Look at both."}],
            "encrypted_content": "gAAAA",
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "look",
            "arguments": '{"at": 1}',
            "status": "completed",
        },
        {"type": "custom_tool_call", "call_id": "c2", "name": "grep", "input": "needle"},
        {"type": "function_call_output", "call_id": "c1", "output": "a cat " * 40},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [
                {"type": "input_text", "text": "12 hits"},
                {"type": "input_image", "image_url": "https://example.org/hits.png", "detail": "low"},
            ],
        },
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "c3",
            "action": {"type": "screenshot"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        {
            "type": "computer_call_output",
            "call_id": "c3",
            "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"},
        },
        {"type": "shell_call", "call_id": "c4", "action": {"commands": ["make"]}, "status": "completed"},
        {
            "type": "shell_call_output",
            "call_id": "c4",
            "output": [
                {"stdout": "cc main.c", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "error: x", "outcome": {"type": "exit", "exit_code": 2}},
            ],
        },
        {
            "type": "apply_patch_call",
            "call_id": "c5",
            "operation": {"type": "delete_file", "path": "x.c"},
            "status": "completed",
        },
        {"type": "apply_patch_call_output", "call_id": "c5", "status": "failed", "output": "no such file"},
        {
            "type": "local_shell_call",
            "id": "ls_1",
            "call_id": "c6",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
            "status": "completed",
        },
        {"type": "local_shell_call_output", "id": "c6", "output": "a.txt"},
        {"type": "mcp_approval_request", "id": "ap1", "server_label": "s", "name": "send", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "ap1", "approve": True},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        {"type": "item_reference", "id": "msg_9"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "A cat.", "annotations": []}],
        },
        {"role": "assistant", "content": "Anything else?"},
        {"role": "user", "content": "Thanks."},
    ]


def anthropic() -> list[dict[str, Any]]:
    return [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in these?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {
                    "type": "document",
                    "title": "notes",
                    "source": {"type": "text", "media_type": "text/plain", "data": "plain words"},
                },
                {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look at both.", "signature": "sig=="},
                {"type": "redacted_thinking", "data": "EuYB"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "c2", "name": "grep", "input": {"for": "needle"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "a cat " * 40},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                        },
                    ],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": "no match",
                    "is_error": True,
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "text", "text": "Go on, and search the web."},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "cat"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srv1",
                    "content": [
                        {
                            "type": "web_search_result",
                            "url": "https://example.org",
                            "title": "Cats",
                            "encrypted_content": "enc",
                        }
                    ],
                },
                {"type": "text", "text": "Found. Reading."},
                {"type": "tool_use", "id": "c3", "name": "read", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c3"}]},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "Thanks."},
    ]


def ui() -> list[dict[str, Any]]:
    return [
        {"id": "m0", "role": "system", "parts": [{"type": "text", "text": "You are careful."}]},
        {
            "id": "m1",
            "role": "user",
            "metadata": {"createdAt": 1700000000000},
            "parts": [
                {"type": "text", "text": "What is in this?"},
                {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
                {
                    "type": "file",
                    "mediaType": "application/pdf",
                    "filename": "a.pdf",
                    "url": "https://e.org/a",
                },
            ],
        },
        {
            "id": "m2",
            "role": "assistant",
            "metadata": {"model": "some-model"},
            "parts": [
                {"type": "data-status", "id": "d1", "data": {"phase": "start"}},
                {"type": "step-start"},
                {
                    "type": "reasoning",
                    "text": "Look at both.",
                    "providerMetadata": {"anthropic": {"signature": "sig=="}},
                },
                {"type": "text", "text": "Looking.", "state": "done"},
                {
                    "type": "tool-look",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"at": 1},
                    "output": {"seen": "a cat " * 40},
                },
                {
                    "type": "dynamic-tool",
                    "toolName": "grep",
                    "toolCallId": "c2",
                    "state": "output-error",
                    "input": {"for": "needle"},
                    "errorText": "no match",
                },
                {"type": "step-start"},
                {
                    "type": "tool-read",
                    "toolCallId": "c3",
                    "state": "output-available",
                    "input": {"path": "a.txt"},
                    "output": "twelve lines",
                },
                {
                    "type": "tool-rm",
                    "toolCallId": "c4",
                    "state": "output-denied",
                    "input": {"path": "a.txt"},
                    "approval": {"id": "ap", "approved": False, "reason": "never"},
                },
                {"type": "step-start"},
                {
                    "type": "tool-web_search",
                    "toolCallId": "srv1",
                    "providerExecuted": True,
                    "state": "output-available",
                    "input": {"query": "cat"},
                    "output": [],
                },
                {"type": "text", "text": "A cat."},
                {"type": "source-url", "sourceId": "s1", "url": "https://example.org"},
            ],
        },
        {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "Thanks."}]},
        {"id": "m4", "role": "assistant", "parts": []},
    ]


def model() -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You are careful.", "providerOptions": {"x": {"y": 1}}},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in these?"},
                {"type": "image", "image": PNG, "mediaType": "image/png"},
                {"type": "file", "data": "https://example.org/a.pdf", "mediaType": "application/pdf"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "reasoning",
                    "text": "Look at both.",
                    "providerOptions": {"openai": {"reasoningEncryptedContent": "gAAAA", "itemId": "rs_1"}},
                },
                {"type": "text", "text": "Looking."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"at": 1}},
                {"type": "tool-call", "toolCallId": "c2", "toolName": "grep", "input": {"for": "needle"}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "look",
                    "output": {
                        "type": "content",
                        "value": [
                            {"type": "text", "text": "a cat " * 40},
                            {"type": "media", "data": PNG, "mediaType": "image/png"},
                        ],
                    },
                },
                {
                    "type": "tool-result",
                    "toolCallId": "c2",
                    "toolName": "grep",
                    "output": {"type": "error-text", "value": "no match"},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": "srv1",
                    "toolName": "web_search",
                    "input": {},
                    "providerExecuted": True,
                },
                {
                    "type": "tool-result",
                    "toolCallId": "srv1",
                    "toolName": "web_search",
                    "output": {"type": "json", "value": []},
                },
                {"type": "tool-call", "toolCallId": "c3", "toolName": "read", "input": {}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c3",
                    "toolName": "read",
                    "output": {"type": "json", "value": {"lines": 12}},
                }
            ],
        },
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "Thanks."},
    ]


def gemini() -> list[dict[str, Any]]:
    return [
        {
            "role": "user",
            "parts": [
                {"text": "What is in this?"},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"file_data": {"mime_type": "application/pdf", "file_uri": "gs://b/a.pdf"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Look first.", "thought": True, "thoughtSignature": "c2ln"},
                {"text": "Looking."},
                {"functionCall": {"name": "look", "args": {"at": 1}}},
                {"functionCall": {"name": "look", "args": {"at": 2}}},
                {"functionCall": {"id": "fc9", "name": "grep", "args": {}}, "thoughtSignature": "c2ln"},
            ],
            "x_vendor": 1,
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"output": "a cat " * 40}}},
                {"functionResponse": {"name": "look", "response": {"legs": 4, "tail": True}}},
                {"functionResponse": {"id": "fc9", "name": "grep", "response": {"error": "no such file"}}},
                {"text": "And now?"},
            ],
        },
        {"role": "model", "parts": [{"function_call": {"name": "read"}}]},
        {
            "role": "function",
            "parts": [{"function_response": {"name": "read", "response": {"result": "ok"}}}],
        },
        {
            "role": "model",
            "parts": [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"text": "A cat."}],
        },
        {"parts": [{"text": "Thanks."}]},
    ]


def langchain() -> list[dict[str, Any]]:
    """All three spellings of a dump, as files mix them after a migration."""
    name = ["langchain", "schema", "messages"]
    calls = [{"name": "look", "args": {"at": 1}, "id": "c1", "type": "tool_call"}]
    broken = [{"name": "grep", "args": "{nee", "id": "c2", "error": "bad JSON", "type": "invalid_tool_call"}]
    blocks = [
        {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
    ]
    return [
        {"type": "system", "content": "You are careful."},
        {
            "lc": 1,
            "type": "constructor",
            "id": [*name, "HumanMessage"],
            "kwargs": {
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                    {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
                ]
            },
        },
        {
            "type": "ai",
            "data": {
                "content": blocks,
                "tool_calls": calls,
                "invalid_tool_calls": broken,
                "usage_metadata": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
            },
        },
        {"type": "tool", "content": "a cat " * 40, "tool_call_id": "c1", "name": "look"},
        {"type": "tool", "data": {"content": ["not ", "JSON"], "tool_call_id": "c2", "status": "error"}},
        {"type": "ai", "content": "A cat.", "tool_calls": [], "additional_kwargs": {"x": 1}, "id": "run-1"},
        {"type": "human", "content": "Thanks."},
    ]


def pydantic_ai() -> list[dict[str, Any]]:
    return [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "You are careful."},
                {"part_kind": "user-prompt", "content": "What is in this?"},
            ],
            "timestamp": "2026-01-01T00:00:00Z",
        },
        {
            "kind": "response",
            "model_name": "m",
            "parts": [
                {"part_kind": "thinking", "content": "Look first.", "signature": "c2ln"},
                {"part_kind": "text", "content": "Looking."},
                {"part_kind": "tool-call", "tool_name": "look", "args": {"at": 1}, "tool_call_id": "c1"},
                {"part_kind": "tool-call", "tool_name": "grep", "args": "{}", "tool_call_id": "c2"},
                {"part_kind": "builtin-tool-call", "tool_name": "web", "args": {}, "tool_call_id": "b1"},
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "look",
                    "content": "a cat " * 40,
                    "tool_call_id": "c1",
                },
                {
                    "part_kind": "retry-prompt",
                    "tool_name": "grep",
                    "content": "no needle",
                    "tool_call_id": "c2",
                },
                {
                    "part_kind": "user-prompt",
                    "content": [
                        "And ",
                        {"kind": "image-url", "url": "https://x/y.png", "media_type": "image/png"},
                    ],
                },
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": "A cat."}]},
        {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "Answer in JSON."}]},
    ]


def llama_index() -> list[dict[str, Any]]:
    def text(said: str) -> dict[str, Any]:
        return {"block_type": "text", "text": said}

    older = {"id": "c3", "type": "function", "function": {"name": "look", "arguments": '{"at": 2}'}}
    return [
        {"role": "system", "blocks": [text("You are careful.")], "additional_kwargs": {}},
        {
            "role": "user",
            "blocks": [
                text("What is in this?"),
                {"block_type": "image", "url": "https://x/y.png", "image_mimetype": "image/png"},
            ],
        },
        {
            "role": "assistant",
            "blocks": [
                {
                    "block_type": "thinking",
                    "content": "Look first.",
                    "additional_information": {"signature": "c2ln"},
                },
                text("Looking."),
                {
                    "block_type": "tool_call",
                    "tool_call_id": "c1",
                    "tool_name": "look",
                    "tool_kwargs": {"at": 1},
                },
                {"block_type": "tool_call", "tool_call_id": "c2", "tool_name": "grep", "tool_kwargs": "{}"},
            ],
            "additional_kwargs": {
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}},
                    {"id": "c2", "type": "function", "function": {"name": "grep", "arguments": "{}"}},
                ]
            },
        },
        {"role": "tool", "blocks": [text("a cat " * 40)], "additional_kwargs": {"tool_call_id": "c1"}},
        {
            "role": "tool",
            "blocks": [text("no needle"), {"block_type": "document", "data": b"%PDF", "title": "n.pdf"}],
            "additional_kwargs": {"tool_call_id": "c2", "name": "grep"},
        },
        {"role": "assistant", "blocks": [], "additional_kwargs": {"tool_calls": [older]}},
        {"role": "tool", "blocks": [text("a dog " * 40)], "additional_kwargs": {"tool_call_id": "c3"}},
        {"role": "assistant", "blocks": [text("A cat and a dog.")]},
        {"role": "user", "blocks": [text("Thanks."), {"block_type": "citation", "title": "n.pdf"}]},
    ]


def bedrock() -> list[dict[str, Any]]:
    return [
        {
            "role": "user",
            "content": [
                {"text": "What is this?"},
                {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Look first.", "signature": "c2ln"}}},
                {"text": "Looking."},
                {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": 1}}},
                {"toolUse": {"toolUseId": "t2", "name": "grep", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "t1",
                        "status": "success",
                        "content": [{"text": "a cat " * 40}],
                    }
                },
                {"toolResult": {"toolUseId": "t2", "status": "error", "content": [{"json": {"hits": 0}}]}},
                {"text": "And now?"},
            ],
        },
        {"role": "assistant", "content": [{"text": "A cat."}, {"guardContent": {"text": {"text": "x"}}}]},
        {"role": "user", "content": [{"text": "Thanks."}]},
    ]


SAMPLES = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "ai-sdk-ui": ui,
    "ai-sdk-model": model,
    "gemini": gemini,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
    "bedrock": bedrock,
    "llama-index": llama_index,
}
