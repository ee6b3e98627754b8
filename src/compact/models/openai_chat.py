"""Chat with any server that supports OpenAI chat completions: OpenAI, OpenRouter, vLLM, llama.cpp, Ollama,
…"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compact.errors import ChatError
from compact.formats.fields import read_usage
from compact.model.chat import CallMade, FinishReason, ReasoningPiece, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall, Usage
from compact.models._address import DONE
from compact.models._client import ChatClient, assistant, new_call_id, whole_arguments

_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}
# The message fields that the API knows. OpenAI rejects a request with any other field, such as the reasoning
# that other servers send, or what a session stores with a turn.
MESSAGE_FIELDS = (
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
)


class OpenAIChatModel(ChatClient):
    """Sends requests to `base_url`/chat/completions."""

    default_base_url = "https://api.openai.com/v1"

    def _url(self) -> str:
        return f"{self.base_url}/chat/completions"

    def _headers(self, api_key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def _payload(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int | None,
    ) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": [{key: item[key] for key in MESSAGE_FIELDS if key in item} for item in messages],
            "stream_options": {"include_usage": True},
        }
        if tools:
            payload["tools"] = list(tools)
        if max_tokens is not None:
            payload["max_tokens"] = max_tokens
        return payload

    def _without(self, payload: dict[str, Any], name: str) -> dict[str, Any]:
        fewer = super()._without(payload, name)
        if name == "max_tokens" and name in payload:
            # OpenAI's reasoning models accept the limit only under another name.
            fewer["max_completion_tokens"] = payload[name]
        return fewer

    def _read(self, events: Iterator[Any]) -> Iterator[ReplyPiece]:
        reply = _Gathered()
        try:
            for event in events:
                if event == DONE:
                    reply.finish = reply.finish or "stop"
                    break
                if isinstance(event, dict):
                    yield from reply.add(event)
        except Exception:
            # Only the usage can still be missing.
            if reply.finish is None:
                raise
        yield from self._end(reply)

    def _end(self, reply: _Gathered) -> Iterator[ReplyPiece]:
        if reply.finish is None:
            raise self._address.cut()
        if reply.finish == "content_filter":
            raise self._address.error("stopped its reply: the provider's content filter objected")
        calls = []
        for call in reply.calls:
            arguments = whole_arguments(call["arguments"])
            if arguments is not None and call["name"]:
                calls.append({**call, "arguments": arguments})
            elif reply.finish != "length":
                raise self._broken_call(call["name"])
        for call in calls:
            yield CallMade(ToolCall(call["id"], call["name"], call["arguments"]))
        sent = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls
        ]
        reason = _REASONS.get(reply.finish, FinishReason.STOP)
        if reply.refused:
            reason = FinishReason.REFUSAL
        elif calls and reason is FinishReason.STOP:
            reason = FinishReason.TOOL_CALLS  # Some servers say "stop" here.
        yield ReplyEnd(reason, assistant(reply.text, reply.reasoning, sent), reply.usage)

    def _broken_call(self, name: str) -> ChatError:
        return self._address.error(
            f"called {name or 'a tool'} with arguments that are not JSON", retryable=True
        )


class _Gathered:
    """What has arrived of one reply."""

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.refused = False
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.calls: list[dict[str, str]] = []
        self._at: dict[Any, dict[str, str]] = {}

    def add(self, event: Mapping[str, Any]) -> Iterator[ReplyPiece]:
        if isinstance(usage := event.get("usage"), Mapping):
            self.usage = read_usage(usage)
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        # A server that does not stream sends the whole message at once.
        delta = choice.get("delta") or choice.get("message") or {}
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            self.reasoning += thought
            yield ReasoningPiece(thought)
        for key in ("content", "refusal"):
            if said := _text(delta.get(key)):
                self.text += said
                self.refused = self.refused or key == "refusal"
                yield TextPiece(said)
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        self.finish = choice.get("finish_reason") or self.finish

    def _add_call(self, delta: Mapping[str, Any]) -> None:
        """Pieces of a call are matched by index; some servers give none, or the same one to every call."""
        function = delta.get("function") or {}
        index, own_id, name = delta.get("index"), delta.get("id"), function.get("name")
        call = self._at.get(index)
        if call is None or (own_id and name and own_id != call["id"]):
            call = {"id": own_id or new_call_id(), "name": "", "arguments": ""}
            self._at[index] = call
            self.calls.append(call)
        # Some servers repeat the name with every piece of the arguments.
        if name and name != call["name"]:
            call["name"] += name
        arguments = function.get("arguments")
        if arguments is not None:
            call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)


def _text(content: Any) -> str:
    """Content as a string, even if a server sends an array of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
