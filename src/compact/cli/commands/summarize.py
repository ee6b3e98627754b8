"""`compact summarize`: only the summary, of a given size."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from compact.cli.progress import tracked
from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.files import Conversation, Transcript
from compact.console.options import add_input, assignment, load_config, tokens
from compact.console.terminal import plural
from compact.model.summary import Summary

if TYPE_CHECKING:
    from compact.config import CompactConfig
    from compact.ports import TokenCounter

_DEFAULT_TOKENS = 1_000


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser)
    group = parser.add_argument_group("summarize")
    group.add_argument(
        "--max-tokens",
        metavar="N",
        type=_positive,
        default=_DEFAULT_TOKENS,
        help=f"maximum length of the summary (default: {_DEFAULT_TOKENS:,})",
    )
    group.add_argument(
        "--strategy",
        metavar="NAME",
        default="task_state",
        help="task_state (default), decision_log, code_delta, brief, continuation, site_building, rolling, "
        "or the path of your own template, for a summarizer with a model",
    )
    group.add_argument("--model", metavar="NAME", help="model whose tokenizer to use (default: gpt-4o)")
    group.add_argument("--counter", metavar="KIND", help="auto (default), tiktoken, estimate or chars4")
    group = parser.add_argument_group("summarizer")
    group.add_argument(
        "--summarizer",
        metavar="NAME",
        help="extractive (default: embedded, offline), openai, anthropic or auto; several, separated by "
        "commas, are asked in turn",
    )
    group.add_argument(
        "--summarizer-model", metavar="NAME", help="model that writes the summary (default: a fast one)"
    )
    group.add_argument("--base-url", metavar="URL", help="its server, in OpenAI's or Anthropic's wire format")
    group.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds its API key")
    group.add_argument(
        "--config", metavar="PATH", help="configuration file (default: compact.yaml, if it exists)"
    )
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=assignment,
        help="any other setting, such as --set summarizer.timeout=90",
    )
    parser.set_defaults(preset=None, window=None)


def run(context: Context) -> ExitCode:
    from compact.counters import counter_for
    from compact.wiring.summarizer import model_summarizer

    transcript = context.transcript()
    conversations = transcript.conversations
    config = _config(context, transcript)
    counter = counter_for(
        config.model,
        config.counter,
        cache_dir=context.environ.get("TIKTOKEN_CACHE_DIR"),
        on_warning=context.warn,
    )
    _check_keys(config, context)
    summarizer = model_summarizer(config, counter, context.environ)
    work = tracked(conversations, len(conversations), context.err, "Summarizing", context.args.quiet)
    summaries = [_summary(conversation, context, summarizer, counter) for conversation in work]
    pairs = list(zip(conversations, summaries, strict=True))
    if context.args.json:
        context.print_json({"conversations": [_as_json(*pair) for pair in pairs]})
    else:
        for number, (conversation, summary) in enumerate(pairs):
            if len(pairs) > 1:
                context.out.line(("\n" if number else "") + context.out.styled(conversation.label, "bold"))
            if summary.text:
                context.out.line(summary.text)
    for conversation, summary in pairs:
        if summary.text:
            context.note(_figures(conversation, summary, context))
        else:
            context.warn(_nothing(conversation, context))
    return ExitCode.OK if pairs and all(summary.text for summary in summaries) else ExitCode.FINDINGS


def _config(context: Context, transcript: Transcript) -> CompactConfig:
    """The settings, with the embedded summarizer if they name none: nothing is sent out by default."""
    args = context.args
    config = context.config(transcript)
    named = config.summarizer.name if "summarizer" in config.model_fields_set else None
    names = [name.strip() for name in (args.summarizer or "").split(",") if name.strip()]
    one = {"model": args.summarizer_model, "base_url": args.base_url, "api_key_env": args.api_key_env}
    given = {key: value for key, value in one.items() if value is not None}
    chosen: dict[str, Any] = given
    if names and names[0] != named:
        chosen = {"name": names[0], **one}  # Settings of another summarizer do not apply to this one.
    elif not names and named in (None, "auto", "extractive"):
        chosen = {"name": "openai", **given} if given else {} if named else {"name": "extractive"}
    if names:
        chosen["fallbacks"] = [{"name": name} for name in names[1:]]
    if not chosen:
        return config
    args.set.append(("summarizer", chosen))
    return load_config(context, transcript.model)[0]


def _check_keys(config: CompactConfig, context: Context) -> None:
    """Refuse to begin if no link has its key; one that has none is skipped, with a warning, in its turn."""
    from compact.errors import ConfigError
    from compact.wiring.vendors import missing_key

    links = (config.summarizer, *config.summarizer.fallbacks)
    missing = [missing_key(link, config.preset, context.environ) for link in links]
    if all(missing):
        verb = "is" if len(set(missing)) == 1 else "are"
        raise ConfigError(
            f"{' and '.join(dict.fromkeys(filter(None, missing)))} {verb} not set. Nothing was sent. Set the "
            "key, or use --summarizer extractive, which needs none.",
            "summarizer.api_key_env",
        )


def _summary(conversation: Conversation, context: Context, summarizer: Any, counter: TokenCounter) -> Summary:
    from compact.summarizers.api import summarize

    args = context.args
    if not conversation.messages:
        return Summary(text="", strategy=args.strategy)
    return summarize(
        conversation.messages,
        args.max_tokens,
        args.strategy,
        summarizer,
        counter,
        format=args.format,
        on_skipped=partial(_passed_over, context),
    )


def _passed_over(context: Context, reason: str, sentence: str) -> None:
    context.warn(sentence)


def _figures(conversation: Conversation, summary: Summary, context: Context) -> str:
    label = f"{conversation.label}: " if conversation.label else ""
    size = f"{summary.tokens:,} of at most {context.args.max_tokens:,} tokens"
    held = summary.survival.get("all")
    pieces = plural(len(summary.evidence), "piece")
    evidence = f"; {held:.0%} of the evidence ({pieces}) is in it" if held else ""
    by = "" if summary.model == "extractive" else f", by {summary.model}"
    return f"{label}{size}{by}{evidence}"


def _nothing(conversation: Conversation, context: Context) -> str:
    label = f"{conversation.label}: " if conversation.label else ""
    if not conversation.messages:
        return f"{label}there is nothing to summarize: no messages."
    return (
        f"{label}there is nothing to summarize: what is said holds nothing for {context.args.strategy}, or "
        f"{context.args.max_tokens:,} tokens are too few for any of it."
    )


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
        raise ArgumentTypeError(f"expected a number of tokens, 1 or more, got {text!r}")
    return number
