"""The provider lint: finds what OpenAI or Anthropic would reject with a 400, before it is sent.

It works on decoded messages, so every format is judged alike. A conversation in one provider's form is judged
for the other as its conversion would be (a tool message is a user message with a tool_result, leading system
and developer messages are the system prompt). A list in the provider's own format is also judged object by
object. Every rule is a line of `RULES`. If models differ, the named model decides, or without one, what
current models accept. Consecutive messages of one role are no violation: Anthropic joins them.
"""

from __future__ import annotations

from collections.abc import Sequence

from compact.core.lint.check import inspect_messages, provider_named
from compact.core.lint.fix import fix_messages
from compact.core.lint.rules import RULES, Rule
from compact.core.lint.types import Provider, Target, Violation, ViolationCode
from compact.model.message import Message

__all__ = [
    "RULES",
    "Provider",
    "Rule",
    "Target",
    "Violation",
    "ViolationCode",
    "fix_messages",
    "lint_messages",
    "provider_named",
]


def lint_messages(
    messages: Sequence[Message], provider: Provider | str, target: Target | None = None
) -> list[Violation]:
    """Violations of the provider's rules, in message order; empty if it would be accepted."""
    findings, _ = inspect_messages(messages, target or Target(provider_named(provider)))
    return [finding.violation for finding in findings]
