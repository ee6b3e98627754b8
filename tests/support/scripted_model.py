"""A chat model that follows a script: each step answers one call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compact.model.chat import CallMade, FinishReason, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall, Usage

Step = "str | Exception | Calls | Callable[[Sequence[Mapping[str, Any]]], Iterator[ReplyPiece]]"


class Calls:
    """A reply that calls tools: (name, arguments) each; `text` comes before them."""

    def __init__(self, *calls: tuple[str, Mapping[str, Any]], text: str = "") -> None:
        self.calls, self.text = calls, text


class ScriptedModel:
    model = "gpt-4o"
    label = "a scripted model"

    def __init__(self, script: Sequence[Any], usage: Usage | None = None) -> None:
        self._script = list(script)
        self._usage = usage
        self.prompts: list[list[Mapping[str, Any]]] = []
        self.tools: list[Any] = []
        self.closed = 0

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[ReplyPiece]:
        assert len(self.prompts) < len(self._script), "one model call too many"
        step = self._script[len(self.prompts)]
        self.prompts.append([dict(message) for message in messages])
        self.tools.append(tools)
        if isinstance(step, Exception):
            raise step
        if isinstance(step, Calls):
            return self._calling(step)
        return self._saying(step) if isinstance(step, str) else step(messages)

    def _saying(self, text: str) -> Iterator[ReplyPiece]:
        for word in text.split(" "):
            yield TextPiece(word if word == text.split(" ")[0] else f" {word}")
        yield ReplyEnd(FinishReason.STOP, {"role": "assistant", "content": text}, self._usage)

    def _calling(self, step: Calls) -> Iterator[ReplyPiece]:
        if step.text:
            yield TextPiece(step.text)
        sent = []
        for number, (name, arguments) in enumerate(step.calls):
            own_id = f"call_{len(self.prompts)}_{number}"
            text = json.dumps(arguments)
            yield CallMade(ToolCall(own_id, name, text))
            sent.append({"id": own_id, "type": "function", "function": {"name": name, "arguments": text}})
        message = {"role": "assistant", "content": step.text or None, "tool_calls": sent}
        yield ReplyEnd(FinishReason.TOOL_CALLS, message, self._usage)
