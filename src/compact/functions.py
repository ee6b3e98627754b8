"""The plain functions of the public surface: lint and count_tokens."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from compact.core.lint import Violation, lint_messages
from compact.core.measure import PRIMING, measure_message, measure_system, measure_tools
from compact.counters import counter_for
from compact.engine.asked import check_asked
from compact.formats import by_name, decode_all, recognize
from compact.formats.nesting import nesting_told
from compact.formats.tools import tool_list
from compact.model.message import Message


def lint(messages: Sequence[Any], provider: str = "openai", *, format: str | None = None) -> list[Violation]:
    """What that provider would refuse in these messages; empty when they are sound."""
    check_asked(messages, None, None, None)
    with nesting_told(messages):
        return lint_messages(_decoded(messages, format), provider)


def count_tokens(
    messages: Sequence[Any] | str,
    model: str = "gpt-4o",
    *,
    tools: Any = None,
    system: Any = None,
    counter: str = "auto",
    format: str | None = None,
) -> int:
    """Tokens of a text, or of a whole prompt: messages, tools, system. The counter's margin is included."""
    chosen = counter_for(model, counter)
    if isinstance(messages, str):
        return _with_margin(chosen.count(messages), chosen.margin)
    check_asked(messages, tools, system, None)
    with nesting_told(messages, tools, system):
        total = PRIMING + sum(measure_message(one, chosen.count) for one in _decoded(messages, format))
        total += measure_system(system, chosen.count) + measure_tools(_tools(tools), chosen.count)
    return _with_margin(total, chosen.margin)


def _decoded(messages: Sequence[Any], format: str | None) -> list[Message]:
    return decode_all(messages, by_name(format) if format else recognize(messages))


def _tools(tools: Any) -> list[tuple[str, str, Any]]:
    return [(tool.name or "", tool.description, tool.schema) for tool in tool_list(tools)]


def _with_margin(tokens: int, margin: float) -> int:
    return tokens if margin == 1.0 else ceil(tokens * margin)
