"""The provider lint: what OpenAI or Anthropic would refuse with a 400, found before it is sent.

Works on decoded messages, so every format is judged alike; a conversation in one provider's form is
judged for the other as its conversion would be (a tool message is a user message with a tool_result,
leading system and developer messages are the system prompt). A list in the provider's own format is also
judged object by object. Every rule is a line of `RULES`. Where models differ, the one that is named decides,
without one what current models take. Consecutive messages of one role are no violation: Anthropic joins them.
"""

from __future__ import annotations

from collections.abc import Sequence

from compact.core.lint_check import inspect_messages, provider_named
from compact.core.lint_fix import fix_messages
from compact.core.lint_rules import RULES, Rule
from compact.core.lint_types import Provider, Target, Violation, ViolationCode
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
    """Violations of the provider's rules in the order of the messages; empty when it would be taken."""
    findings, _ = inspect_messages(messages, target or Target(provider_named(provider)))
    return [finding.violation for finding in findings]
