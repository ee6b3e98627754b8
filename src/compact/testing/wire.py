"""Scenes in the wire format of each provider, as plain dicts and lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from compact.testing import wire_frameworks
from compact.testing.scenes import Acted, Picture, Plan, Said, Scene, scenes
from compact.testing.wire_parts import DATA_URL, LINK, PIXEL, Raw, extra_fields, picture_url


def render(plan: Plan, format: str) -> list[Raw]:
    """The plan as the messages a caller would hold; no system prompts if the format keeps them separate."""
    return render_scenes(scenes(plan), format)


def render_scenes(story: Iterable[Scene], format: str) -> list[Raw]:
    """Only these scenes; nothing for a system prompt if the format keeps it separate."""
    return _RENDERERS[format](story)


def openai_chat(story: Iterable[Scene]) -> list[Raw]:
    messages: list[Raw] = []
    for scene in story:
        extra = extra_fields(scene.number) if scene.extra else {}
        if isinstance(scene, Said):
            messages.append({"role": scene.role, "content": _chat_content(scene), **extra})
            continue
        message: Raw = {"role": "assistant", "content": scene.text}
        if scene.thought is not None:
            message["reasoning_content"] = scene.thought
        if scene.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in scene.calls
            ]
        messages.append(message | extra)
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": call.output, **extra} for call in scene.calls
        ]
    return messages


def _chat_content(scene: Said) -> Any:
    if scene.picture is Picture.NONE:
        return scene.text
    image = {"type": "image_url", "image_url": {"url": picture_url(scene.picture), "detail": "low"}}
    return [{"type": "text", "text": scene.text}, image]


def openai_responses(story: Iterable[Scene]) -> list[Raw]:
    items: list[Raw] = []
    for scene in story:
        extra = extra_fields(scene.number) if scene.extra else {}
        if isinstance(scene, Said):
            items.append({"role": scene.role, "content": _responses_content(scene), **extra})
            continue
        if scene.thought is not None:
            summary = [{"type": "summary_text", "text": scene.thought}]
            items.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{scene.number:04d}",
                    "summary": summary,
                    "encrypted_content": f"enc{scene.number:04d}==",
                }
            )
        if scene.text is not None:
            if scene.extra and not scene.calls:
                items.append(_web_search(scene.number))
            items.append(
                {
                    "type": "message",
                    "id": f"msg_{scene.number:04d}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": scene.text, "annotations": []}],
                    **extra,
                }
            )
        items += [
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": json.dumps(call.arguments),
                "status": "completed",
            }
            for call in scene.calls
        ]
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": call.output}
            for call in scene.calls
        ]
    return items


def _web_search(number: int) -> Raw:
    action = {"type": "search", "query": "retry policy"}
    return {"type": "web_search_call", "id": f"ws_{number:04d}", "status": "completed", "action": action}


def _responses_content(scene: Said) -> Any:
    if scene.picture is Picture.NONE:
        return scene.text
    return [
        {"type": "input_text", "text": scene.text},
        {"type": "input_image", "image_url": picture_url(scene.picture), "detail": "low"},
    ]


def anthropic(story: Iterable[Scene]) -> list[Raw]:
    messages: list[Raw] = []
    for scene in story:
        extra = extra_fields(scene.number) if scene.extra else {}
        if isinstance(scene, Said):
            # Instructions are passed separately: not every model accepts them elsewhere.
            if scene.role == "user":
                messages.append({"role": "user", "content": _anthropic_content(scene), **extra})
            continue
        blocks: list[Raw] = []
        if scene.thought is not None:
            blocks.append(_thinking(scene))
        if scene.text is not None:
            if scene.extra and not scene.calls:
                blocks += _server_search(scene.number)
            blocks.append({"type": "text", "text": scene.text})
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            for call in scene.calls
        ]
        messages.append({"role": "assistant", "content": blocks, **extra})
        if scene.calls:
            messages.append(
                {"role": "user", "content": [_tool_result(scene, at) for at in range(len(scene.calls))]}
            )
    return messages


def _thinking(scene: Acted) -> Raw:
    if scene.number % 5 == 0:
        return {"type": "redacted_thinking", "data": f"cmVkYWN0ZWQ{scene.number:04d}"}
    return {"type": "thinking", "thinking": scene.thought, "signature": f"c2lnbmF0dXJl{scene.number:04d}"}


def _server_search(number: int) -> list[Raw]:
    use = f"srvtoolu_{number:04d}"
    found = {
        "type": "web_search_result",
        "url": "https://example.org/a",
        "title": "A",
        "encrypted_content": "ZW5j",
    }
    return [
        {"type": "server_tool_use", "id": use, "name": "web_search", "input": {"query": "retry policy"}},
        {"type": "web_search_tool_result", "tool_use_id": use, "content": [found]},
    ]


def _tool_result(scene: Acted, at: int) -> Raw:
    call = scene.calls[at]
    block: Raw = {"type": "tool_result", "tool_use_id": call.id, "content": call.output}
    if call.failed:
        block["is_error"] = True
    if scene.extra and at == len(scene.calls) - 1:
        block["cache_control"] = {"type": "ephemeral"}
    return block


def _anthropic_content(scene: Said) -> Any:
    if scene.picture is Picture.NONE and not scene.extra:
        return scene.text
    blocks: list[Raw] = [{"type": "text", "text": scene.text}]
    if scene.picture is Picture.LINK:
        blocks.append({"type": "image", "source": {"type": "url", "url": LINK}})
    elif scene.picture is Picture.DATA:
        data = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        blocks.append({"type": "image", "source": data})
    if scene.extra:
        source = {"type": "text", "media_type": "text/plain", "data": "Retries are limited to 3."}
        blocks.append({"type": "document", "source": source, "title": "Notes"})
    return blocks


def ai_sdk_model(story: Iterable[Scene]) -> list[Raw]:
    messages: list[Raw] = []
    for scene in story:
        extra = extra_fields(scene.number) if scene.extra else {}
        if isinstance(scene, Said):
            role = "system" if scene.role == "developer" else scene.role
            messages.append({"role": role, "content": _model_content(scene), **extra})
            continue
        parts: list[Raw] = []
        if scene.thought is not None:
            parts.append({"type": "reasoning", "text": scene.thought, "providerOptions": _signature(scene)})
        if scene.text is not None:
            parts.append({"type": "text", "text": scene.text})
        parts += [
            {"type": "tool-call", "toolCallId": call.id, "toolName": call.name, "input": call.arguments}
            for call in scene.calls
        ]
        messages.append({"role": "assistant", "content": parts, **extra})
        if scene.calls:
            results = [
                {
                    "type": "tool-result",
                    "toolCallId": call.id,
                    "toolName": call.name,
                    "output": {"type": "error-text" if call.failed else "text", "value": call.output},
                }
                for call in scene.calls
            ]
            messages.append({"role": "tool", "content": results})
    return messages


def _signature(scene: Acted) -> Raw:
    return {"anthropic": {"signature": f"c2lnbmF0dXJl{scene.number:04d}"}}


def _model_content(scene: Said) -> Any:
    if scene.role != "user":
        return scene.text
    parts: list[Raw] = [{"type": "text", "text": scene.text}]
    if scene.picture is Picture.LINK:
        parts.append({"type": "image", "image": LINK})
    elif scene.picture is Picture.DATA:
        parts.append({"type": "file", "data": DATA_URL, "mediaType": "image/png"})
    return parts


def ai_sdk_ui(story: Iterable[Scene]) -> list[Raw]:
    messages: list[Raw] = []
    turn: int | None = None
    for scene in story:
        extra = {"metadata": extra_fields(scene.number)} if scene.extra else {}
        identity = f"m{scene.number:04d}"
        if isinstance(scene, Said):
            role = "system" if scene.role == "developer" else scene.role
            messages.append({"id": identity, "role": role, "parts": _ui_parts(scene), **extra})
            turn = None
            continue
        if turn != scene.turn or messages[-1]["role"] != "assistant":
            messages.append({"id": identity, "role": "assistant", "parts": [], **extra})
            turn = scene.turn
        messages[-1]["parts"] += _ui_step(scene)
    return messages


def _ui_parts(scene: Said) -> list[Raw]:
    parts: list[Raw] = [{"type": "text", "text": scene.text}]
    if scene.picture is not Picture.NONE:
        parts.append({"type": "file", "mediaType": "image/png", "url": picture_url(scene.picture)})
    if scene.extra:
        parts.append({"type": "data-cart", "id": f"d{scene.number}", "data": {"items": scene.number}})
    return parts


def _ui_step(scene: Acted) -> list[Raw]:
    parts: list[Raw] = [{"type": "step-start"}]
    if scene.thought is not None:
        parts.append(
            {
                "type": "reasoning",
                "text": scene.thought,
                "state": "done",
                "providerMetadata": _signature(scene),
            }
        )
    if scene.text is not None:
        parts.append({"type": "text", "text": scene.text, "state": "done"})
    for call in scene.calls:
        part: Raw = {"type": f"tool-{call.name}", "toolCallId": call.id, "input": call.arguments}
        if call.failed:
            part |= {"state": "output-error", "errorText": call.output}
        else:
            part |= {"state": "output-available", "output": call.output}
        parts.append(part)
    return parts


_RENDERERS: dict[str, Callable[[Iterable[Scene]], list[Raw]]] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "ai-sdk-ui": ai_sdk_ui,
    "ai-sdk-model": ai_sdk_model,
    "gemini": wire_frameworks.gemini,
    "langchain": wire_frameworks.langchain,
    "pydantic-ai": wire_frameworks.pydantic_ai,
    "bedrock": wire_frameworks.bedrock,
    "llama-index": wire_frameworks.llama_index,
}
FORMATS = tuple(_RENDERERS)
PROVIDERS = {name: "anthropic" if name in ("anthropic", "bedrock") else "openai" for name in FORMATS}
"""The provider whose rules a generated conversation follows."""
