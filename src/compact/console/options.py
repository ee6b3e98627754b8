"""Options that several commands share."""

from __future__ import annotations

import warnings
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING, Any

from compact.console.context import Context
from compact.policies import PRESETS

if TYPE_CHECKING:
    from compact.config import CompactConfig


def add_output(parser: ArgumentParser, command: bool = True) -> None:
    """Options of every command. They may also come before its name; those after it win."""
    unset: Any = SUPPRESS if command else False
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", default=unset, help="write the result as JSON")
    group.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=unset,
        help="no notes or progress on standard error",
    )
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=SUPPRESS if command else "auto",
        help="default: auto",
    )


def add_input(parser: ArgumentParser, otherwise: str = "- or nothing reads standard input") -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help=f"JSON or JSONL, also gzipped, in any known format; {otherwise}",
    )
    parser.add_argument("--pick", metavar="ID", help="pick one of several conversations, by id or number")
    parser.add_argument("--format", metavar="NAME", help="the message format (default: detected)")


def add_settings(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("settings")
    group.add_argument(
        "--config", metavar="PATH", help="configuration file (default: compact.yaml, if it exists)"
    )
    group.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(PRESETS)}")
    group.add_argument("--model", metavar="NAME", help="model whose window and tokenizer to use")
    group.add_argument(
        "--window",
        metavar="TOKENS",
        type=tokens,
        help="context window instead of the model's, such as 8000 or 8k",
    )
    group.add_argument("--counter", metavar="KIND", help="auto, tiktoken, estimate or chars4")
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=assignment,
        help="any other setting, such as --set policy.keep_recent_turns=3",
    )


def load_config(context: Context, model: str | None = None) -> tuple[CompactConfig, list[str]]:
    """The settings, and warnings about variables that set nothing.

    `model` is the one in a request body; it applies if the command line names none.
    """
    from compact.config import CompactConfig
    from compact.config.loading import load, merged, nested

    args = context.args
    options = {"preset": "preset", "model": "model", "max_context_tokens": "window", "counter": "counter"}
    given = {key: getattr(args, option) for key, option in options.items()}
    overrides: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    named = {key: f"from --{options[key]}" for key in overrides}
    if model is not None and "model" not in overrides:
        overrides["model"] = model
        named["model"] = "from the file"
    for key, value in args.set:
        overrides = merged(overrides, nested(key.split("."), value))
        named.pop(key, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config = load(CompactConfig, args.config, context.environ, overrides, named)
    return config, [str(warning.message) for warning in caught]


def tokens(text: str) -> int:
    """A number of tokens, as people write it: 8000, 8_000, 8,000, 8k, 1m."""
    digits = text.strip().lower().replace(",", "").replace("_", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(digits[-1:], 1)
    try:
        return int(float(digits.rstrip("km")) * factor)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"not a number of tokens: {text!r} (try 8000 or 8k)") from None


def at_least_one(text: str) -> int:
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number, 1 or more, got {text!r}")
    return int(text)


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def amount(text: str) -> float:
    """A number, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"not an amount: {text!r}")
    return value


def assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentTypeError(f"expected KEY=VALUE, got {text!r}")
    import yaml

    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        raise ArgumentTypeError(f"{key.strip()}: the value {value!r} is not valid YAML") from None
