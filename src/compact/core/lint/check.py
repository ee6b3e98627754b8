"""Run all lint rules over one list of messages."""

from __future__ import annotations

from collections.abc import Sequence

from compact.core.lint.content import (
    INSTRUCTIONS,
    check_content,
    check_reasoning_items,
    check_roles_for_anthropic,
    check_thinking,
)
from compact.core.lint.pairs import Pairing, pair_calls
from compact.core.lint.rules import check_sources
from compact.core.lint.types import Finding, Provider, Report, Target, ViolationCode, claude_version
from compact.errors import ConfigError, shown
from compact.model.message import Message


def inspect_messages(messages: Sequence[Message], target: Target) -> tuple[list[Finding], Pairing]:
    """Findings in message order, and how calls and results pair up."""
    provider = target.provider
    report = Report(messages)
    pairing = pair_calls(messages, provider, report, target.continues)
    check_content(messages, provider, report)
    if provider is Provider.ANTHROPIC:
        check_roles_for_anthropic(messages, report, claude_version(target.model))
        check_thinking(messages, report)
    else:
        check_reasoning_items(messages, report)
    if _says_nothing(messages, provider):
        report.add(ViolationCode.NO_MESSAGES, 0, "There is no message to send; add the user's.")
    check_sources(messages, target, report)
    report.findings.sort(key=lambda finding: finding.position)
    return report.findings, pairing


def _says_nothing(messages: Sequence[Message], provider: Provider) -> bool:
    if provider is Provider.OPENAI:
        return not messages
    return all(message.role in INSTRUCTIONS for message in messages)


def provider_named(name: Provider | str) -> Provider:
    if not isinstance(name, str) or name not in list(Provider):
        known = ", ".join(Provider)
        raise ConfigError(f"provider must be one of {known}, not {shown(name)}", path="provider")
    return Provider(name)
