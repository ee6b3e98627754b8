"""`compact plan`: what would happen to each message. Nothing does."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from compact.cli.context import Context
from compact.cli.drawing import Row, draw_plan, rows
from compact.cli.exits import ExitCode
from compact.cli.files import Conversation
from compact.cli.measuring import Meter
from compact.cli.options import add_input, add_settings
from compact.cli.session import manager_for
from compact.model.plan import Plan


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    add_settings(parser)


def run(context: Context) -> ExitCode:
    transcript = context.transcript()
    manager = manager_for(context)
    meter = Meter(manager.config, context)
    shown, insufficient = [], False
    for number, conversation in enumerate(transcript.conversations):
        plan = manager.plan(str(number), conversation.messages, conversation.tools, conversation.system)
        all_rows = plan_rows(plan, conversation, meter)
        insufficient |= plan.insufficient is not None
        if context.args.json:
            shown.append(_as_json(plan, all_rows, conversation))
            continue
        if number:
            context.out.line()
        name = conversation.label or transcript.name
        title = f"{name}{context.out.dot}{manager.config.policy.name}{context.out.dot}{manager.config.model}"
        draw_plan(context.out, plan, all_rows, title)
        if plan.insufficient is not None:
            arithmetic = " + ".join(f"{name} {tokens:,}" for name, tokens in plan.insufficient.items())
            context.warn(f"{arithmetic} is more than the budget of {plan.limits.budget:,} tokens")
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


def _as_json(plan: Plan, all_rows: Sequence[Row], conversation: Conversation) -> dict[str, Any]:
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
        "insufficient": dict(plan.insufficient) if plan.insufficient is not None else None,
        "messages": [
            {
                "index": int(row.index) if row.index.isdigit() else None,
                "role": row.role,
                "tokens": row.tokens,
                "action": row.action.value,
                "text": row.text[:120],
            }
            for row in all_rows
        ],
    }
