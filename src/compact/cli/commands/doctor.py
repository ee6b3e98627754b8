"""`compact doctor`: whether this setup works and, if not, what to do about it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from compact.cli.checks import Check, Level, checks_of, conversation_checks
from compact.config.loading import default_file
from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.options import add_input, add_settings, load_config
from compact.console.terminal import Screen, plural
from compact.errors import CompactError, ConfigError

_STYLES = {Level.OK: "green", Level.INFO: "dim", Level.WARNING: "yellow", Level.PROBLEM: "red"}
_MARKS = {Level.OK: "✓", Level.INFO: "·", Level.WARNING: "!", Level.PROBLEM: "✗"}
_PLAIN_MARKS = {Level.OK: "ok", Level.INFO: "--", Level.WARNING: "!!", Level.PROBLEM: "XX"}


def add_arguments(parser: ArgumentParser) -> None:
    add_input(parser, otherwise="its floor is checked as well")
    add_settings(parser)
    parser.add_argument("--offline", action="store_true", help="do not contact the summarizer")


def run(context: Context) -> ExitCode:
    checks = list(_all_checks(context))
    if context.args.json:
        context.print_json({"checks": [_as_json(check) for check in checks]})
    else:
        _draw(context.out, checks)
    failed = any(check.level is Level.PROBLEM for check in checks)
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _all_checks(context: Context) -> Iterator[Check]:
    try:
        config, noticed = load_config(context)
    except ConfigError as error:
        *others, last = str(error).splitlines()
        yield from (Check(Level.PROBLEM, "configuration", line) for line in others)
        advice = f"Correct {'them' if others else 'it'}; nothing else was checked."
        yield Check(Level.PROBLEM, "configuration", last, advice)
        return
    file = context.args.config or default_file(context.environ)
    yield Check(Level.OK, "configuration", f"{file} is valid" if file else "no file, so the defaults")
    for warning in noticed:
        yield Check(Level.WARNING, "variables", warning)
    yield from checks_of(config, context.environ, online=not context.args.offline)
    if context.args.file is not None:
        try:
            yield from conversation_checks(context, config)
        except CompactError as error:
            yield Check(Level.PROBLEM, "conversation", str(error))


def _draw(screen: Screen, checks: list[Check]) -> None:
    marks = _MARKS if screen.blocks else _PLAIN_MARKS
    for check in checks:
        style = _STYLES[check.level]
        screen.paragraph(f"{screen.styled(marks[check.level], style)} {check.name:<14}", check.found, 16)
        if check.advice:
            screen.paragraph(" " * 16, check.advice, 16, "dim")
    problems = sum(check.level is Level.PROBLEM for check in checks)
    warned = sum(check.level is Level.WARNING for check in checks)
    if problems or warned:
        found = [plural(problems, "problem")] * bool(problems) + [plural(warned, "warning")] * bool(warned)
        screen.line(screen.styled(", ".join(found), "red" if problems else "yellow"))
    else:
        screen.line(screen.styled("everything is in order", "green"))


def _as_json(check: Check) -> dict[str, Any]:
    return {"level": check.level.value, "name": check.name, "found": check.found, "advice": check.advice}
