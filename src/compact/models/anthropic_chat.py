"""Chat with a server that supports the Anthropic Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compact.formats.anthropic_cache import with_cache_breakpoints
from compact.formats.fields import read_usage
from compact.model.chat import CallMade, FinishReason, ReasoningPiece, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall
from compact.models._client import ChatClient, assistant, whole_arguments
from compact.models._to_anthropic import translated, translated_tools
from compact.models.limits import limits_for

API_VERSION = "2023-06-01"
_REASONS = {
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.REFUSAL,
}
_THINKING = ("thinking", "redacted_thinking")


class AnthropicChatModel(ChatClient):
    """Sends requests to `base_url`/v1/messages. `extra={"thinking": {…}}` turns on thinking."""

    needs = "anthropic"
    default_base_url = "https://api.anthropic.com"

    def _url(self) -> str:
        return f"{self.base_url.removesuffix('/v1')}/v1/messages"

    def _headers(self, api_key: str | None) -> dict[str, str]:
        key = {"x-api-key": api_key} if api_key else {}
        return {"anthropic-version": API_VERSION, **key}

    def _payload(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int | None,
    ) -> dict[str, Any]:
        if "thinking" not in self._extra:
            messages = [{k: v for k, v in item.items() if k != "thinking_blocks"} for item in messages]
        system, turns = translated(messages)
        # The next request will contain the last message again, and also the user message before it, which
        # this request finds in the cache.
        asked = [at for at, turn in enumerate(turns) if turn["role"] == "user"]
        marked = with_cache_breakpoints(
            system or None, translated_tools(tools) or None, turns, [*asked[-2:-1], len(turns) - 1]
        )
        payload: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max_tokens or limits_for(self.model).max_output,
        }
        named = zip(("system", "tools", "messages"), marked, strict=True)
        return payload | {name: value for name, value in named if value is not None}

    def _read(self, events: Iterator[Any]) -> Iterator[ReplyPiece]:
        blocks: dict[int, dict[str, Any]] = {}
        usage: dict[str, Any] = {}
        stop: str | None = None
        try:
            for event in events:
                match event:
                    case {"type": "message_start", "message": dict(message)}:
                        usage |= _counts(message.get("usage"))
                    case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                        blocks[index] = {**block, "json": ""}
                        yield from _piece(blocks[index])
                    case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                        yield from _grown(blocks.setdefault(index, {"type": "text", "json": ""}), delta)
                    case {"type": "message_delta", "delta": dict(delta)}:
                        stop = str(delta.get("stop_reason") or "end_turn")
                        usage |= _counts(event.get("usage"))
                    case {"type": "message_stop"}:
                        stop = stop or "end_turn"
                        break
                    case {"type": "message"}:
                        raise self._address.error("did not stream its reply")
        except Exception:
            # Only the end marker can still be missing.
            if stop is None:
                raise
        if stop is None:
            raise self._address.cut()
        yield from self._end([blocks[index] for index in sorted(blocks)], stop, usage)

    def _end(
        self, blocks: Sequence[dict[str, Any]], stop: str, usage: dict[str, Any]
    ) -> Iterator[ReplyPiece]:
        calls = []
        for block in blocks:
            if block["type"] != "tool_use":
                continue
            arguments = whole_arguments(block["json"] or json.dumps(block.get("input") or {}))
            if arguments is not None:
                calls.append((str(block.get("id")), str(block.get("name")), arguments))
            elif stop != "max_tokens":
                raise self._address.error(
                    f"called {block.get('name')} with arguments that are not JSON", retryable=True
                )
        for call in calls:
            yield CallMade(ToolCall(*call))
        text = "".join(block.get("text") or "" for block in blocks if block["type"] == "text")
        thoughts = [block for block in blocks if block["type"] in _THINKING]
        reasoning = "".join(block.get("thinking") or "" for block in thoughts)
        sent = [
            {"id": own_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for own_id, name, arguments in calls
        ]
        message = assistant(text, reasoning, sent)
        # Signed by the vendor: sent back unchanged, without the fields that we collected with them.
        signed = [
            {key: value for key, value in block.items() if key != "json"}
            for block in thoughts
            if block.get("signature") or block.get("data")
        ]
        if signed:
            message["thinking_blocks"] = signed
        reason = _REASONS.get(stop, FinishReason.STOP)
        yield ReplyEnd(reason, message, read_usage(usage) if usage else None)


def _piece(block: Mapping[str, Any]) -> Iterator[ReplyPiece]:
    """What a block already contains at its start, which is usually nothing."""
    if block.get("text"):
        yield TextPiece(block["text"])
    if block.get("thinking"):
        yield ReasoningPiece(block["thinking"])


def _grown(block: dict[str, Any], delta: Mapping[str, Any]) -> Iterator[ReplyPiece]:
    match delta:
        case {"text": str(text)}:
            block["text"] = (block.get("text") or "") + text
            yield TextPiece(text)
        case {"thinking": str(thought)}:
            block["thinking"] = (block.get("thinking") or "") + thought
            yield ReasoningPiece(thought)
        case {"signature": str(signature)}:
            block["signature"] = (block.get("signature") or "") + signature
        case {"partial_json": str(part)}:
            block["json"] += part


def _counts(usage: Any) -> dict[str, Any]:
    return {k: v for k, v in usage.items() if v is not None} if isinstance(usage, Mapping) else {}
