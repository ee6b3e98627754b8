"""Sizes and texts of a conversation's messages, each computed once however often it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from compact.core.measure import PRIMING, measure_message, measure_system, measure_tools
from compact.counters.margin import with_margin
from compact.evaluation.loading import Case
from compact.formats import by_name, recognize
from compact.formats.tools import tool_list
from compact.model.message import Message, Opaque, Reasoning, Role, Text, ToolCall, ToolResult
from compact.ports import TokenCounter

_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class Measured:
    """A case with its sizes. Raises FormatError if its messages cannot be decoded."""

    def __init__(self, case: Case, counter: TokenCounter) -> None:
        self.case = case
        self._counter = counter
        self.format = by_name(case.format) if case.format else recognize(case.messages)
        # Keyed by identity; the object is kept with its values so that no other object can get its id.
        self._known: dict[int, tuple[Any, tuple[Message, ...], int]] = {}
        self.head = self._head()
        tools = [(tool.name or "", tool.description, tool.schema) for tool in tool_list(case.tools)]
        apart = PRIMING + measure_system(case.system, counter.count) + measure_tools(tools, counter.count)
        self.apart = with_margin(apart, counter)
        """Tokens outside the messages: separate system prompt and tools, and the start of the reply."""
        self.fixed = self.apart + sum(self.size(message) for message in case.messages[: self.head])
        """Tokens that no compaction can change."""
        sizes = [self.size(message) for message in case.messages[self.head : case.horizon]]
        self.body = sum(sizes)
        self.largest = max(sizes, default=0)

    def _head(self) -> int:
        """How many messages at the start are instructions."""
        for index, item in enumerate(self.case.messages):
            if any(message.role not in _INSTRUCTIONS for message in self.decoded(item, index)):
                return index
        return len(self.case.messages)

    def decoded(self, item: Any, index: int = 0) -> tuple[Message, ...]:
        return self._look(item, index)[1]

    def size(self, item: Any) -> int:
        return self._look(item, 0)[2]

    def prompt_messages(self, prompt: Sequence[Any]) -> list[Message]:
        return [message for index, item in enumerate(prompt) for message in self.decoded(item, index)]

    def body_size(self, prompt: Sequence[Any]) -> int:
        """Tokens of a prompt minus what no compaction can change."""
        return max(0, self.apart + sum(map(self.size, prompt)) - self.fixed)

    def text(self, prompt: Sequence[Any]) -> str:
        """Everything that a model would read in these messages."""
        return "\n".join(piece for message in self.prompt_messages(prompt) for piece in _pieces(message))

    def _look(self, item: Any, index: int) -> tuple[Any, tuple[Message, ...], int]:
        known = self._known.get(id(item))
        if known is None:
            messages = self.format.decode(item, index)
            tokens = sum(measure_message(message, self._counter.count) for message in messages)
            known = self._known[id(item)] = (item, messages, with_margin(tokens, self._counter))
        return known


def _pieces(message: Message) -> Iterator[str]:
    yield message.text
    for part in message.parts:
        match part:
            case ToolCall():
                yield part.name
                yield from _argument_texts(part.arguments)
            case ToolResult():
                yield part.text
            case Reasoning() if not part.redacted:
                yield part.text
            case Opaque():
                yield part.text
            case Text() | _:
                pass


def _argument_texts(arguments: Any) -> Iterator[str]:
    """Arguments as sent, and their strings unescaped: a path with a quote in it is still that path."""
    if isinstance(arguments, str):
        yield arguments
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif value is not None:
            yield str(value)
