"""Scenes in the formats of frameworks, as the dumps of their message classes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from compact.testing.scenes import Acted, Call, Picture, Said, Scene
from compact.testing.wire_parts import LINK, PIXEL, Raw, extra_fields, picture_url


def _extra(scene: Scene) -> Raw:
    return extra_fields(scene.number) if scene.extra else {}


def _is_apart(scene: Scene) -> bool:
    """Whether it is a system prompt, in formats where those are not messages."""
    return isinstance(scene, Said) and scene.role in ("system", "developer")


def gemini(story: Iterable[Scene]) -> list[Raw]:
    contents: list[Raw] = []
    for scene in story:
        if _is_apart(scene):
            continue
        if isinstance(scene, Said):
            parts: list[Raw] = [{"text": scene.text}]
            if scene.picture is Picture.LINK:
                parts.append({"fileData": {"fileUri": LINK, "mimeType": "image/png"}})
            elif scene.picture is Picture.DATA:
                parts.append({"inlineData": {"data": PIXEL, "mimeType": "image/png"}})
            role = "model" if scene.role == "assistant" else "user"
            contents.append({"role": role, "parts": parts, **_extra(scene)})
            continue
        said: list[Raw] = []
        if scene.thought is not None:
            proof = f"c2lnbmF0dXJl{scene.number:04d}"
            said.append({"text": scene.thought, "thought": True, "thoughtSignature": proof})
        said += [{"text": scene.text}] if scene.text is not None else []
        calls = [
            {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
            for call in scene.calls
        ]
        contents.append({"role": "model", "parts": [*said, *calls], **_extra(scene)})
        if calls:
            answers = [
                {
                    "functionResponse": {
                        "id": call.id,
                        "name": call.name,
                        "response": {"error" if call.failed else "output": call.output},
                    }
                }
                for call in scene.calls
            ]
            contents.append({"role": "user", "parts": answers})
    return contents


def bedrock(story: Iterable[Scene]) -> list[Raw]:
    messages: list[Raw] = []
    for scene in story:
        if _is_apart(scene):
            continue
        if isinstance(scene, Said):
            blocks: list[Raw] = [{"text": scene.text}]
            if scene.picture is not Picture.NONE:
                blocks.append({"image": {"format": "png", "source": {"bytes": PIXEL}}})
            if scene.extra:
                blocks.append({"cachePoint": {"type": "default"}})
            messages.append({"role": scene.role, "content": blocks, **_extra(scene)})
            continue
        said: list[Raw] = []
        if scene.thought is not None:
            thought = {"text": scene.thought, "signature": f"c2lnbmF0dXJl{scene.number:04d}"}
            said.append({"reasoningContent": {"reasoningText": thought}})
        said += [{"text": scene.text}] if scene.text is not None else []
        said += [
            {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}}
            for call in scene.calls
        ]
        messages.append({"role": "assistant", "content": said, **_extra(scene)})
        if scene.calls:
            results = [
                {
                    "toolResult": {
                        "toolUseId": call.id,
                        "content": [{"text": call.output}],
                        "status": "error" if call.failed else "success",
                    }
                }
                for call in scene.calls
            ]
            messages.append({"role": "user", "content": results})
    return messages


def langchain(story: Iterable[Scene]) -> list[Raw]:
    kinds = {"user": "human", "assistant": "ai"}
    messages: list[Raw] = []
    for scene in story:
        if isinstance(scene, Said):
            content: Any = scene.text
            if scene.picture is not Picture.NONE:
                shown = {"type": "image_url", "image_url": {"url": picture_url(scene.picture)}}
                content = [{"type": "text", "text": scene.text}, shown]
            messages.append({"type": kinds.get(scene.role, "system"), "content": content, **_extra(scene)})
            continue
        said: Any = scene.text or ""
        if scene.thought is not None:
            said = [{"type": "thinking", "thinking": scene.thought, "signature": f"sig{scene.number}"}]
            said += [{"type": "text", "text": scene.text}] if scene.text is not None else []
        calls = [
            {"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"}
            for call in scene.calls
        ]
        messages.append({"type": "ai", "content": said, "tool_calls": calls, **_extra(scene)})
        messages += [
            {
                "type": "tool",
                "content": call.output,
                "tool_call_id": call.id,
                "name": call.name,
                "status": "error" if call.failed else "success",
            }
            for call in scene.calls
        ]
    return messages


def pydantic_ai(story: Iterable[Scene]) -> list[Raw]:
    messages: list[Raw] = []
    for scene in story:
        if isinstance(scene, Said):
            if scene.role == "assistant":
                parts: list[Raw] = [{"part_kind": "text", "content": scene.text}]
                messages.append({"kind": "response", "parts": parts, **_extra(scene)})
                continue
            content: Any = scene.text
            if scene.picture is not Picture.NONE:
                url = {"kind": "image-url", "url": picture_url(scene.picture), "media_type": "image/png"}
                content = [scene.text, url]
            kind = "user-prompt" if scene.role == "user" else "system-prompt"
            messages.append(
                {"kind": "request", "parts": [{"part_kind": kind, "content": content}], **_extra(scene)}
            )
            continue
        messages.append({"kind": "response", "parts": _responses(scene), **_extra(scene)})
        if scene.calls:
            returned = [
                {
                    "part_kind": "tool-return",
                    "tool_name": call.name,
                    "content": call.output,
                    "tool_call_id": call.id,
                    "outcome": "failed" if call.failed else "success",
                }
                for call in scene.calls
            ]
            messages.append({"kind": "request", "parts": returned})
    return messages


def _responses(scene: Acted) -> list[Raw]:
    parts: list[Raw] = []
    if scene.thought is not None:
        signed = f"c2lnbmF0dXJl{scene.number:04d}"
        parts.append({"part_kind": "thinking", "content": scene.thought, "signature": signed})
    if scene.text is not None:
        parts.append({"part_kind": "text", "content": scene.text})
    return parts + [
        {
            "part_kind": "tool-call",
            "tool_name": call.name,
            "args": call.arguments,
            "tool_call_id": call.id,
        }
        for call in scene.calls
    ]


def llama_index(story: Iterable[Scene]) -> list[Raw]:
    """Every second step also has its calls in `additional_kwargs`, as OpenAI's integration stores them."""
    messages: list[Raw] = []
    for scene in story:
        if isinstance(scene, Said):
            blocks: list[Raw] = [{"block_type": "text", "text": scene.text}]
            if scene.picture is not Picture.NONE:
                url = picture_url(scene.picture)
                blocks.append({"block_type": "image", "url": url, "image_mimetype": "image/png"})
            messages.append({"role": scene.role, "blocks": blocks, "additional_kwargs": _extra(scene)})
            continue
        said: list[Raw] = []
        if scene.thought is not None:
            proof = {"signature": f"c2lnbmF0dXJl{scene.number:04d}"}
            said.append({"block_type": "thinking", "content": scene.thought, "additional_information": proof})
        said += [{"block_type": "text", "text": scene.text}] if scene.text is not None else []
        said += [
            {
                "block_type": "tool_call",
                "tool_call_id": call.id,
                "tool_name": call.name,
                "tool_kwargs": call.arguments,
            }
            for call in scene.calls
        ]
        repeated = scene.calls and scene.number % 2
        kwargs = {"tool_calls": [_openai_call(call) for call in scene.calls]} if repeated else {}
        messages.append({"role": "assistant", "blocks": said, "additional_kwargs": kwargs | _extra(scene)})
        messages += [
            {
                "role": "tool",
                "blocks": [{"block_type": "text", "text": call.output}],
                "additional_kwargs": {"tool_call_id": call.id},
            }
            for call in scene.calls
        ]
    return messages


def _openai_call(call: Call) -> Raw:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}
