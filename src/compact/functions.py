"""The plain functions of the public surface: lint and count_tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compact.core.lint import Provider, Target, Violation, ViolationCode, lint_messages, provider_named
from compact.core.measure import PRIMING
from compact.counters import counter_for
from compact.engine.state.size_cache import SizeCache
from compact.engine.validation import check_asked
from compact.errors import FormatError, MalformedMessage
from compact.formats import by_name, decode_all, recognize
from compact.formats.nesting import refusing_deep_nesting
from compact.model.message import Message
from compact.ports import Format


def lint(
    messages: Sequence[Any],
    provider: str = "openai",
    *,
    format: str | None = None,
    model: str | None = None,
    tools: Any = None,
    system: Any = None,
    continues: bool = False,
) -> list[Violation]:
    """What that provider would refuse in these messages; empty when they are sound.

    Where models differ, `model` decides; without it, what current models take. `continues` says that the
    provider holds an earlier part (`previous_response_id`), so that a result may answer a call from there.
    """
    check_asked(messages, None, None, None)
    messages = list(messages)
    target = provider_named(provider)
    with refusing_deep_nesting(messages, tools, system):
        known = _recognized(messages, target) if format is None else by_name(format)
        own = known.name if known.provider == target else None
        decoded, broken = _readable(messages, known)
        if broken:
            # What stands beside them cannot be judged before they are whole.
            return broken
        return lint_messages(decoded, target, Target(target, own, model, system, tools, continues))


def _recognized(messages: Sequence[Any], provider: Provider) -> Format:
    """The format of the messages; where they are in none, the provider's, in which they are then broken."""
    try:
        return recognize(messages, provider)
    except FormatError:
        own = by_name("anthropic" if provider is Provider.ANTHROPIC else "openai-chat")
        if not _readable(messages, own)[1]:
            raise
        return own


def _readable(messages: Sequence[Any], format: Format) -> tuple[list[Message], list[Violation]]:
    decoded: list[Message] = []
    broken: list[Violation] = []
    for index, item in enumerate(messages):
        try:
            decoded.extend(format.decode(item, index))
        except MalformedMessage as error:
            broken.append(Violation(ViolationCode.MALFORMED, index, error.problem))
    return decoded, broken


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
    sizes = SizeCache(counter_for(model, counter))
    if isinstance(messages, str):
        return sizes.of_text(messages)
    check_asked(messages, tools, system, None)
    messages = list(messages)
    with refusing_deep_nesting(messages, tools, system):
        said = sum(map(sizes.of_message, _decoded(messages, format)))
        return PRIMING + said + sizes.of_system(system) + sizes.of_tools(tools)


def _decoded(messages: Sequence[Any], format: str | None) -> list[Message]:
    return decode_all(messages, recognize(messages) if format is None else by_name(format))
