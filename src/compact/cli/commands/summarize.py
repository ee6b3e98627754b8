"""`compact summarize`: the summary alone, of a given size."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import asdict
from typing import Any

from compact.cli.context import Context
from compact.cli.exits import ExitCode
from compact.cli.files import Conversation
from compact.cli.options import add_input, tokens
from compact.cli.progress import tracked
from compact.model.summary import Summary

_DEFAULT_TOKENS = 1_000


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("summarize")
    group.add_argument(
        "--max-tokens",
        metavar="N",
        type=_positive,
        default=_DEFAULT_TOKENS,
        help=f"the most the summary may take (default: {_DEFAULT_TOKENS:,})",
    )
    group.add_argument(
        "--strategy",
        metavar="NAME",
        default="task_state",
        help="task_state (default), decision_log, code_delta, brief, continuation, site_building or rolling",
    )
    group.add_argument("--model", metavar="NAME", default="gpt-4o", help="model whose tokenizer counts")
    group.add_argument(
        "--counter", metavar="KIND", default="auto", help="auto (default), tiktoken, estimate or chars4"
    )


def run(context: Context) -> ExitCode:
    transcript = context.transcript()
    conversations = transcript.conversations
    work = tracked(conversations, len(conversations), context.err, "Summarizing", context.args.quiet)
    summaries = [_summary(conversation, context) for conversation in work]
    pairs = list(zip(conversations, summaries, strict=True))
    if context.args.json:
        context.print_json({"conversations": [_as_json(*pair) for pair in pairs]})
    else:
        for number, (conversation, summary) in enumerate(pairs):
            if len(pairs) > 1:
                context.out.line(("\n" if number else "") + context.out.styled(conversation.label, "bold"))
            context.out.line(summary.text)
    for conversation, summary in pairs:
        context.note(_told(conversation, summary, context))
    return ExitCode.OK


def _summary(conversation: Conversation, context: Context) -> Summary:
    from compact.summarizers.api import summarize

    args = context.args
    return summarize(
        conversation.messages,
        args.max_tokens,
        args.strategy,
        counter=args.counter,
        model=args.model,
        format=args.format,
    )


def _told(conversation: Conversation, summary: Summary, context: Context) -> str:
    label = f"{conversation.label}: " if conversation.label else ""
    size = f"{summary.tokens:,} of at most {context.args.max_tokens:,} tokens"
    held = summary.survival.get("all")
    evidence = f"; {held:.0%} of {len(summary.evidence):,} pieces of evidence are in it" if held else ""
    return f"{label}{size}{evidence}"


def _as_json(conversation: Conversation, summary: Summary) -> dict[str, Any]:
    return {
        "label": conversation.label or None,
        "text": summary.text,
        "tokens": summary.tokens,
        "strategy": summary.strategy,
        "model": summary.model,
        "survival": dict(summary.survival),
        "evidence": [asdict(item) for item in summary.evidence],
    }


def _positive(text: str) -> int:
    if (number := tokens(text)) < 1:
        raise ArgumentTypeError(f"expected a number of tokens from 1 on, got {text!r}")
    return number
