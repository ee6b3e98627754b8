"""`compact run`: reads a conversation and writes what fits the window."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from compact.cli.commands.plan import plan_rows
from compact.cli.measuring import Meter
from compact.cli.progress import tracked
from compact.cli.session import manager_for
from compact.console.context import Context
from compact.console.drawing import draw_plan
from compact.console.exits import ExitCode
from compact.console.files import Conversation
from compact.console.options import add_input, add_settings
from compact.console.terminal import plural
from compact.errors import ConfigError, InsufficientBudget
from compact.model.event import Event, EventName, Fallback
from compact.model.outcome import TokenCounts

if TYPE_CHECKING:
    from compact.manager import CompactManager


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("run")
    group.add_argument("--force", action="store_true", help="compact even below the trigger")
    group.add_argument(
        "--note", default="", metavar="TEXT", help="with --force: what the summary should focus on"
    )
    group.add_argument(
        "--explain", action="store_true", help="show on standard error what happens to each message"
    )
    add_settings(parser)


@dataclass(frozen=True)
class Result:
    messages: list[Any]
    changed: bool
    reason: str
    tokens: TokenCounts
    outputs_cleared: int
    messages_compacted: int
    summary: str
    warnings: tuple[str, ...] = ()


def run(context: Context) -> ExitCode:
    if context.args.note and not context.args.force:
        raise ConfigError("--note works only with --force: add --force, or leave --note out.", "note")
    transcript = context.transcript()
    manager = manager_for(context, transcript)
    conversations = transcript.conversations
    quiet = context.args.quiet or context.args.explain
    work = tracked(conversations, len(conversations), context.err, "Compacting", quiet)
    results, misfits = [], 0
    for number, conversation in enumerate(work):
        if context.args.explain:
            _explain(context, manager, str(number), conversation, transcript.name)
        try:
            result = _compact(manager, str(number), conversation, context)
        except InsufficientBudget as error:
            if len(conversations) == 1:
                raise
            # One failure must not lose the others.
            context.warn(f"{conversation.label or number}: {error}")
            result, misfits = _as_it_is(manager, str(number), conversation), misfits + 1
        results.append(result)
        context.note(_figures(conversation, result))
    if context.args.json:
        shown = [
            {"label": conversation.label or None, **asdict(result)}
            for conversation, result in zip(conversations, results, strict=True)
        ]
        context.print_json({"conversations": shown})
    else:
        context.out.write(transcript.render([result.messages for result in results]))
    if misfits:
        return ExitCode.INSUFFICIENT_BUDGET
    return ExitCode.FINDINGS if any(map(_had_no_summary, manager.events)) else ExitCode.OK


def _as_it_is(manager: CompactManager, session_id: str, given: Conversation) -> Result:
    """The result for one of several conversations that cannot be made to fit: unchanged."""
    tokens = manager.usage(session_id, given.messages, given.tools, given.system).tokens
    return Result(
        list(given.messages), False, "insufficient-budget", TokenCounts(*[tokens] * 4), 0, 0, summary=""
    )


def _had_no_summary(event: Event) -> bool:
    """Whether messages were removed without the summary that should replace them."""
    return event.name is EventName.ERROR and event.data.get("fallback") == Fallback.PRUNING_ONLY


def _compact(manager: CompactManager, session_id: str, given: Conversation, context: Context) -> Result:
    if context.args.force:
        return _forced(manager, session_id, given, context.args.note)
    prepared = manager.prepare(session_id, given.messages, given.tools, given.system)
    record = prepared.record
    return Result(
        messages=list(prepared.messages),
        changed=prepared.was_compacted or prepared.was_pruned,
        reason=prepared.debug.reason,
        tokens=prepared.tokens,
        outputs_cleared=prepared.debug.outputs_cleared,
        messages_compacted=prepared.debug.messages_compacted,
        summary=record.summary if record is not None else "",
        warnings=prepared.debug.warnings,
    )


def _forced(manager: CompactManager, session_id: str, given: Conversation, note: str) -> Result:
    before = manager.usage(session_id, given.messages, given.tools, given.system).tokens
    messages = manager.manual_compact(session_id, given.messages, note, given.tools, given.system)
    records = manager.records(session_id)
    after = manager.usage(session_id, messages, given.tools, given.system).tokens
    return Result(
        messages=list(messages),
        changed=bool(records),
        reason=records[-1].reason if records else "nothing-to-shrink",
        tokens=TokenCounts(before, after, after, after),
        outputs_cleared=records[-1].outputs_cleared if records else 0,
        messages_compacted=records[-1].messages_replaced if records else 0,
        summary=records[-1].summary if records else "",
    )


def _explain(
    context: Context, manager: CompactManager, session_id: str, given: Conversation, name: str
) -> None:
    plan = manager.plan(session_id, given.messages, given.tools, given.system)
    meter = Meter(manager.config, context)
    dot = context.err.dot
    title = f"{given.label or name}{dot}{manager.config.policy.name}{dot}{manager.config.model}"
    draw_plan(context.err, plan, plan_rows(plan, given, meter), title)


def _figures(conversation: Conversation, result: Result) -> str:
    label = f"{conversation.label}: " if conversation.label else ""
    before, after = result.tokens.before, result.tokens.final
    if not result.changed:
        hint = " (--force compacts anyway)" if result.reason == "below-trigger" else ""
        return f"{label}unchanged, {before:,} tokens: {result.reason}{hint}"
    done = []
    if result.messages_compacted:
        verb = "replaced" if result.summary else "left out"
        done.append(f"{plural(result.messages_compacted, 'message')} {verb}")
    if result.outputs_cleared:
        done.append(f"{plural(result.outputs_cleared, 'tool output')} cleared")
    saved = f"{1 - after / before:.0%} saved" if before else ""
    return f"{label}{before:,} → {after:,} tokens, {saved}; {', '.join(done)} ({result.reason})"
