"""Sizes of single messages, as the engine counts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.config import CompactConfig
from compact.console.context import Context
from compact.core.measure import measure_message, measure_system, measure_tools
from compact.counters import counter_for
from compact.counters.margin import with_margin
from compact.formats import by_name, decode_all, recognize
from compact.formats.tools import tool_list
from compact.model.message import Message
from compact.models.limits import LimitsSource, limits_for
from compact.ports import TokenCounter

EXACT, ASSUMED, ESTIMATED = "exact", "assumed", "estimated"


def certainty_of(counter: TokenCounter, model: str) -> str:
    """How far its counts can be trusted: an unknown model may have any tokenizer."""
    if not counter.exact:
        return ESTIMATED
    return ASSUMED if limits_for(model).source is LimitsSource.DEFAULT else EXACT


class Meter:
    """Counts with the model's counter, including its safety margin."""

    def __init__(self, config: CompactConfig, context: Context) -> None:
        self.warnings: list[str] = []
        self.counter = counter_for(
            config.model,
            config.counter,
            cache_dir=context.environ.get("TIKTOKEN_CACHE_DIR"),
            on_warning=self.warnings.append,
        )
        self._format = context.args.format

    def decoded(self, messages: Sequence[Any]) -> list[Message]:
        return decode_all(messages, by_name(self._format) if self._format else recognize(messages))

    def size(self, message: Message) -> int:
        return with_margin(measure_message(message, self.counter.count), self.counter)

    def system(self, system: Any) -> int:
        return measure_system(system, self._count)

    def tools(self, tools: Any) -> int:
        parts = [(tool.name or "", tool.description, tool.schema) for tool in tool_list(tools)]
        return measure_tools(parts, self._count)

    def _count(self, text: str) -> int:
        return with_margin(self.counter.count(text), self.counter)
