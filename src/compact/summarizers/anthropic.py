"""Summaries from an endpoint that speaks the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.formats.anthropic_cache import with_cache_breakpoints
from compact.model.message import Usage
from compact.model.summary import RefusalReason, SummaryRequest
from compact.summarizers._http import Body, InputTooLong
from compact.summarizers._model import Answer, ModelSummarizer, as_sent, positive, refused

API_VERSION = "2023-06-01"


class AnthropicSummarizer(ModelSummarizer):
    """Calls `base_url`/v1/messages.

    The API takes no seed: a summary is as repeatable as temperature 0 makes it.
    """

    needs = "anthropic"
    default_base_url = "https://api.anthropic.com"
    prefix_format = "anthropic"

    def _url(self) -> str:
        return f"{self.base_url.removesuffix('/v1')}/v1/messages"

    def _headers(self, api_key: str | None) -> dict[str, str]:
        key = {"x-api-key": api_key} if api_key else {}
        return {"anthropic-version": API_VERSION, **key}

    def _cold_payload(self, request: SummaryRequest) -> dict[str, Any]:
        instructions, text = self._cold_texts(request)
        payload = self._payload(request, [{"role": "user", "content": text}])
        payload["system"] = instructions
        return payload

    def _prefix_payload(self, request: SummaryRequest, instructions: str) -> dict[str, Any]:
        messages = as_sent(request.prefix_messages or (), ("role", "content"))
        asked = [*messages, {"role": "user", "content": instructions}]
        # The provider looks up its cache only from a breakpoint on; the conversation's own is not far.
        _, _, asked = with_cache_breakpoints(
            request.prefix_system, request.prefix_tools, asked, [len(messages)]
        )
        payload = self._payload(request, asked)
        if request.prefix_system:
            payload["system"] = request.prefix_system
        if request.prefix_tools:
            # No tool_choice: it would change the prompt, and with it the cached prefix.
            payload["tools"] = list(request.prefix_tools)
        return payload

    def _payload(self, request: SummaryRequest, messages: list[Any]) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": messages,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }

    def _assemble(self, body: Body) -> Mapping[str, Any]:
        value: dict[str, Any] = {"usage": {}}
        blocks: dict[int, dict[Any, Any]] = {}
        stopped = False
        for event in body.events or ():
            match event:
                case {"type": "message_start", "message": {**message}}:
                    value["model"] = message.get("model")
                    value["usage"] |= message.get("usage") or {}
                case {"type": "content_block_start", "index": int(index), "content_block": {**block}}:
                    blocks[index] = dict(block)
                case {"type": "content_block_delta", "index": int(index), "delta": {"text": str(text)}}:
                    current = blocks.setdefault(index, {"type": "text"})
                    current["text"] = current.get("text", "") + text
                case {"type": "message_delta", "delta": {**delta}}:
                    value["stop_reason"] = delta.get("stop_reason")
                    value["usage"] |= event.get("usage") or {}
                case {"type": "message_stop"}:
                    stopped = True
        if not stopped:
            raise self._cut()
        return {**value, "content": [blocks[index] for index in sorted(blocks)]}

    def _read_value(self, value: Mapping[str, Any]) -> Answer:
        content = value.get("content")
        stop = value.get("stop_reason")
        if not isinstance(content, list):
            raise self._endpoint.error("answered with no content", retryable=True)
        blocks = [block for block in content if isinstance(block, dict)]
        kinds = {block.get("type") for block in blocks}
        text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
        if stop == "refusal":
            raise refused(RefusalReason.REFUSAL, "the model refused")
        if stop == "tool_use" or "tool_use" in kinds:
            raise refused(RefusalReason.TOOL_CALL, "the model called a tool instead of writing")
        if stop == "pause_turn":
            raise self._cut()  # a paused turn is not a complete answer
        if stop == "model_context_window_exceeded":
            raise InputTooLong("The input left the summarizer no room to answer; summarize smaller pieces.")
        if not text.strip():
            if kinds & {"thinking", "redacted_thinking"}:
                raise refused(RefusalReason.REASONING_ONLY, "the model only reasoned")
            if stop != "max_tokens":
                raise refused(RefusalReason.EMPTY, "the model wrote nothing")
        if stop == "max_tokens":
            raise refused(RefusalReason.TOO_LONG, "the model was cut off at the token limit")
        return Answer(text, _usage(value.get("usage")), str(value.get("model") or ""))


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict) or not usage:
        return None
    return Usage(
        input=positive(usage.get("input_tokens")),
        output=positive(usage.get("output_tokens")),
        cache_read=positive(usage.get("cache_read_input_tokens")),
        cache_write=positive(usage.get("cache_creation_input_tokens")),
    )
