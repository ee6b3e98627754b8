"""Summaries from any endpoint that speaks OpenAI chat completions: OpenAI, OpenRouter, vLLM, llama.cpp, …"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.model.message import Usage
from compact.model.summary import RefusalReason, SummaryRequest
from compact.summarizers._http import Body
from compact.summarizers._model import Answer, ModelSummarizer, as_sent, positive, refused

_BROKEN_OFF = frozenset({"error", "abort", "aborted", "cancelled", "canceled", "timeout"})
"""Finish reasons that gateways and servers report for a partial answer."""


class OpenAISummarizer(ModelSummarizer):
    """Calls `base_url`/chat/completions."""

    needs = "openai"
    default_base_url = "https://api.openai.com/v1"
    prefix_format = "openai-chat"

    def _url(self) -> str:
        return f"{self.base_url}/chat/completions"

    def _headers(self, api_key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def _cold_payload(self, request: SummaryRequest) -> dict[str, Any]:
        instructions, text = self._cold_texts(request)
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        return self._payload(request, messages)

    def _prefix_payload(self, request: SummaryRequest, instructions: str) -> dict[str, Any]:
        from compact.models.openai_chat import MESSAGE_FIELDS

        messages: list[Any] = as_sent(request.prefix_messages or (), MESSAGE_FIELDS)
        if isinstance(request.prefix_system, str) and request.prefix_system:
            messages.insert(0, {"role": "system", "content": request.prefix_system})
        payload = self._payload(request, [*messages, {"role": "user", "content": instructions}])
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
            "seed": request.seed,
        }

    def _adapt(self, payload: dict[str, Any], detail: str) -> dict[str, Any] | None:
        # OpenAI's reasoning models know the limit only by another name.
        if "max_tokens" in payload and "max_completion_tokens" in detail:
            renamed = dict(payload)
            renamed["max_completion_tokens"] = renamed.pop("max_tokens")
            return renamed
        return super()._adapt(payload, detail)

    def _assemble(self, body: Body) -> Mapping[str, Any]:
        message: dict[str, Any] = {"content": "", "reasoning_content": "", "refusal": "", "tool_calls": []}
        value: dict[str, Any] = {}
        finish: str | None = None
        for event in body.events or ():
            if not isinstance(event, dict):
                continue
            value["model"] = event.get("model") or value.get("model")
            value["usage"] = event.get("usage") or value.get("usage")
            for choice in (event.get("choices") or [])[:1]:
                delta = choice.get("delta") or {}
                for key in ("content", "reasoning_content", "refusal"):
                    message[key] += delta.get(key) or ""
                message["tool_calls"] += delta.get("tool_calls") or []
                finish = choice.get("finish_reason") or finish
        if finish is None and not body.ended:
            raise self._cut()
        return {**value, "choices": [{"message": message, "finish_reason": finish or "stop"}]}

    def _read_value(self, value: Mapping[str, Any]) -> Answer:
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise self._endpoint.error("answered with no choices", retryable=True)
        text = _content(message.get("content"))
        finish = choice.get("finish_reason")
        if message.get("refusal") or finish == "content_filter":
            raise refused(RefusalReason.REFUSAL, "the model refused")
        if finish in _BROKEN_OFF:
            raise self._cut()
        if message.get("tool_calls") or message.get("function_call"):
            raise refused(RefusalReason.TOOL_CALL, "the model called a tool instead of writing")
        if not text.strip():
            if message.get("reasoning_content") or message.get("reasoning"):
                raise refused(RefusalReason.REASONING_ONLY, "the model only reasoned")
            if finish != "length":
                raise refused(RefusalReason.EMPTY, "the model wrote nothing")
        if finish == "length":
            raise refused(RefusalReason.TOO_LONG, "the model was cut off at the token limit")
        return Answer(text, _usage(value.get("usage")), str(value.get("model") or ""))


def _content(content: Any) -> str:
    """Text, or the text parts of a list."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = positive(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(
        input=positive(usage.get("prompt_tokens")),
        output=positive(usage.get("completion_tokens")),
        cache_read=cached,
    )
