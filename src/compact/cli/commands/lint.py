"""`compact lint`: what a provider would reject, before it is sent."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compact.cli.progress import tracked
from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.files import Conversation
from compact.console.options import add_input
from compact.console.terminal import plural
from compact.core.lint import (
    RULES,
    Target,
    Violation,
    ViolationCode,
    fix_messages,
    lint_messages,
    provider_named,
)
from compact.counters.families import provider_of
from compact.errors import MalformedMessage
from compact.formats import by_name, decode_all, recognize
from compact.ports import Format


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("lint")
    group.add_argument(
        "--provider",
        choices=("openai", "anthropic"),
        help="whose rules (default: the format's own provider; if several fit, the model's)",
    )
    group.add_argument(
        "--model", metavar="NAME", help="model to check for, if models differ (default: the body's)"
    )
    group.add_argument("--rules", action="store_true", help="list the rules and their sources")
    group.add_argument(
        "--fix",
        action="store_true",
        help="write the conversation to standard output, with all safe repairs made",
    )


@dataclass(frozen=True)
class Result:
    conversation: Conversation
    provider: str
    found: list[Violation]
    fixed: list[Violation]
    messages: list[Any]


def run(context: Context) -> ExitCode:
    if context.args.rules:
        return _list_rules(context)
    transcript = context.transcript()
    total = len(transcript.conversations)
    work = tracked(transcript.conversations, total, context.err, "Checking", context.args.quiet)
    results = [_check(conversation, context) for conversation in work]
    if context.args.json:
        context.print_json(_as_json(results, context.args.fix))
    elif context.args.fix:
        context.out.write(transcript.render([result.messages for result in results]))
    _show(results, context)
    return ExitCode.FINDINGS if any(result.found for result in results) else ExitCode.OK


def _list_rules(context: Context) -> ExitCode:
    if context.args.json:
        context.print_json({"rules": [rule._asdict() for rule in RULES]})
        return ExitCode.OK
    for rule in RULES:
        since = f" ({rule.since})" if rule.since else ""
        line = f"{rule.id.value:<20} {rule.api:<10} {rule.refuses}{since}"
        context.out.line(line + context.out.styled(f"{context.out.dot}{rule.source}", "dim"))
    return ExitCode.OK


def _check(conversation: Conversation, context: Context) -> Result:
    args = context.args
    model = args.model or conversation.model
    # Plain messages fit several formats; then where they are sent decides.
    sent_to = args.provider or provider_of(model or "")
    format = by_name(args.format) if args.format else recognize(conversation.messages, sent_to)
    provider = args.provider or format.provider
    body = conversation.body or {}
    named = provider_named(provider)
    target = Target(
        named,
        format.name if format.provider == named else None,
        model,
        conversation.system,
        conversation.tools,
        bool(body.get("previous_response_id") or body.get("conversation")),
    )
    if not args.fix and (broken := list(_broken(conversation, format))):
        # The messages next to them cannot be judged until they are complete.
        return Result(conversation, provider, broken, [], conversation.messages)
    messages = decode_all(conversation.messages, format)
    if not args.fix:
        found = lint_messages(messages, provider, target)
        return Result(conversation, provider, found, [], conversation.messages)
    repaired, fixed = fix_messages(messages, provider, target)
    left = lint_messages(repaired, provider, target)
    return Result(conversation, provider, left, fixed, format.encode(repaired))


def _broken(conversation: Conversation, format: Format) -> Iterator[Violation]:
    """Messages that no format can read; repairing them would mean inventing their content."""
    for index, item in enumerate(conversation.messages):
        try:
            format.decode(item, index)
        except MalformedMessage as error:
            yield Violation(ViolationCode.MALFORMED, index, error.problem)


def _show(results: list[Result], context: Context) -> None:
    """Print findings on standard output, unless that carries JSON or the repaired conversation."""
    screen = context.err if context.args.json or context.args.fix else context.out
    if context.args.json:
        return
    for result in results:
        label = f"{result.conversation.label}: " if result.conversation.label else ""
        for violation in result.fixed:
            screen.line(f"{label}{_line(violation)} {screen.styled('(repaired)', 'green')}")
        for violation in result.found:
            hint = " (--fix repairs it)" if violation.fixable and not context.args.fix else ""
            screen.line(f"{label}{_line(violation)}{screen.styled(hint, 'dim')}")
    found = sum(len(result.found) for result in results)
    fixed = sum(len(result.fixed) for result in results)
    messages = sum(len(result.conversation.messages) for result in results)
    providers = " and ".join(sorted({result.provider for result in results}))
    verdict = plural(found, "violation") if found else "no violations"
    repaired = f", {fixed} repaired" if fixed else ""
    style = "red" if found else "green"
    summary = f"{plural(messages, 'message')} checked for {providers}: "
    screen.line(summary + screen.styled(verdict + repaired, style))


def _line(violation: Violation) -> str:
    return f"messages[{violation.index}] {violation.code.value}: {violation.message}"


def _as_json(results: list[Result], fix: bool) -> dict[str, Any]:
    return {
        "conversations": [
            {
                "label": result.conversation.label or None,
                "provider": result.provider,
                "violations": [_violation_json(violation) for violation in result.found],
                **(
                    {
                        "repaired": [_violation_json(violation) for violation in result.fixed],
                        "messages": result.messages,
                    }
                    if fix
                    else {}
                ),
            }
            for result in results
        ]
    }


def _violation_json(violation: Violation) -> dict[str, Any]:
    return {
        "index": violation.index,
        "code": violation.code.value,
        "message": violation.message,
        "fixable": violation.fixable,
    }
