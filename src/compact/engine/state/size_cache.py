"""Cached counting: every message is measured once, with the counter's margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.core.layers import CONTINUE_LINE, FIRST_LINE, TRIGGER_LINE, tagged
from compact.core.measure import (
    ROLE_OVERHEAD,
    measure_message,
    measure_part,
    measure_system,
    measure_tools,
)
from compact.core.render import DOUBTFUL_HEADING, TOOLS_HEADING
from compact.core.shorten import Sizes
from compact.core.view import span_handle
from compact.counters.margin import with_margin
from compact.formats.tools import tool_list
from compact.model.message import Message
from compact.model.policy import Placement
from compact.ports import TokenCounter

_SIZES_KEPT = 5_000
"""At most twice that: more than one prompt holds. A server sees a new message at every turn, forever."""
# Everything that may surround a summary's text. Next to a system message, what may be quoted has its own.
_TAGS = (tagged("", 99, span_handle(())), FIRST_LINE, CONTINUE_LINE)
_FRAME = "\n".join((*_TAGS, TRIGGER_LINE))
_FRAMES = {Placement.SYSTEM: "\n".join((*_TAGS, tagged("", 99), DOUBTFUL_HEADING, TOOLS_HEADING))}
_FRAME_MESSAGES = 5


class SizeCache:
    """Sizes of messages by content, so that an equal message is not counted again."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self._sizes: dict[bytes, int] = {}
        self._older: dict[bytes, int] = {}

    def of_message(self, message: Message) -> int:
        size = self._sizes.get(message.digest)
        if size is None:
            size = self._older.get(message.digest)
            if size is None:
                size = with_margin(measure_message(message, self.counter.count), self.counter)
            if len(self._sizes) >= _SIZES_KEPT:
                self._sizes, self._older = {}, self._sizes
            self._sizes[message.digest] = size
        return size

    def of_text(self, text: str) -> int:
        return with_margin(self.counter.count(text), self.counter)

    def of_results(self, message: Message) -> Sequence[int]:
        results = message.results
        if len(message.parts) == len(results) == 1:
            # The whole message was counted once already.
            return (self.of_message(message) - with_margin(ROLE_OVERHEAD, self.counter),)
        return tuple(
            with_margin(measure_part(result, self.counter.count), self.counter) for result in results
        )

    def of_system(self, system: Any) -> int:
        return measure_system(system, self.of_text)

    def of_tools(self, tools: Any) -> int:
        parts = [(tool.name or "", tool.description, tool.schema) for tool in tool_list(tools)]
        return measure_tools(parts, self.of_text)

    def for_plans(self, placement: Placement) -> Sizes:
        frame = self.of_text(_FRAMES.get(placement, _FRAME)) + _FRAME_MESSAGES * ROLE_OVERHEAD
        return Sizes(self.of_text, self.of_results, self.of_message, frame)
