"""`compact count`: how large a conversation is, and what takes up the space."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from compact.cli.measuring import EXACT, Meter, certainty_of
from compact.cli.progress import tracked
from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.files import Conversation
from compact.console.options import add_input, add_settings
from compact.console.terminal import Screen, plural
from compact.core.measure import PRIMING
from compact.model.message import Role
from compact.models import limits_for


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    add_settings(parser)


@dataclass(frozen=True)
class Share:
    """The number of messages (or tools) of one kind, and their tokens."""

    name: str
    count: int
    tokens: int


@dataclass(frozen=True)
class Size:
    conversation: Conversation
    shares: list[Share]

    @property
    def total(self) -> int:
        return PRIMING + sum(share.tokens for share in self.shares)


def run(context: Context) -> ExitCode:
    transcript = context.transcript()
    config = context.config(transcript)
    meter = Meter(config, context)
    limits = limits_for(config.model, config.models)
    window = config.max_context_tokens or limits.window
    conversations = transcript.conversations
    work = tracked(conversations, len(conversations), context.err, "Counting", context.args.quiet)
    sizes = [_measure(conversation, meter) for conversation in work]
    for warning in meter.warnings:
        context.warn(warning)
    if limits.warning and config.max_context_tokens is None:
        context.warn(limits.warning)
    certainty = certainty_of(meter.counter, config.model)
    if context.args.json:
        result = [_as_json(size, window) for size in sizes]
        facts = {"model": config.model, "counter": meter.counter.name, "exact": certainty == EXACT}
        context.print_json({**facts, "window": window, "conversations": result})
        return ExitCode.OK
    if len(sizes) == 1:
        _draw_one(context.out, sizes[0], window)
    else:
        _draw_many(context.out, sizes, window)
    how = f"{config.model}{context.out.dot}{certainty} ({meter.counter.name})"
    context.out.line(context.out.styled(how, "dim"))
    return ExitCode.OK


def _measure(conversation: Conversation, meter: Meter) -> Size:
    messages = meter.decoded(conversation.messages)
    shares = [
        Share(role.value, len(chosen), sum(meter.size(message) for message in chosen))
        for role in Role
        if (chosen := [message for message in messages if message.role is role])
    ]
    if conversation.system:
        shares.insert(0, Share("system prompt", 1, meter.system(conversation.system)))
    if conversation.tools:
        shares.append(Share("tool schemas", len(conversation.tools), meter.tools(conversation.tools)))
    return Size(conversation, shares)


def _draw_one(screen: Screen, size: Size, window: int) -> None:
    screen.line(screen.styled(f"{'':<14} {'count':>7} {'tokens':>10} {'share':>7}", "dim"))
    total = size.total
    for share in size.shares:
        part = share.tokens / total
        bar = screen.styled(screen.bar(part, 24).rstrip(), "cyan")
        screen.line(f"{share.name:<14} {share.count:>7,} {share.tokens:>10,} {part:>7.1%} {bar}".rstrip())
    count = len(size.conversation.messages)
    line = f"{'total':<14} {count:>7,} {total:>10,}"
    screen.line(screen.styled(line, "bold") + f" {total / window:>7.1%} of a window of {window:,}")


def _draw_many(screen: Screen, sizes: list[Size], window: int) -> None:
    name_cells = max(12, min(40, screen.width - 42))
    header = f"{screen.fit('conversation', name_cells)} {'messages':>9} {'tokens':>11} {'of window':>10}"
    screen.line(screen.styled(header, "dim"))
    for size in sizes:
        name = screen.fit(size.conversation.label, name_cells)
        count = len(size.conversation.messages)
        screen.line(f"{name} {count:>9,} {size.total:>11,} {size.total / window:>10.1%}")
    messages = sum(len(size.conversation.messages) for size in sizes)
    tokens = sum(size.total for size in sizes)
    name = screen.fit(plural(len(sizes), "conversation"), name_cells)
    screen.line(screen.styled(f"{name} {messages:>9,} {tokens:>11,}", "bold"))


def _as_json(size: Size, window: int) -> dict[str, Any]:
    return {
        "label": size.conversation.label or None,
        "messages": len(size.conversation.messages),
        "tokens": size.total,
        "percent": round(100 * size.total / window, 2),
        "breakdown": {share.name: {"count": share.count, "tokens": share.tokens} for share in size.shares},
    }
