"""`compact plan`: what would happen to each message, without doing it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from typing import Any

from compact.archives.memory import MemoryArchive
from compact.cli.measuring import Meter
from compact.cli.session import manager_for
from compact.config import CompactConfig
from compact.console.context import Context
from compact.console.drawing import Row, draw_plan, folded, rows, verdict
from compact.console.exits import ExitCode
from compact.console.files import Conversation
from compact.console.options import add_input, add_settings
from compact.console.terminal import one_line
from compact.core.event_data import in_words
from compact.manager import CompactManager
from compact.model.plan import Mode, Plan
from compact.stores.memory import MemoryStore
from compact.summarizers.api import EMBEDDED_STRATEGIES


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    add_settings(parser)
    parser.add_argument("--all", action="store_true", help="list every message, even in long runs")
    parser.add_argument(
        "--summary",
        action="store_true",
        help="show the summary that the embedded summarizer would write; no model is called",
    )


def run(context: Context) -> ExitCode:
    transcript = context.transcript()
    manager = manager_for(context, transcript)
    meter = Meter(manager.config, context)
    shown, insufficient = [], False
    for number, conversation in enumerate(transcript.conversations):
        plan = manager.plan(str(number), conversation.messages, conversation.tools, conversation.system)
        all_rows = plan_rows(plan, conversation, meter)
        insufficient |= plan.insufficient is not None
        later = None if plan.triggered else _at_the_trigger(manager, plan, conversation, number)
        summary = _summary(later or plan, manager.config, conversation) if context.args.summary else None
        if context.args.json:
            shown.append(_as_json(plan, all_rows, conversation, summary, later))
            continue
        if number:
            context.out.line()
        name = conversation.label or transcript.name
        title = f"{name}{context.out.dot}{manager.config.policy.name}{context.out.dot}{manager.config.model}"
        draw_plan(context.out, plan, all_rows, title, fold=not context.args.all)
        if not context.args.all and len(list(folded(all_rows))) < len(all_rows):
            context.out.line(context.out.styled("Long runs are folded; --all lists every message.", "dim"))
        if later is not None:
            context.out.paragraph("", _told_of(later), 0)
        if summary is not None:
            context.out.line()
            for line in summary.splitlines():
                context.out.line(one_line(line, 4_000))
        if plan.insufficient is not None:
            needed = f"{sum(plan.insufficient.values()):,} tokens ({in_words(plan.insufficient)})"
            budget = f"the budget of {plan.limits.budget:,} tokens"
            context.warn(f"what may not be removed needs {needed}, more than {budget}")
    if context.args.json:
        context.print_json({"conversations": shown})
    return ExitCode.INSUFFICIENT_BUDGET if insufficient else ExitCode.OK


def plan_rows(plan: Plan, conversation: Conversation, meter: Meter) -> list[Row]:
    """The rows of a plan, with the leading system messages that no plan touches."""
    first = plan.messages[0].origin if plan.messages else None
    head = meter.decoded(conversation.messages)
    if first is not None:
        head = [message for message in head if message.origin and message.origin.index < first.index]
    return list(rows(plan, head, [meter.size(message) for message in head]))


def _summary(plan: Plan, config: CompactConfig, conversation: Conversation) -> str:
    """What the embedded summarizer would write, tried in memory; a sentence if no summary is due."""
    if plan.mode is not Mode.SUMMARIZE:
        return "No summary would be written."
    strategy = plan.strategy if plan.strategy in EMBEDDED_STRATEGIES else "task_state"
    settings = {
        "summarizer": config.summarizer.model_copy(update={"name": "extractive"}),
        "policy": config.policy.model_copy(update={"strategy": strategy}),
    }
    tried = config.model_copy(update=settings)
    with CompactManager(tried, store=MemoryStore(), archive=MemoryArchive()) as manager:
        manager.manual_compact(
            "plan", conversation.messages, tools=conversation.tools, system=conversation.system
        )
        made = manager.records("plan")
    return made[-1].summary if made else "No summary would be written."


def _at_the_trigger(
    manager: CompactManager, plan: Plan, conversation: Conversation, number: int
) -> Plan | None:
    """What would happen to this conversation at the trigger; None if it cannot reach the trigger."""
    policy, window = manager.config.policy, plan.limits.window
    if not manager.config.enabled or policy.fold_on_turns or not conversation.messages:
        return None
    lowered = policy.model_copy(update={"trigger_pct": min(policy.trigger_pct, plan.before / window)})
    config = manager.config.model_copy(update={"policy": lowered})
    with CompactManager(config, store=MemoryStore(), archive=MemoryArchive()) as other:
        return other.plan(str(number), conversation.messages, conversation.tools, conversation.system)


def _told_of(plan: Plan) -> str:
    if plan.mode is Mode.NONE:
        return f"At the trigger: nothing of it could go ({plan.reason.value})."
    counts = Counter(step.action for step in plan.steps if step.index is not None)
    shown = ", ".join(f"{count:,} {action.value}" for action, count in counts.items())
    return f"At the trigger, as it is now: {verdict(plan)}; {shown}; {plan.before:,} → {plan.after:,} tokens."


def _as_json(
    plan: Plan, all_rows: Sequence[Row], conversation: Conversation, summary: str | None, later: Plan | None
) -> dict[str, Any]:
    return {
        "label": conversation.label or None,
        "mode": plan.mode.value,
        "reason": plan.reason.value,
        "triggered": plan.triggered,
        "window": plan.limits.window,
        "budget": plan.limits.budget,
        "trigger": plan.limits.trigger,
        "tokens_before": plan.before,
        "tokens_after": plan.after,
        "summary": summary,
        "at_trigger": later and {"mode": later.mode.value, "tokens_after": later.after},
        "insufficient": dict(plan.insufficient) if plan.insufficient is not None else None,
        "messages": [
            {
                "index": row.index,
                "cited_as": row.number if row.number.startswith("m") else None,
                "role": row.role,
                "tokens": row.tokens,
                "action": row.action.value,
                "tool": row.tool or None,
                "text": one_line(row.text, 120),
            }
            for row in all_rows
        ],
    }
